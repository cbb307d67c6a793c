// A compiled kernel as files, and where bundles come from.
//
// A `Bundle` is what `flashqlac` makes of one kernel: the manifest (how to launch it), the cubin,
// and for people the CUDA text, the source and the assembler's log. It lives in one `.fqb` file
// that an application ships, or in a directory of the cache. `KernelProvider` is what makes bundles
// on demand: the driver of the compiler implements it; an application without a compiler never
// needs one.
//
//     Expected<Bundle> bundle = Bundle::read("gemm_nt.fqb");
#pragma once

#include "flashqla/error.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flashqla {

struct Bundle {
  std::string manifest; // manifest.json
  std::string cubin;    // kernel.cubin, bytes
  std::string cuda;     // kernel.cu
  std::string source;   // kernel.tile
  std::string log;      // build.log: registers, spills, shared memory

  /// The bytes of a `.fqb` file.
  std::string serialize() const;
  /// The reverse; `name` stands in messages. Errors: bundle-foreign, bundle-version,
  /// bundle-truncated, bundle-corrupt.
  static Expected<Bundle> deserialize(std::string_view bytes, std::string_view name);

  /// A `.fqb` file. Errors: file-read and those of `deserialize`.
  static Expected<Bundle> read(const std::string &path);
  /// Written beside `path` and renamed, so that readers see the old file or the new one. Error:
  /// file-write.
  Expected<void> write(const std::string &path) const;

  /// The directory form, with a file `checksums` over the others. Errors: file-read,
  /// bundle-corrupt.
  static Expected<Bundle> readDirectory(const std::string &path);
  /// Into an existing directory. Error: file-write.
  Expected<void> writeDirectory(const std::string &path) const;
};

/// One kernel of one file with everything that is decided when compiling.
struct KernelRequest {
  std::string file;   // names the source in messages; read when `source` is empty
  std::string source; // text of the `.tile` file
  std::string kernel; // name of the kernel in it
  std::vector<std::pair<std::string, std::string>>
      params; // name, value text: {"BM", "128"}, {"E", "f16"}
  std::vector<std::pair<std::string, std::int64_t>> staticDims; // name, value
  std::string arch = "sm_90a";
};

/// Makes bundles on demand.
class KernelProvider {
public:
  virtual ~KernelProvider() = default;
  virtual Expected<Bundle> provide(const KernelRequest &request) = 0;
};

} // namespace flashqla
