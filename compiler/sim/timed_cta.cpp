#include "compiler/sim/timed_cta.h"

#include "compiler/sim/map_cost.h"

namespace flashqla::sim {
namespace {

double scalarCost(LaneOp op, const Costs &costs) {
  switch (op) {
  case LaneOp::Constant:
  case LaneOp::Copy:
    return 0;
  case LaneOp::DivI: case LaneOp::RemI: case LaneOp::CeilDivI: case LaneOp::FloorDivI:
    return 5 * costs.scalar;
  default:
    return costs.scalar;
  }
}

} // namespace

/// All warps compute what the roles share; one of them sets up the barriers.
double TimedCta::prologueCost() const {
  double cycles = costs.start;
  for (const Step &step : program.prologue)
    if (step.kind == StepKind::Scalar)
      cycles += scalarCost(step.scalar.op, costs);
    else if (step.kind == StepKind::Map) {
      const MapWork work = workOf(program, program.maps[step.map], interpreter.registers());
      const Timing::Work cost = costOf(work, /*warps=*/1, costs);
      cycles += cost.cycles + cost.latency;
    }
  return cycles;
}

void TimedCta::start() {
  interpreter.start();
  const double cycles = prologueCost();
  for (uint32_t role = 0; role < program.roles.size(); ++role) {
    timing.spend(role, cycles);
    if (timeline)
      timeline->rows[role].begin = timing.now(role);
  }
}

bool TimedCta::next(uint32_t &role, Cycles &now) const {
  bool found = false;
  for (uint32_t each = 0; each < program.roles.size(); ++each)
    if (!blocked[each] && interpreter.next(each) && (!found || timing.now(each) < now)) {
      found = true;
      role = each;
      now = timing.now(each);
    }
  return found;
}

bool TimedCta::ended() const {
  for (uint32_t role = 0; role < program.roles.size(); ++role)
    if (interpreter.next(role))
      return false;
  return true;
}

void TimedCta::step(uint32_t role) {
  const Step &step = *interpreter.next(role);
  if (!interpreter.step(role)) {
    blocked[role] = true;
    return;
  }
  account(role, step);
  if (step.kind == StepKind::Arrive) // what others wait for may have happened
    blocked.assign(blocked.size(), false);
  if (timeline)
    timeline->rows[role].end = timing.now(role);
}

void TimedCta::account(uint32_t role, const Step &step) {
  switch (step.kind) {
  case StepKind::Scalar:
    timing.spend(role, scalarCost(step.scalar.op, costs));
    break;
  case StepKind::LoopTest:
    timing.spend(role, costs.loop);
    break;
  case StepKind::Assert:
    timing.spend(role, costs.assertion);
    break;
  case StepKind::Fence:
    timing.spend(role, costs.fence);
    break;
  case StepKind::Sync:
    record(role, step, timing.spend(role, syncCost(program.roles[role].warps)));
    break;
  case StepKind::Arrive:
    if (generationOf(step) >= 0)
      timing.arrive(role, step.barrier, generationOf(step), statementOf(step));
    break;
  case StepKind::Wait: {
    const Timing::Waited waited = timing.wait(role, step.barrier, generationOf(step));
    record(role, step, waited.period, generationOf(step), waited.cause);
    break;
  }
  case StepKind::AwaitProducts:
    record(role, step, timing.awaitProducts(role, step.keep));
    break;
  case StepKind::AwaitStores:
    record(role, step, timing.awaitStores(role, step.keep, step.read));
    break;
  case StepKind::AwaitCopies:
    record(role, step, timing.awaitCopies(role, step.keep));
    break;
  case StepKind::CommitStores:
    timing.commitStores(role);
    break;
  case StepKind::BoxLoad:
  case StepKind::BoxStore:
    issue(role, step);
    break;
  case StepKind::AsyncCopy:
  case StepKind::PlainCopy:
    copyByThreads(role, step);
    break;
  case StepKind::Product:
    product(role, step);
    break;
  case StepKind::Map:
  case StepKind::Inverse:
    compute(role, step);
    break;
  default: // no time, or steps of kernels that are not lowered
    break;
  }
}

void TimedCta::issue(uint32_t role, const Step &step) {
  if (step.kind == StepKind::BoxStore) {
    const Timing::Issued issued = timing.store(role, step.bytes);
    record(role, step, issued.role);
    recordEngine(CopyOutRow, step, issued.engine, -1);
    return;
  }
  const int64_t generation = generationOf(step);
  const Timing::Issued issued = timing.load(role, step.barrier, generation, step.bytes, statementOf(step));
  record(role, step, issued.role, generation);
  recordEngine(CopyInRow, step, issued.engine, generation);
}

void TimedCta::copyByThreads(uint32_t role, const Step &step) {
  auto volume = [](const Reference &reference) {
    int64_t elements = 1;
    for (int64_t extent : reference.shape)
      elements *= extent;
    return elements;
  };
  const Reference &tensor = step.from.space == Space::Tensor ? step.from : step.to;
  const Element element = program.tensors[tensor.object].element;
  const int64_t elements = volume(&tensor == &step.from ? step.to : step.from);
  const int64_t bytes = elements * (element == Element::F32 || element == Element::I32 ? 4
                                    : element == Element::I64                          ? 8
                                    : element == Element::Bool                         ? 1
                                                                                       : 2);
  const bool load = &tensor == &step.from;
  const int64_t warps = program.roles[role].warps;
  if (step.kind == StepKind::PlainCopy) {
    record(role, step, timing.work(role, costOfCopy(elements, bytes, load, warps, costs)));
    return;
  }
  const double pieces = static_cast<double>(bytes) / 16 / (32.0 * static_cast<double>(warps));
  const Timing::Issued issued = timing.asyncCopy(role, costs.copyIssue + pieces * costs.copyIssue, bytes);
  record(role, step, issued.role);
  recordEngine(CopyInRow, step, issued.engine, -1);
}

/// m64nNk16 instructions: 64 rows of a warpgroup, 16 of K.
void TimedCta::product(uint32_t role, const Step &step) {
  const int64_t m = step.to.shape[0], n = step.to.shape[1];
  const int64_t k = step.from.shape[step.transposeA ? 0 : 1];
  const int64_t instructions = m / 64 * (k / 16);
  const double rows = 64, depth = 16, bytes = 2, columns = static_cast<double>(n);
  const double operands = step.from.space == Space::Shared
                              ? (columns + rows) * depth * bytes / costs.operandRate
                              : costs.registerOperand + columns * depth * bytes / (2 * costs.operandRate);
  const double each = std::max(rows * columns * depth / costs.tensorRate, operands);
  const int64_t warpgroups = std::max<int64_t>(program.roles[role].warps / 4, 1);
  const Timing::Issued issued =
      timing.product(role, (instructions + warpgroups - 1) / warpgroups, static_cast<double>(instructions) * each);
  record(role, step, issued.role);
  recordEngine(TensorRow, step, issued.engine, -1);
}

void TimedCta::compute(uint32_t role, const Step &step) {
  Timing::Work work{.cycles = costs.inverse};
  if (step.kind == StepKind::Map)
    work = costOf(workOf(program, program.maps[step.map], interpreter.registers()), program.roles[role].warps, costs);
  record(role, step, timing.work(role, work));
}

/// The boxes of a copy, and what else is one statement in one go, are one span.
void TimedCta::record(uint32_t role, const Step &step, Period period, int64_t generation, uint32_t cause) {
  const uint32_t statement = statementOf(step);
  if (!timeline || statement == Span::none)
    return;
  for (auto last = timeline->spans.rbegin(); last != timeline->spans.rend(); ++last)
    if (last->row == role) {
      if (last->step != statement || last->generation != generation ||
          (step.kind != StepKind::BoxLoad && step.kind != StepKind::BoxStore))
        break;
      last->end = period.end;
      return;
    }
  timeline->spans.push_back({role, statement, period.begin, period.end, generation, cause});
}

void TimedCta::recordEngine(EngineRow engine, const Step &step, Period period, int64_t generation) {
  Timeline *shown = timeline ? timeline : neighbour;
  const uint32_t row = static_cast<uint32_t>(program.roles.size()) + engine;
  const uint32_t statement = timeline ? statementOf(step) : static_cast<uint32_t>(statements.steps.size());
  if (!shown || statement == Span::none)
    return;
  for (auto last = shown->spans.rbegin(); last != shown->spans.rend(); ++last)
    if (last->row == row) {
      if (last->step != statement || last->generation != generation || last->end != period.begin)
        break;
      last->end = period.end;
      return;
    }
  shown->spans.push_back({row, statement, period.begin, period.end, generation, Span::none});
}

} // namespace flashqla::sim
