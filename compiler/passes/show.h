/// What a kernel's author looks at: layouts, and the schedule with everything that was derived.
#pragma once

#include "compiler/ir/location.h"
#include "compiler/ir/tile.h"

#include <string>

namespace flashqla::passes {

/// Of a planned kernel: shared memory by address, with swizzles; fragments by role, with registers a thread.
std::string showLayouts(tile::KernelOp kernel);

/// Of a lowered kernel: roles, waits, copies and products in order; what was derived stands behind `·`.
std::string showSchedule(tile::KernelOp kernel, const SourceFiles &files);

} // namespace flashqla::passes
