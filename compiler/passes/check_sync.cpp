/// Statements of a role that touch the same shared element.
///
/// The threads of a role run apart from each other, and so do the engines that they start. Two
/// statements that may touch the same element, one of them writing, need something between them:
///
///   threads → anyone        a `sync`, or arrive … wait through another role
///   product → a writer      its `await`, then the same
///   bulk store → a writer   its `await`, then the same
///   bulk load → anyone      a `wait` for its barrier
///
/// The walk keeps the accesses that nothing has separated from here yet. In a loop they grow older:
/// their generations and windows are rewritten in terms of the current iteration, so that `s[i]` of
/// the previous one is `s[i - 1]`.
#include "compiler/passes/check_sync.h"

using namespace mlir;
using namespace flashqla::tile;

namespace flashqla::passes {
namespace {

// Rings are shorter; an access that is older is taken to be anywhere in its ring.
constexpr int maxShifts = 16;

bool isSynchronous(Actor actor) { return actor == Actor::Threads; }

/// Whether an await of a tile, or of a generation of one, means this store: groups end in order, so
/// that older ones do.
bool waitsFor(AwaitOp await, const PendingAccess &store) {
  if (declaration(await.getTarget()) != store.access.shared)
    return false;
  auto view = await.getTarget().getDefiningOp<ViewOp>();
  if (!view)
    return true;
  auto newer = difference(store.access.generation,
                          linearOf(view.getGeneration(), view.getGenerationOffset()));
  return newer.value_or(0) <= 0;
}

/// Whether the wait completes the copy that wrote the tile.
bool completes(WaitOp wait, const PendingAccess &load) {
  auto copy = cast<CopyOp>(load.access.statement);
  if (declaration(copy.getBarrier()) != declaration(wait.getBarrier()))
    return false;
  auto ahead = load.shifts == 0 ? difference(linearOf(wait.getGeneration(), wait.getOffset()),
                                             linearOf(copy.getGeneration(), copy.getOffset()))
                                : std::nullopt;
  return !ahead || *ahead >= 0;
}

} // namespace

bool SyncCheck::inFlightAt(const PendingAccess &earlier, Operation *op) const {
  if (earlier.access.actor != Actor::Product)
    return earlier.inFlight;
  for (auto [instance, distance] : flight.before(op))
    if (instance.product == earlier.access.statement &&
        instance.lag >= std::min(earlier.lag, InFlight::maxLag))
      return true;
  return false;
}

SyncCheck::State SyncCheck::join(State a, const State &b) {
  for (const PendingAccess &entry : b) {
    auto known = llvm::find_if(a, [&](auto &other) { return other.sameAccess(entry); });
    if (known == a.end()) {
      a.push_back(entry);
      continue;
    }
    known->inFlight |= entry.inFlight;
    known->laterGroups = std::min(known->laterGroups, entry.laterGroups);
    known->shifts = std::max(known->shifts, entry.shifts);
    std::erase_if(known->arrivals,
                  [&](auto &arrival) { return !entry.arrivals.contains(arrival.first); });
    for (auto &[barrier, generation] : known->arrivals)
      if (auto apart = difference(entry.arrivals.at(barrier), generation); !apart || *apart > 0)
        generation = entry.arrivals.at(barrier); // the later one, or one that is unknown
  }
  return a;
}

SyncCheck::State SyncCheck::nextIteration(State state, scf::ForOp op) {
  State result;
  for (PendingAccess &entry : state) {
    Linear generation = afterIteration(entry.access.generation, op);
    auto box = entry.access.box;
    for (Span &span : box)
      span.start = afterIteration(span.start, op);
    bool moved = generation != entry.access.generation || box != entry.access.box;
    if (moved && ++entry.shifts > maxShifts) {
      generation = Linear::unknown();
      for (Span &span : box)
        span.start = Linear::unknown();
    }
    entry.access.generation = generation;
    entry.access.box = box;
    if (entry.access.actor == Actor::Product &&
        entry.access.statement->getParentOfType<scf::ForOp>() == op)
      entry.lag = std::min(entry.lag + 1, InFlight::maxLag);
    for (auto &[barrier, arrival] : entry.arrivals)
      arrival = afterIteration(arrival, op);
    result = join(std::move(result), {entry});
  }
  return result;
}

SyncCheck::State SyncCheck::leave(State state, scf::ForOp op) {
  State result;
  for (PendingAccess &entry : state) {
    entry.access.generation = afterLoop(entry.access.generation, op);
    for (Span &span : entry.access.box)
      span.start = afterLoop(span.start, op);
    for (auto &[barrier, arrival] : entry.arrivals)
      arrival = afterLoop(arrival, op);
    result = join(std::move(result), {entry});
  }
  return result;
}

SyncCheck::State SyncCheck::loop(scf::ForOp op, State state) {
  State entry = state;
  for (;;) {
    State end = walk(*op.getBody(), entry);
    State next = join(entry, nextIteration(end, op));
    bool same = next.size() == entry.size();
    for (size_t i = 0; same && i < next.size(); ++i)
      same = next[i].inFlight == entry[i].inFlight && next[i].laterGroups == entry[i].laterGroups &&
             next[i].arrivals == entry[i].arrivals;
    if (same)
      return runsAtLeastOnce(op) ? leave(std::move(end), op)
                                 : join(std::move(state), leave(std::move(end), op));
    entry = std::move(next);
  }
}

SyncCheck::State SyncCheck::walk(Block &block, State state) {
  for (Operation &op : block)
    state = step(op, std::move(state));
  return state;
}

SyncCheck::State SyncCheck::step(Operation &op, State state) {
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    State then = walk(branch.getThenRegion().front(), state);
    State otherwise =
        branch.getElseRegion().empty() ? state : walk(branch.getElseRegion().front(), state);
    return join(std::move(then), otherwise);
  }
  if (auto inner = dyn_cast<scf::ForOp>(op))
    return loop(inner, std::move(state));
  if (isa<SyncOp>(op)) {
    std::erase_if(state, [&](const PendingAccess &entry) { return !inFlightAt(entry, &op); });
  } else if (auto arriveOp = dyn_cast<ArriveOp>(op)) {
    arrive(arriveOp, state);
  } else if (auto waitOp = dyn_cast<WaitOp>(op)) {
    wait(waitOp, state);
  } else if (auto awaitOp = dyn_cast<AwaitOp>(op)) {
    await(awaitOp, state);
  } else {
    access(op, state);
  }
  return state;
}

