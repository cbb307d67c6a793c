#include "compiler/sim/timeline.h"

#include "compiler/sim/launch.h"
#include "compiler/sim/timed_cta.h"

#include <fmt/format.h>

namespace flashqla::sim {
namespace {

constexpr std::string_view engineNames[] = {"tensor core", "copy in", "copy out"};

void finishRows(Timeline &timeline, const Engines &engines) {
  for (const Timeline::Row &row : timeline.rows)
    timeline.cycles = std::max(timeline.cycles, row.end);
  const Engine *of[] = {&engines.tensor, &engines.copyIn, &engines.copyOut};
  const size_t roles = timeline.rows.size() - EngineRows;
  for (size_t engine = 0; engine < EngineRows; ++engine) {
    Timeline::Row &row = timeline.rows[roles + engine];
    row.end = timeline.cycles;
    row.use = timeline.cycles ? static_cast<double>(of[engine]->busy()) / static_cast<double>(timeline.cycles) : 0;
  }
}

/// What a multiprocessor has where all CTAs run at once.
Costs shared(Costs costs, int64_t blocks) {
  const double busy = std::min(static_cast<double>(blocks), costs.multiprocessors);
  costs.copyRate = std::min(costs.copyRate, costs.copyRateAll / busy);
  costs.storeRate = std::min(costs.storeRate, costs.storeRateAll / busy);
  costs.globalRate = std::min(costs.globalRate, costs.globalRateAll / busy);
  return costs;
}

/// The rows and steps, without spans.
Timeline emptyTimeline(const Program &program, const StatementTable &statements) {
  Timeline timeline;
  timeline.kernel = program.kernel;
  timeline.source = "simulated";
  for (const RoleProgram &role : program.roles)
    timeline.rows.push_back({role.name, /*engine=*/false});
  for (std::string_view name : engineNames)
    timeline.rows.push_back({std::string(name), /*engine=*/true});
  timeline.steps = statements.steps;
  timeline.steps.push_back({"", {StatementKind::Map, "another CTA", 0}});
  return timeline;
}

} // namespace

StatementTable statementsOf(const DecodedKernel &kernel, const SourceFiles &files) {
  StatementTable table;
  for (mlir::Operation *op : kernel.places) {
    table.ofPlace.push_back(Span::none);
    std::optional<Statement> statement = flashqla::statementOf(*op, files);
    auto role = op->getParentOfType<tile::RoleOp>();
    if (!statement || !role)
      continue;
    TimelineStep step{role.getName().str(), std::move(*statement)};
    auto known = std::find(table.steps.begin(), table.steps.end(), step);
    table.ofPlace.back() = static_cast<uint32_t>(known - table.steps.begin());
    if (known == table.steps.end())
      table.steps.push_back(std::move(step));
  }
  return table;
}

Expected<SimulatedTimeline> simulateTimeline(const Program &program, SimLaunch &launch, const StatementTable &statements,
                                             const TimelineOptions &options) {
  PreparedLaunch prepared(program, launch, /*owners=*/false);
  if (Expected<void> ready = prepared.prepare(); !ready)
    return ready.error();
  if (options.block < 0 || options.block >= prepared.blocks)
    return Error{"sim-launch", fmt::format("there is no CTA {} in a grid of {}", options.block, prepared.blocks), {}};
  SimulatedTimeline result;
  result.timeline = emptyTimeline(program, statements);
  result.timeline.block = options.block;
  result.timeline.blocks = prepared.blocks;
  const Costs costs = shared(options.costs, prepared.blocks);
  Engines engines;
  std::vector<std::unique_ptr<TimedCta>> ctas;
  for (int64_t i = 0; i < options.resident; ++i) {
    const int64_t block = options.block + i * static_cast<int64_t>(options.costs.multiprocessors);
    if (block >= prepared.blocks)
      break;
    ctas.push_back(std::make_unique<TimedCta>(program,
                                         Interpreter::Launch{program, prepared.tensors, prepared.registersOf(block),
                                                             static_cast<int32_t>(block), launch.values,
                                                             launch.stepLimit},
                                         statements, costs, engines));
    (i == 0 ? ctas.back()->timeline : ctas.back()->neighbour) = &result.timeline;
    ctas.back()->start();
  }
  for (;;) {
    // The one that is shown is the last of those that begin at once: engines serve in order, a GPU serves in turn.
    TimedCta *chosen = nullptr;
    uint32_t role = 0;
    Cycles earliest = 0;
    for (const std::unique_ptr<TimedCta> &cta : ctas) {
      uint32_t candidate = 0;
      Cycles now = 0;
      if (!cta->next(candidate, now) || (chosen && now > earliest))
        continue;
      chosen = cta.get();
      role = candidate;
      earliest = now;
    }
    if (!chosen || (chosen != ctas.front().get() && ctas.front()->ended()))
      break;
    chosen->step(role);
  }
  ctas.front()->finish();
  result.findings = ctas.front()->findings();
  finishRows(result.timeline, engines);
  return result;
}

} // namespace flashqla::sim
