/// Runs a kernel on the CPU, with the meaning of its roles, barriers, copies and products.
///
///     DecodedKernel kernel = decode(op);                     // surface or lowered
///     SimLaunch launch;
///     launch.dims = {{"M", 300}, {"N", 200}, {"K", 500}};
///     launch.tensors["a"] = {{300, 500}, values, {}};        // …
///     SimResult result = simulate(kernel.program, launch);
///     result.findings;                                       // races, deadlocks, … ; report.h shows them
///     launch.tensors["c"].reals;                             // the numbers
///
/// With `values` off the protocol alone is followed: tensors need extents only, but for integer tensors (the tables that
/// steer control flow). CTAs run on several threads; results do not depend on how many. docs/simulator.md says what a
/// clean run proves.
#pragma once

#include "compiler/sim/machine.h"
#include "compiler/sim/storage.h"
#include "flashqla/error.h"

#include <functional>
#include <map>
#include <string>

namespace flashqla::sim {

struct SimScalar {
  int64_t integer = 0; ///< of integer arguments and truth values
  float real = 0;
};

struct SimLaunch {
  std::map<std::string, int64_t> dims;
  std::map<std::string, SimScalar> scalars;
  /// Arguments by name. Those that are missing get their shape from the dims, and zeros where the run has values; one
  /// without extents gets them.
  std::map<std::string, TensorValues> tensors;
  bool values = true;
  unsigned threads = 1;
  int64_t stepLimit = 0; ///< steps of a CTA; 0: none
  int64_t totalLimit = 0; ///< steps of all CTAs after which no other one starts; 0: none
  int64_t blockLimit = 0; ///< CTAs that run: the first ones and the last; 0: all
  /// Called now and then, from any thread: CTAs done, CTAs in all.
  std::function<void(int64_t, int64_t)> progress;
};

struct SimResult {
  std::vector<Finding> findings;
  std::unordered_map<Where, Machine::WaitCount> waits;
  int64_t blocks = 0, steps = 0;
  bool complete = true; ///< all CTAs ran that were to
  std::map<Where, int64_t> trips; ///< the most iterations that each loop made in a row
  std::vector<int64_t> rounds;    ///< how often the most used slot of each barrier was complete in a CTA
};

/// Errors: sim-launch (a dim or scalar without a value, an extent that does not fit or is beyond any memory).
Expected<SimResult> simulate(const Program &program, SimLaunch &launch);

} // namespace flashqla::sim
