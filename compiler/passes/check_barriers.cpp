/// Arrivals: what each role can be held to without looking at the others.
///
/// A role arrives once at each generation, in increasing order; the copies attached to a generation
/// come before the role's own arrival there. Whether roles agree on how many generations there are
/// is not decided here, and how far behind a wait may come, by the frontend.
#include "compiler/passes/accesses.h"
#include "compiler/passes/barrier_chains.h"

using namespace mlir;
using namespace flashqla::tile;

namespace flashqla::passes {
namespace {

class BarrierCheck {
public:
  BarrierCheck(RoleOp role, Context &context) : role(role), context(context) {
    role.walk([&](ArriveOp arrive) { arrivals.push_back(arrive); });
  }
  bool run();

private:
  void checkCopy(CopyOp copy);
  void checkPair(ArriveOp first, ArriveOp second);
  void checkCondition(ArriveOp arrive);
  bool arrivesOtherwise(scf::IfOp branch, ArriveOp arrive, bool inThen);

  RoleOp role;
  Context &context;
  SmallVector<ArriveOp> arrivals;
};

Linear generationOf(ArriveOp arrive) {
  return linearOf(arrive.getGeneration(), arrive.getOffset());
}

std::string nameOf(Value barrier) { return cast<BarrierOp>(declaration(barrier)).getName().str(); }

void BarrierCheck::checkCopy(CopyOp copy) {
  if (!copy.getBarrier())
    return;
  Linear generation = linearOf(copy.getGeneration(), copy.getOffset());
  ArriveOp early;
  for (ArriveOp arrive : arrivals) {
    if (arrive.getBarrier() != copy.getBarrier())
      continue;
    Operation *ancestor = arrive->getBlock()->findAncestorOpInBlock(*copy);
    if (!ancestor)
      continue;
    bool same = difference(generation, generationOf(arrive)).value_or(0) == 0;
    if (same && ancestor->isBeforeInBlock(arrive))
      return;
    if (same && !early)
      early = arrive;
  }
  std::string barrier = nameOf(copy.getBarrier());
  auto report = context.report(
      DiagnosticKind::CopyNoArrive, copy,
      early
          ? fmt::format("`{}` may complete before this copy is attached to it", barrier)
          : fmt::format("`{}` attaches a copy to a generation of `{}` at which it does not arrive",
                        roleName(copy), barrier));
  if (early)
    report.label(context.files.range(early.getOperation()), "this arrival comes first")
        .help("arrive after the copies");
  else
    report.label(context.files.range(declaration(copy.getBarrier())), "declared here")
        .help(fmt::format("arrive at that generation of `{}` after the copies", barrier));
}

/// Two arrivals of one block, the first before the second.
void BarrierCheck::checkPair(ArriveOp first, ArriveOp second) {
  auto ahead = difference(generationOf(second), generationOf(first));
  if (!ahead)
    return;
  std::string barrier = nameOf(first.getBarrier());
  auto report = [&](std::string message, std::string label) {
    context.report(DiagnosticKind::ArrivalOrder, second, std::move(message))
        .label(context.files.range(first.getOperation()), std::move(label));
  };
  if (*ahead == 0)
    return report(
        fmt::format("`{}` arrives twice at the same generation of `{}`", roleName(first), barrier),
        "the first arrival");
  if (*ahead < 0)
    return report(
        fmt::format("`{}` arrives at a generation of `{}` before the one that it has arrived at",
                    roleName(first), barrier),
        fmt::format("{} generation{} later", -*ahead, *ahead == -1 ? "" : "s"));
  auto loop = dyn_cast<scf::ForOp>(first->getParentOp());
  auto step = loop ? growth(generationOf(first), loop) : std::nullopt;
  if (step && *step > 0 && *ahead >= *step)
    report(
        fmt::format(
            "the next iteration arrives again at generations of `{}` that this one has arrived at",
            barrier),
        fmt::format("grows by {} in each iteration, and the other is {} ahead", *step, *ahead));
}

bool BarrierCheck::arrivesOtherwise(scf::IfOp branch, ArriveOp arrive, bool inThen) {
  Region &other = inThen ? branch.getElseRegion() : branch.getThenRegion();
  return llvm::any_of(arrivals, [&](ArriveOp candidate) {
    return candidate.getBarrier() == arrive.getBarrier() &&
           other.isAncestor(candidate->getParentRegion()) &&
           difference(generationOf(candidate), generationOf(arrive)).value_or(0) == 0;
  });
}

/// Whether a value is computed from another; through elements read at places that depend on it, or
/// by arithmetic alone.
bool dependsOn(Value value, Value on, bool throughLoads) {
  if (value == on)
    return true;
  Operation *op = value.getDefiningOp();
  return op && (throughLoads || !isa<LoadOp>(op)) &&
         llvm::any_of(op->getOperands(),
                      [&](Value operand) { return dependsOn(operand, on, throughLoads); });
}

/// Whether some wait for the barrier stands under no run-time condition.
bool waitedForAlways(Value barrier) {
  return llvm::any_of(barrier.getUsers(), [](Operation *user) {
    return isa<WaitOp>(user) && !user->getParentOfType<scf::IfOp>();
  });
}

/// An arrival that a condition skips although its generation counts on.
void BarrierCheck::checkCondition(ArriveOp arrive) {
  auto counter = dyn_cast_or_null<BlockArgument>(arrive.getGeneration());
  if (!counter)
    return;
  auto loop = dyn_cast<scf::ForOp>(counter.getOwner()->getParentOp());
  if (!loop || counter != loop.getInductionVar())
    return;
  for (Operation *op = arrive; op->getParentOp() != loop; op = op->getParentOp()) {
    auto branch = dyn_cast<scf::IfOp>(op->getParentOp());
    if (!branch)
      return; // an inner loop repeats the generation: not this check's business
    bool inThen = branch.getThenRegion().isAncestor(op->getParentRegion());
    // A condition on the counter itself may leave out what needs no arrival, such as the last
    // generation. One that stays the same leaves out all of them, and so may those of the waiters.
    bool varies = dependsOn(branch.getCondition(), counter, true);
    if (dependsOn(branch.getCondition(), counter, false) ||
        arrivesOtherwise(branch, arrive, inThen) ||
        (!varies && !waitedForAlways(arrive.getBarrier())))
      continue;
    context
        .report(DiagnosticKind::ConditionalArrival, arrive,
                fmt::format("`{}` skips generations of `{}` where the condition around this "
                            "arrival does not hold",
                            roleName(arrive), nameOf(arrive.getBarrier())))
        .label(context.files.range(branch.getCondition().getLoc()), "decided at run time")
        .help("arrive outside the `if`, or count the generations that are used");
    return;
  }
}

bool BarrierCheck::run() {
  size_t before = context.diags.errorCount();
  role.walk([&](CopyOp copy) { checkCopy(copy); });
  for (size_t second = 0; second < arrivals.size(); ++second) {
    checkCondition(arrivals[second]);
    for (size_t first = second; first-- > 0;)
      if (arrivals[first].getBarrier() == arrivals[second].getBarrier() &&
          arrivals[first]->getBlock() == arrivals[second]->getBlock()) {
        checkPair(arrivals[first], arrivals[second]);
        break;
      }
  }
  return context.diags.errorCount() == before;
}

} // namespace

bool checkBarriers(KernelOp kernel, Context &context) {
  bool ok = true;
  for (auto role : kernel.getBody().front().getOps<RoleOp>())
    ok &= BarrierCheck(role, context).run();
  return ok;
}

} // namespace flashqla::passes
