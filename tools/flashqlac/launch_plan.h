// What `flashqlac run` gives a kernel: tensors of a file matched to arguments by name, scalars and
// dims of the command line, outputs with the shapes that follow. No device is involved.
#pragma once

#include "compiler/frontend/frontend.h"
#include "flashqla/runtime.h"
#include "runtime/manifest.h"
#include "runtime/safetensors.h"
#include "tools/flashqlac/verbs.h"

#include <cstdint>
#include <string>
#include <vector>

namespace flashqla::cli {

/// Adds to the bindings what the tensors say about static dims and element types that are not
/// bound: `k: in E[T, H, DK]` gives E, H and DK. Only extents and types that are bare names count.
void bindFromTensors(const ast::Kernel &kernel, const Safetensors &inputs,
                     frontend::Bindings &bindings);

/// One argument of the kernel.
struct PlannedArgument {
  Access access = Access::In;
  Arg scalar = 0;     ///< of a scalar
  NamedTensor tensor; ///< of a tensor, in host memory; zeros for one that is only written
};

struct LaunchPlan {
  std::vector<PlannedArgument> arguments; ///< in the order of the signature
  std::vector<Definition> dimNames;       ///< owns the names of `dims`
  std::vector<DimValue> dims;             ///< those that the launch is given
  std::vector<std::string> unused;        ///< tensors of the file that are no argument
  std::int64_t blocks = 0;                ///< CTAs

  LaunchPlan() = default;
  LaunchPlan(LaunchPlan &&) = default;
  LaunchPlan &operator=(LaunchPlan &&) = default;
};

/// Everything that can be known about a launch before there is a device; `inputs` are moved into
/// the plan. Errors: run-input (a tensor that is missing or of another type or rank), run-scalar,
/// run-dim, usage, and the launch-… errors of runtime.h.
Expected<LaunchPlan> planLaunch(const Manifest &manifest, Safetensors inputs,
                                const std::vector<Definition> &scalars,
                                const std::vector<Definition> &dims);

/// "bf16[M, K]" of the signature, "bf16[300, 64]" of a tensor.
std::string typeText(const ManifestArgument &argument);
std::string typeText(const NamedTensor &tensor);

} // namespace flashqla::cli
