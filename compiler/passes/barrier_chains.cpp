#include "compiler/passes/barrier_chains.h"

using namespace mlir;
using namespace flashqla::tile;

namespace flashqla::passes {
namespace {

using Distance = std::optional<int64_t>;

/// Whether a distance says at least as much as another; an unknown one is taken for the best.
bool atLeast(Distance a, Distance b) { return !a || (b && *a >= *b); }

/// Whether a wait in a branch or loop that ends before the arrival, or comes round to it, may have been executed: then it is
/// unknown what the arrival implies, and running the kernel tells.
bool mayPrecede(WaitOp wait, ArriveOp arrive) {
  for (Operation *around = wait->getParentOp(); !isa<RoleOp>(around); around = around->getParentOp())
    if (precedes(around, arrive) || (isa<scf::ForOp>(around) && around->isAncestor(arrive)))
      return true;
  return false;
}

} // namespace

bool precedes(Operation *first, Operation *second) {
  Operation *ancestor = first->getBlock()->findAncestorOpInBlock(*second);
  return ancestor && ancestor != first && first->isBeforeInBlock(ancestor);
}

BarrierChains::BarrierChains(KernelOp kernel) {
  for (auto role : kernel.getBody().front().getOps<RoleOp>())
    addRole(role);
}

BarrierChains::Edges BarrierChains::waitsBefore(ArriveOp arrive, ArrayRef<WaitOp> waits) {
  Edges found;
  Linear arrived = linearOf(arrive.getGeneration(), arrive.getOffset());
  for (WaitOp wait : waits) {
    Linear waited = linearOf(wait.getGeneration(), wait.getOffset());
    Distance distance;
    if (precedes(wait, arrive)) {
      distance = difference(waited, arrived);
    } else if (auto loop = dyn_cast<scf::ForOp>(wait->getParentOp());
               loop && loop->isAncestor(arrive)) {
      Linear before = afterIteration(waited, loop); // what the previous iteration waited for
      distance = difference(before, arrived);
    } else if (!mayPrecede(wait, arrive)) {
      continue;
    }
    auto [entry, fresh] = found.try_emplace(declaration(wait.getBarrier()), distance);
    if (!fresh && atLeast(distance, entry->second))
      entry->second = distance;
  }
  return found;
}

void BarrierChains::addRole(RoleOp role) {
  SmallVector<WaitOp> waits;
  role.walk([&](WaitOp wait) { waits.push_back(wait); });
  role.walk([&](ArriveOp arrive) {
    Operation *barrier = declaration(arrive.getBarrier());
    Edges found = waitsBefore(arrive, waits);
    auto [entry, fresh] = edges.try_emplace({barrier, role}, found);
    if (fresh) {
      arrivers[barrier].push_back(role);
      return;
    }
    // Which of the arrivals made the generation is not known: what all of them imply.
    Edges common;
    for (auto &[other, distance] : entry->second)
      if (auto again = found.find(other); again != found.end())
        common[other] = atLeast(distance, again->second) ? again->second : distance;
    entry->second = std::move(common);
  });
}

std::vector<BarrierChains::Implied> BarrierChains::impliedFor(RoleOp role,
                                                              BarrierOp barrier) const {
  llvm::MapVector<Operation *, Distance> best;
  SmallVector<std::pair<Operation *, Distance>> open{{barrier, 0}};
  // A cycle of chains goes back in time, so that distances only shrink; the count bounds the search
  // all the same.
  for (size_t steps = 0; !open.empty() && steps < 1000; ++steps) {
    auto [current, distance] = open.pop_back_val();
    auto [entry, fresh] = best.try_emplace(current, distance);
    if (!fresh && atLeast(entry->second, distance))
      continue;
    entry->second = distance;
    auto who = arrivers.find(current);
    if (who == arrivers.end())
      continue;
    for (Operation *arriver : who->second) {
      if (arriver == role)
        continue;
      for (auto &[next, step] : edges.at({current, arriver}))
        open.emplace_back(next, distance && step ? Distance(*distance + *step) : std::nullopt);
    }
  }
  std::vector<Implied> implied;
  for (auto &[found, distance] : best)
    if (auto who = arrivers.find(found);
        who != arrivers.end() && llvm::is_contained(who->second, role))
      implied.push_back({cast<BarrierOp>(found), distance});
  return implied;
}

} // namespace flashqla::passes
