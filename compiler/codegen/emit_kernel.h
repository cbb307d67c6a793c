/// From a lowered kernel to CUDA text: the way into codegen.
///
/// The text includes nothing, holds inline assembly only in its prelude, and is the same for the same kernel, byte for
/// byte. `#line` directives map it back to the `.tile` file.
#pragma once

#include "compiler/ir/location.h"
#include "compiler/ir/tile.h"
#include "runtime/manifest.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace flashqla::codegen {

struct EmitOptions {
  bool instrument = false; ///< records when the statements of roles begin and end
};

struct EmittedKernel {
  std::string text;                    ///< prelude, instructions, kernel
  std::vector<CudaParam> parameters;   ///< of the CUDA function, in order
  std::vector<AssertMessage> asserts;
  std::set<std::string> aligned;       ///< packed tensors whose base must be a multiple of 16 bytes
  int64_t threads = 0;                 ///< of a CTA
  std::optional<ManifestTimeline> timeline; ///< of an instrumented kernel
};

/// Prints a kernel whose module is in stage "lowered". Errors are reported; then there is no result.
std::optional<EmittedKernel> emitKernel(tile::KernelOp kernel, const SourceFiles &files, Diagnostics &diags,
                                        const EmitOptions &options = {});

} // namespace flashqla::codegen
