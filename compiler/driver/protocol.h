/// The protocol check: a kernel simulated at its `check` cases and at few trip counts of its loops.
///
/// What a kernel's roles do to each other repeats with the rings that they use. So besides the shapes that the author
/// lists, each dimension (and the last length in a table of offsets) that steers a loop takes the values for 0, 1, …
/// 2 · lcm + 1 iterations, where lcm is that of the sizes of its rings, each with a tail and without.
#pragma once

#include "compiler/frontend/frontend.h"
#include "compiler/ir/location.h"
#include "compiler/sim/decode.h"
#include "compiler/sim/simulate.h"

namespace flashqla::driver {

struct ProtocolCheck {
  bool redundant = false; ///< report waits that are implied
  bool tripCounts = true; ///< besides the cases themselves
  bool tolerant = false;  ///< leave out cases that do not fit – they are those of other parameters – or take long
};

/// One form of a kernel, surface or lowered, at the cases. `where` clauses of the kernel decide which shapes count. True
/// where nothing is reported.
bool checkProtocol(tile::KernelOp kernel, const std::vector<frontend::CheckCase> &cases, const SourceFiles &files,
                   Diagnostics &diags, const ProtocolCheck &options);

} // namespace flashqla::driver
