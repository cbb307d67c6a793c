// The contract between the compiler and the runtime: how one compiled kernel is checked and
// launched.
//
// The compiler fills a `Manifest` and writes it as JSON (`writeManifest`); the runtime reads it
// (`readManifest`) and believes nothing: every field is checked, so that a manifest that was read
// is one that can be launched. The text is versioned and stable: equal manifests give equal bytes.
//
//     Manifest manifest;
//     manifest.kernel = "gemm_nt";
//     manifest.dims = {{"M", {}}, {"N", {}}, {"K", 512}};
//     …
//     std::string json = writeManifest(manifest);
//     Expected<Manifest> again = readManifest(json);
#pragma once

#include "flashqla/error.h"
#include "flashqla/tensor.h"
#include "runtime/dim_expr.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flashqla {

/// A dim of the kernel; `value` is set when it is static.
struct ManifestDim {
  std::string name;
  std::optional<std::int64_t> value;
  friend bool operator==(const ManifestDim &, const ManifestDim &) = default;
};

/// A `<…>` parameter or static decision with the text of its value, for display: {"E", "bf16"}.
struct ManifestParam {
  std::string name;
  std::string value;
  friend bool operator==(const ManifestParam &, const ManifestParam &) = default;
};

enum class Access : std::uint8_t { In, Out, InOut, Scalar };
enum class Layout : std::uint8_t { Packed, Strided };

/// An argument in the order of the signature.
struct ManifestArgument {
  std::string name;
  Access access = Access::In;
  DType dtype = DType::F32;
  std::vector<DimExpr> shape; // one per dimension; empty for a scalar
  Layout layout = Layout::Packed;
  /// Bytes that divide the base pointer and, when strided, every stride but the last; 0: the
  /// element's size. `strided(16)` is {Strided, 16}; {Packed, 16} lets the kernel use bulk copies
  /// and 16-byte accesses.
  int alignBytes = 0;

  bool isTensor() const { return access != Access::Scalar; }
  /// Expressions may use these by name.
  bool isIntegerScalar() const {
    return !isTensor() && (dtype == DType::I32 || dtype == DType::I64 || dtype == DType::Bool);
  }
  friend bool operator==(const ManifestArgument &, const ManifestArgument &) = default;
};

/// One parameter of the CUDA function.
struct CudaParam {
  enum class Kind : std::uint8_t {
    TensorMap,    // `index` of the tensor map; a const __grid_constant__ parameter of 128 bytes
    Pointer,      // data of argument `index`
    Stride,       // i64, elements: dimension `dimension` of argument `index`
    Dim,          // i64: dim `index`
    Scalar,       // argument `index` in its own type (bool is one byte)
    AssertBuffer, // pointer to one u32 that is 0; a failing `assert` n stores n + 1
    Timeline,     // pointer to the buffer that ManifestTimeline describes
  };
  Kind kind = Kind::Pointer;
  int index = 0;
  int dimension = 0;
  friend bool operator==(const CudaParam &, const CudaParam &) = default;
};

enum class Swizzle : std::uint8_t { None, B32, B64, B128 };
enum class L2Promotion : std::uint8_t { None, B64, B128, B256 };

/// One dimension of a tensor map.
struct MapDimension {
  /// The tensor dimension that gives extent and stride; −1: the two constants below.
  int tensorDimension = -1;
  std::int64_t extent = 1;      // elements
  std::int64_t strideBytes = 0; // not used for the innermost dimension
  int box = 1;                  // elements, 1 to 256
  friend bool operator==(const MapDimension &, const MapDimension &) = default;
};

/// How to encode a tensor map at launch. `dimensions` go from innermost to outermost.
///
/// A ragged map (`t +: C until e`) has the ragged dimension last and at most two others before it.
/// With ts the stride of that dimension in bytes it becomes
///     extents  (…, 2^30, 0x7fff0000, 0x7fff0000)
///     strides  (…, ts, ts, 2^35 − ts)
///     box      (…, rows, 1, 1)
/// and the kernel addresses rows t … until e by the coordinates (…, 2^30 − (e − t), e, 2^30).
struct TensorMapRecipe {
  int argument = 0;
  DType element = DType::BF16;
  std::vector<MapDimension> dimensions; // 1 to 5; 1 to 3 when ragged
  bool ragged = false;
  Swizzle swizzle = Swizzle::None;
  L2Promotion promotion = L2Promotion::B256;
  bool zeroFill = true; // elements outside read as zero; otherwise as NaN
  friend bool operator==(const TensorMapRecipe &, const TensorMapRecipe &) = default;
};

