// The public interface of the flashqla runtime: load a compiled kernel, check its arguments, launch
// it.
//
// Manual
// ------
// A kernel of the tile language is compiled ahead of time to a bundle (`flashqlac compile … -o
// gemm_nt.fqb`) or just in time by a `KernelProvider`. An application opens a device, loads the
// kernel once, keeps the handle, and launches it as often as it likes:
//
//     Expected<Device> device = Device::current();       // each is checked for its error
//     Expected<Bundle> bundle = Bundle::read("gemm_nt.fqb");
//     Expected<Kernel> gemm = Kernel::load(*device, *bundle);
//     Expected<void> done = gemm->launch(stream, {TensorRef::packed(a, DType::BF16, {m, k}),
//                                                 TensorRef::packed(b, DType::BF16, {n, k}),
//                                                 TensorRef::packed(c, DType::BF16, {m, n})});
//     if (!done)
//       std::fputs(done.error().text().c_str(), stderr);
//
// Arguments are positional, in the order of the kernel's signature. An argument that the signature
// makes optional (`seq: in i32[NS + 1] if PACKED`) and that the compiled variant lacks is not in
// the list. Dims are taken from the tensors' sizes; a dim that no tensor mentions is given by name:
//
//     LaunchOptions options;
//     DimValue dims[] = {{"SLOTS", 7}};
//     options.dims = dims;
//     options.dimCount = 1;
//
// Scalars convert as in the language: an integer may stand for a float, never the reverse.
//
// What is checked before anything runs, each with a named error that shows the failing values:
//
//     launch-arguments  count and kind (tensor, scalar) of the arguments; a scalar out of its
//                       type's range
//     launch-dtype      the element type of a tensor
//     launch-rank       the number of dimensions
//     launch-shape      each size against the signature; two tensors that disagree about a dim are
//                       both named
//     launch-dims       a dim that is unknown, missing, negative, or 2^31 and more
//     launch-where      the `where` clauses of the kernel that were not decided when compiling
//     launch-stride     packed tensors without gaps; `strided`: last stride one; TMA: strides below
//                       2^40 bytes
//     launch-alignment  base pointers and strides, 16 bytes for TMA and `strided(16)`
//     launch-pointer    null pointers of tensors with elements
//     launch-grid       2^31 CTAs and more
//
// Overlap of writable tensors is not checked. An empty grid launches nothing and is no error.
//
// `launch` is asynchronous, reads no environment, hashes nothing and does not allocate; it can be
// captured in a CUDA graph. One handle may be used by several threads. Launches need no current
// context.
#pragma once

#include "flashqla/bundle.h"
#include "flashqla/device.h"
#include "flashqla/error.h"
#include "flashqla/tensor.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <type_traits>
#include <vector>

namespace flashqla {

struct Manifest; // runtime/manifest.h

/// One positional argument: a tensor or a scalar. Made implicitly: `launch(stream, {q, k, v,
/// 0.125f, true})`.
class Arg {
public:
  enum class Kind : std::uint8_t { Tensor, Int, Float, Bool };

  Arg(const TensorRef &tensor) : argKind(Kind::Tensor), tensorValue(tensor) {}
  Arg(bool value) : argKind(Kind::Bool), intValue(value) {}
  template <class T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int> = 0>
  Arg(T value) : argKind(Kind::Int), intValue(static_cast<std::int64_t>(value)) {}
  template <class T, std::enable_if_t<std::is_floating_point_v<T>, int> = 0>
  Arg(T value) : argKind(Kind::Float), floatValue(static_cast<double>(value)) {}
  /// A pointer alone has no sizes: make a TensorRef.
  template <class T> Arg(T *pointer) = delete;

  Kind kind() const { return argKind; }
  const TensorRef &tensor() const { return tensorValue; }
  std::int64_t integer() const { return intValue; }
  double real() const {
    return argKind == Kind::Float ? floatValue : static_cast<double>(intValue);
  }

private:
  Kind argKind;
  TensorRef tensorValue;
  std::int64_t intValue = 0; // Int and Bool
  double floatValue = 0;
};

/// A dim given by the call.
struct DimValue {
  std::string_view name;
  std::int64_t value = 0;
};

struct LaunchOptions {
  const DimValue *dims = nullptr; // dims that no tensor mentions
  std::size_t dimCount = 0;
  /// Programmatic dependent launch: may start while its predecessor in the stream still runs.
  /// Kernels of this compiler wait before their first global access, so that this is always safe
  /// between two of them.
  bool dependentLaunch = false;
};

/// A record of an instrumented kernel: what `code` names (ManifestTimeline in runtime/manifest.h)
/// went on between two readings of the multiprocessor's clock.
struct TimelineRecord {
  std::uint32_t begin = 0, end = 0, code = 0, unused = 0;
};

/// A loaded kernel. The caller keeps it; its device must outlive it.
class Kernel {
public:
  /// Errors: manifest-…, kernel-arch (compiled for another GPU), kernel-load (the driver's
  /// refusal).
  static Expected<Kernel> load(const Device &device, const Bundle &bundle);
  /// Asks the provider for the bundle first; its errors too.
  static Expected<Kernel> load(const Device &device, KernelProvider &provider,
                               const KernelRequest &request);

  Kernel(Kernel &&) noexcept;
  Kernel &operator=(Kernel &&) noexcept;
  ~Kernel();

  /// Checks the arguments (the manual's table) and launches. Errors: launch-…, driver-call.
  Expected<void> launch(StreamHandle stream, const Arg *args, std::size_t count,
                        const LaunchOptions &options = {}) const;
  Expected<void> launch(StreamHandle stream, std::initializer_list<Arg> args,
                        const LaunchOptions &options = {}) const {
    return launch(stream, args.begin(), args.size(), options);
  }

  /// After the launches have completed: the first `assert` of the kernel that failed since the last
  /// call, as the error assert-failed with its text; success when none did.
  Expected<void> takeFailedAssert() const;

  /// Of a kernel compiled with `--instrument`: which CTA records in the launches that follow (at
  /// first number 0). Waits for those before. Errors: kernel-timeline, driver-call.
  Expected<void> recordTimeline(std::int64_t block) const;
  /// Waits for all launches; what each role of the CTA recorded in the last of them, as far as
  /// there was room. Errors: kernel-timeline, also where nothing was recorded; driver-call.
  Expected<std::vector<std::vector<TimelineRecord>>> takeTimeline() const;

  const Manifest &manifest() const;

private:
  struct Impl;
  explicit Kernel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace flashqla
