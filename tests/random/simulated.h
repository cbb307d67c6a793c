// A random program in the simulator, as written and as lowered, with values.
//
//     Simulated simulated = simulate(program);
//     simulated.verdict.good();               // accepted, and both forms agree bit for bit
//     simulated.cases.front().results["y0"];  // what other engines are compared with
#pragma once

#include "compiler/frontend/frontend.h"
#include "compiler/sim/storage.h"
#include "tests/random/program.h"

namespace flashqla::random {

struct Verdict {
  enum class Kind { Good, Refused, Differs };
  Kind kind = Kind::Good;
  std::string name = {}; ///< of the diagnostic; of the engines that differ
  std::string text = {}; ///< diagnostics; where and how much

  bool good() const { return kind == Kind::Good; }
  bool sameAs(const Verdict &other) const { return kind == other.kind && name == other.name; }
};

using Tensors = std::map<std::string, sim::TensorValues>;

/// A `check` case with contents for all arguments.
struct CaseRun {
  frontend::CheckCase test;
  Tensors inputs;  ///< before the launch, outputs included
  Tensors results; ///< after it
};

struct Simulated {
  Verdict verdict;
  std::vector<CaseRun> cases;
};

/// What tensors hold before a launch: inputs depend on the seed, the argument and the element; elements of outputs that
/// nothing writes keep a mark.
void fill(sim::TensorValues &tensor, const Argument &argument, std::uint64_t seed);

/// `protocol`: with all that `flashqlac check` does, more shapes among it.
Simulated simulate(const Program &program, bool protocol = false);

/// The first difference of what a kernel wrote: none where exact arguments are equal and others within their error.
std::string difference(const Program &program, const Tensors &expected, const Tensors &got, bool bitwise);

} // namespace flashqla::random
