/// The timeline of a CTA that a GPU ran.
///
///     kernel.recordTimeline(3);
///     kernel.launch(…);
///     Timeline timeline = measuredTimeline(kernel.manifest(), *kernel.takeTimeline());
#pragma once

#include "compiler/sim/timeline.h"
#include "flashqla/runtime.h"

#include <span>

namespace flashqla::sim {

/// The manifest is that of an instrumented kernel. Rows are roles; what the engines did is not recorded. `block` and
/// `blocks` are left to the caller.
Timeline measuredTimeline(const Manifest &manifest, std::span<const std::vector<TimelineRecord>> recorded);

} // namespace flashqla::sim