/// A `where` clause that is decided at launch.
struct WhereCheck {
  DimExpr condition;
  std::string text;    // the clause as it was written: "K % 8 == 0"
  std::string message; // what the author says about it; may be empty
  friend bool operator==(const WhereCheck &, const WhereCheck &) = default;
};

/// An axis of the grid. Their product is launched one-dimensional, the first axis fastest.
struct GridAxis {
  std::string name;
  DimExpr extent;
  friend bool operator==(const GridAxis &, const GridAxis &) = default;
};

/// An `assert` of the kernel; its number is its index.
struct AssertMessage {
  int line = 0;
  std::string text;
  friend bool operator==(const AssertMessage &, const AssertMessage &) = default;
};

/// What an instrumented kernel records. Its buffer is an array of TimelineRecord: the first word of
/// the first is the number of the CTA that records; then come up to `records` of each role, in
/// order, followed by zeros. The first of a role goes from the begin of the CTA to its own begin,
/// the last one ends with it; both have the code `life`.
struct ManifestTimeline {
  static constexpr std::int64_t head = 1; // records before those of the roles
  static constexpr std::int64_t life = 1;
  static constexpr std::int64_t firstStep = 2; // code of steps[0]

  /// A statement of a role.
  struct Step {
    std::string role;
    std::string kind; // "wait", "await", "sync", "copy", "product", "map"
    int line = 0;
    std::string text;
    friend bool operator==(const Step &, const Step &) = default;
  };
  std::vector<std::string> roles;
  int records = 16384;
  std::vector<Step> steps;

  friend bool operator==(const ManifestTimeline &, const ManifestTimeline &) = default;
};

/// What the assembler reported, for display.
struct KernelResources {
  int registers = 0;
  int spillStoreBytes = 0;
  int spillLoadBytes = 0;
  int staticSharedBytes = 0;
  std::vector<std::string> advisories; // such as C7517, with their text
  friend bool operator==(const KernelResources &, const KernelResources &) = default;
};

struct Manifest {
  static constexpr int currentVersion = 1;
  /// Limits that keep every launch free of allocations. `readManifest` refuses more.
  static constexpr int maxSymbols = 64; // dims and integer or bool scalars
  static constexpr int maxArguments = 64;
  static constexpr int maxCudaParams = 128;
  static constexpr int maxTensorMaps = 32;

  std::string kernel;   // name in the language
  std::string file;     // source file, for messages
  std::string arch;     // "sm_90a"
  std::string entry;    // symbol in the cubin
  std::string compiler; // version of the compiler, for display
  std::vector<ManifestParam> params;
  std::vector<ManifestDim> dims;
  std::vector<ManifestArgument> arguments;
  std::vector<CudaParam> cudaParams;
  std::vector<TensorMapRecipe> tensorMaps;
  std::vector<WhereCheck> where;
  std::vector<GridAxis> grid; // without axes: one CTA
  int blockThreads = 0;
  int dynamicSharedBytes = 0;
  KernelResources resources;
  std::vector<AssertMessage> asserts;
  std::optional<ManifestTimeline> timeline; // of an instrumented kernel
  double compileMs = 0;

  friend bool operator==(const Manifest &, const Manifest &) = default;
};

/// The names that expressions of the manifest may use, in slot order: the dims, then the integer
/// and bool scalar arguments.
std::vector<std::string> manifestSymbols(const Manifest &manifest);

/// Indented JSON that ends with a newline. Asserts nothing: what `readManifest` refuses can be
/// written.
std::string writeManifest(const Manifest &manifest);

/// Expressions of the result are bound to `manifestSymbols`. Errors: manifest-syntax (not JSON),
/// manifest-version (another format version), manifest-field (a field that is missing, has another
/// type, refers to something that is not there, or breaks a rule of the hardware); the message has
/// the path of the field, such as "tensorMaps[1].dimensions[0].box".
Expected<Manifest> readManifest(std::string_view json);

} // namespace flashqla
