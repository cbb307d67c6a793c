/// What a map, or an element read by a role, costs the threads that evaluate it.
///
/// Operations are counted in the body as decoded: a multiplication whose product is added is free (they fuse), so are signs
/// and absolute values; integer operations mostly fold into addresses. The threads work in parallel on a body's
/// instructions, on special functions, and on shared and global memory; the longest of these is what it takes.
#pragma once

#include "compiler/sim/cost_model.h"
#include "compiler/sim/storage.h"
#include "compiler/sim/timing.h"

namespace flashqla::sim {

/// All points together.
struct MapWork {
  double points = 1;     ///< evaluations of its innermost body, which threads share
  double operations = 0; ///< of threads' arithmetic units, on floats
  double integers = 0;   ///< the same, on integers
  double special = 0;    ///< of the special function unit
  double sharedBytes = 0, loadedBytes = 0, storedBytes = 0; ///< the latter two of global memory
  int64_t exchanges = 0; ///< reductions and scans across threads
};

/// `registers` decide how far reductions run.
MapWork workOf(const Program &program, const MapBody &body, const Registers &registers);

Timing::Work costOf(const MapWork &work, int64_t warps, const Costs &costs);

/// A copy by threads, between global and shared memory or registers.
Timing::Work costOfCopy(int64_t elements, int64_t bytes, bool load, int64_t warps, const Costs &costs);

} // namespace flashqla::sim
