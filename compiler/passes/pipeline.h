/// The order of the passes, and the stages at which a compile can stop.
#pragma once

#include "compiler/passes/passes.h"

namespace flashqla::passes {

/// Checks a kernel in stage "surface" and fixes what lowering needs: layouts, addresses. Reports mistakes of the author
/// and returns whether there were none.
bool checkAndPlan(tile::KernelOp kernel, Context &context);

/// From planned surface ops to lowered ops; the module's stage becomes "lowered".
bool lowerKernel(tile::KernelOp kernel, Context &context);

} // namespace flashqla::passes