void SyncCheck::arrive(ArriveOp op, State &state) {
  for (PendingAccess &entry : state) {
    if (!inFlightAt(entry, op)) {
      entry.arrivals.try_emplace(declaration(op.getBarrier()),
                                 linearOf(op.getGeneration(), op.getOffset()));
    } else if (entry.access.actor == Actor::BulkStore) {
      bool known = llvm::any_of(stores, [&](const StoreAtArrival &other) {
        return other.arrive == op && other.store.statement == entry.access.statement &&
               other.store.generation == entry.access.generation;
      });
      if (!known)
        stores.push_back({op, entry.access});
    }
  }
}

void SyncCheck::wait(WaitOp op, State &state) {
  Linear waited = linearOf(op.getGeneration(), op.getOffset());
  auto implied = chains.impliedFor(role, cast<BarrierOp>(declaration(op.getBarrier())));
  std::erase_if(state, [&](const PendingAccess &entry) {
    if (entry.access.actor == Actor::BulkLoad)
      return completes(op, entry);
    for (const BarrierChains::Implied &chain : implied) {
      auto arrival = entry.arrivals.find(chain.barrier);
      if (arrival == entry.arrivals.end())
        continue;
      auto ahead = difference(waited, arrival->second);
      if (!ahead || !chain.distance || *ahead + *chain.distance >= 0)
        return true;
    }
    return false;
  });
}

