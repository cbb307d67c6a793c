/// A `check` case as a launch of the simulator, and which cases a kernel allows.
#pragma once

#include "compiler/frontend/frontend.h"
#include "compiler/sim/decode.h"
#include "compiler/sim/simulate.h"
#include "runtime/dim_expr.h"

namespace flashqla::driver {

/// The `where` clauses of a kernel that its launch checks.
class CaseRules {
public:
  explicit CaseRules(tile::KernelOp kernel);
  /// Why they do not let the dims and scalars of the case pass; empty if they do.
  std::string refusal(const frontend::CheckCase &test);
  /// Sets dims that a clause computes from others (`SLOTS == T/C + NS`), but for the one that was just set.
  void follow(frontend::CheckCase &test, const std::string &set);

private:
  std::vector<DimExpr> conditions;
  std::vector<std::pair<std::string, DimExpr>> computed; ///< dims that a clause gives
};

/// A run follows the protocol alone unless data steers the kernel; then scalars without a value are 1.
sim::SimLaunch launchOf(const frontend::CheckCase &test, const sim::Program &program);

/// "M = 3, D = 2880, seq = [0, 64]"; "its only shape" where the case has nothing to say.
std::string shapeText(const frontend::CheckCase &test);

} // namespace flashqla::driver
