// Runs the probe of wgmma (tests/gpu/cuda/wgmma_probe.cuh) and finds tables in what it writes.
#pragma once

#include "tests/gpu/wgmma_layout.h"

namespace flashqla {

/// Every form with plain operands, then all cases of operands. Throws std::runtime_error where a
/// result has no explanation by a row, a column and a k.
WgmmaLayouts probeWgmma();

} // namespace flashqla