void SyncCheck::await(AwaitOp op, State &state) {
  // The store that a tile is awaited for; older ones have ended before it.
  int64_t newest = std::numeric_limits<int64_t>::max();
  if (op.getKind() == AwaitKind::Tile)
    for (const PendingAccess &entry : state)
      if (entry.access.actor == Actor::BulkStore && entry.inFlight && waitsFor(op, entry))
        newest = std::min(newest, entry.laterGroups);
  for (PendingAccess &entry : state) {
    auto copy = dyn_cast<CopyOp>(entry.access.statement);
    if (!copy || !entry.inFlight)
      continue;
    bool async = entry.access.actor == Actor::AsyncCopy,
         store = entry.access.actor == Actor::BulkStore;
    switch (op.getKind()) {
    case AwaitKind::Tile:
      entry.inFlight = !(store && entry.laterGroups >= newest);
      break;
    case AwaitKind::Tensor:
      entry.inFlight = !store; // until all stores of the role are complete
      break;
    case AwaitKind::CopyTma:
      entry.inFlight = !(store && entry.laterGroups >= static_cast<int64_t>(op.getKeep()));
      break;
    case AwaitKind::CopyAsync:
      entry.inFlight = !async;
      break;
    case AwaitKind::Fragment:
    case AwaitKind::Wgmma:
      break;
    }
  }
}

void SyncCheck::access(Operation &op, State &state) {
  if (auto map = dyn_cast<MapOp>(op))
    checkPoints(map);
  std::vector<SharedAccess> accesses = sharedAccesses(&op);
  for (const SharedAccess &later : accesses)
    meet(state, later);
  if (auto copy = dyn_cast<CopyOp>(op);
      copy && copy.getKind() == CopyKind::Tma && space(copy.getSource()) == Space::Shared)
    for (PendingAccess &entry : state)
      if (entry.access.actor == Actor::BulkStore)
        entry.laterGroups = std::min<int64_t>(entry.laterGroups + 1, maxShifts);
  for (auto [number, made] : llvm::enumerate(accesses)) {
    PendingAccess entry{
        made, number, 0, 0, !isSynchronous(made.actor) && made.actor != Actor::Product, 0, {}};
    auto older = llvm::find_if(state, [&](auto &other) { return other.sameAccess(entry); });
    if (older == state.end())
      state.push_back(entry);
    else
      *older = entry; // the newer one is further from being separated
  }
}

void SyncCheck::meet(State &state, const SharedAccess &later) {
  auto clash = [&](const PendingAccess &entry) {
    if ((!entry.access.write && !later.write) || !mayOverlap(entry.access, later) ||
        !overlapIsCertain(entry.access, later))
      return false;
    if (later.actor != Actor::BulkLoad)
      return true;
    // One lane issues all bulk copies: it knows what it awaited. Loads into the same slot are the
    // barriers' business.
    return entry.access.actor != Actor::BulkLoad &&
           !(entry.access.actor == Actor::BulkStore && !entry.inFlight);
  };
  auto found = llvm::find_if(llvm::reverse(state), clash);
  if (found == state.rend())
    return;
  PendingAccess earlier = *found;
  if (firstReport(later.statement, later.shared)) {
    if (earlier.access.actor == Actor::BulkLoad)
      reportWait(earlier, later);
    else if (inFlightAt(earlier, later.statement))
      reportAwait(earlier, later);
    else
      reportSync(earlier, later);
  }
  // As if the mistake were mended, so that it is reported once.
  std::erase_if(state, [&](const PendingAccess &entry) {
    return !inFlightAt(entry, later.statement) || entry.access.shared == later.shared;
  });
}

bool SyncCheck::run() {
  size_t before = context.diags.errorCount();
  reportEnd(walk(role.getBody().front(), {}));
  return context.diags.errorCount() == before;
}

bool checkSync(KernelOp kernel, Context &context) {
  BarrierChains chains(kernel);
  bool ok = true;
  for (auto role : kernel.getBody().front().getOps<RoleOp>())
    ok &= SyncCheck(role, chains, context).run();
  return ok;
}

} // namespace flashqla::passes
