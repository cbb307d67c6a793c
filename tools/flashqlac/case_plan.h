// A `check` case as a launch on made-up tensors: tables have what the case says, floats are random,
// other integers zero; a scalar that the case leaves out is one.
#pragma once

#include "tools/flashqlac/launch_plan.h"

namespace flashqla::cli {

/// Errors: those of planLaunch.
Expected<LaunchPlan> planCase(const Manifest &manifest, const frontend::CheckCase &shape);

} // namespace flashqla::cli
