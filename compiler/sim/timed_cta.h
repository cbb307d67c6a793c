/// One CTA in time: an interpreter whose steps are told to the arithmetic of time (timing.h).
#pragma once

#include "compiler/sim/interpret.h"
#include "compiler/sim/timeline.h"

namespace flashqla::sim {

/// Rows of a simulated timeline behind those of the roles.
enum EngineRow : uint32_t { TensorRow, CopyInRow, CopyOutRow, EngineRows };

class TimedCta {
public:
  TimedCta(const Program &program, Interpreter::Launch launch, const StatementTable &statements, const Costs &costs,
           Engines &engines)
      : program(program), statements(statements), costs(costs), interpreter(std::move(launch)),
        timing(costs, engines, program.roles.size(), program.barriers.size()), blocked(program.roles.size(), false) {}

  void start();
  /// The role that is the furthest behind, of those that can move; false where there is none.
  bool next(uint32_t &role, Cycles &now) const;
  void step(uint32_t role);
  bool ended() const;
  void finish() { interpreter.finish(); }

  /// The timeline that spans go to; null for a CTA that only takes its share of the engines.
  Timeline *timeline = nullptr;
  /// Where the former's engines show what this CTA has them do.
  Timeline *neighbour = nullptr;
  const std::vector<Finding> &findings() const { return interpreter.machine().findings(); }

private:
  double prologueCost() const;
  double syncCost(int64_t warps) const {
    return warps > 1 ? costs.sync + costs.syncWarp * static_cast<double>(warps) : costs.warpSync;
  }
  void account(uint32_t role, const Step &step);
  void issue(uint32_t role, const Step &step);
  void compute(uint32_t role, const Step &step);
  void product(uint32_t role, const Step &step);
  void copyByThreads(uint32_t role, const Step &step);
  void record(uint32_t role, const Step &step, Period period, int64_t generation = -1, uint32_t cause = Span::none);
  void recordEngine(EngineRow row, const Step &step, Period period, int64_t generation);
  uint32_t statementOf(const Step &step) const {
    return step.where < statements.ofPlace.size() ? statements.ofPlace[step.where] : Span::none;
  }
  int64_t generationOf(const Step &step) const { return interpreter.registers().value(step.generation); }

  const Program &program;
  const StatementTable &statements;
  const Costs &costs;
  Interpreter interpreter;
  Timing timing;
  std::vector<bool> blocked;
};

} // namespace flashqla::sim
