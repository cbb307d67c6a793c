/// Tiles between two roles: handed back too early, or read without a wait.
///
/// A role W that fills a tile waits first for the barriers that say it is free, and then arrives
/// at, or attaches its copy to, one that says it is full:
///
///     W:  wait empty[k - 4]           T[k] <- …  => full[k]
///     R:  wait full[k]                wgmma … T[k]            arrive empty[k - 1]
///
/// T[g] takes the slot of T[g - 4], for which W waited with empty[g - 4]. So R's arrival at
/// empty[x] gives up T[x]: an error while something of R in flight may read T[x] or an older one. A
/// tile that is no ring has no generations of its own; they are counted by W's loop, and R finds
/// them by the full barrier. Where a tile is guarded by several barriers of R, it is given up by
/// the last of their arrivals.
#include "compiler/passes/check_sync.h"

using namespace mlir;
using namespace flashqla::tile;

namespace flashqla::passes {
namespace {

/// A wait before a write: generation `generation + distance` of the barrier lets the tile's
/// `generation` be written.
struct Guard {
  Operation *barrier;
  int64_t distance;
  WaitOp wait;
};

/// Where a role fills a tile.
struct Filling {
  SharedAccess access;
  RoleOp role;
  SmallVector<Guard> guards;
  Operation *full = nullptr; ///< barrier that announces it …
  int64_t fullDistance = 0;  ///< … at generation `generation + fullDistance`
};

/// What the generation of a filling is counted by: the tile's own, or that of the loop around it.
Linear countedBy(const SharedAccess &access) {
  SharedOp shared = access.shared;
  if (shared.getType().getSlots() > 1 || !access.generation.terms.empty())
    return access.generation;
  auto loop = access.statement->getParentOfType<scf::ForOp>();
  return loop ? linearOf(loop.getInductionVar()) : Linear();
}

class ReleaseCheck {
public:
  ReleaseCheck(KernelOp kernel, Context &context)
      : kernel(kernel), context(context), chains(kernel) {}
  bool run();

private:
  void collect(RoleOp role);
  void addFilling(RoleOp role, const SharedAccess &access);
  void checkRole(RoleOp role);
  void checkArrive(ArriveOp arrive, const SharedAccess &read, int64_t lag);
  void checkStores(RoleOp role);
  std::optional<Linear> generationRead(const SharedAccess &read, const Filling &filling);
  const Guard *released(ArriveOp arrive, const Filling &filling, const Linear &next);
  bool arrivedBefore(ArriveOp arrive, const Guard &guard, const Linear &needed);
  void report(ArriveOp arrive, const SharedAccess &read, const Filling &filling, const Guard &guard,
              int64_t excess);
  void checkWaits(RoleOp role);
  void checkRead(RoleOp role, const SharedAccess &read);

  KernelOp kernel;
  Context &context;
  BarrierChains chains;
  std::vector<Filling> fillings;
  std::set<std::pair<Operation *, Operation *>> reported;
};

void ReleaseCheck::addFilling(RoleOp role, const SharedAccess &access) {
  Filling filling{access, role, {}, nullptr, 0};
  Linear generation = countedBy(access);
  role.walk([&](WaitOp wait) {
    if (!precedes(wait, access.statement))
      return;
    if (auto apart = difference(linearOf(wait.getGeneration(), wait.getOffset()), generation))
      filling.guards.push_back({declaration(wait.getBarrier()), *apart, wait});
  });
  auto announce = [&](Value barrier, Value base, int64_t offset) {
    auto apart = difference(linearOf(base, offset), generation);
    if (!apart || filling.full)
      return;
    filling.full = declaration(barrier);
    filling.fullDistance = *apart;
  };
  if (auto copy = dyn_cast<CopyOp>(access.statement); copy && copy.getBarrier()) {
    announce(copy.getBarrier(), copy.getGeneration(), copy.getOffset());
  } else {
    role.walk([&](ArriveOp arrive) {
      if (precedes(access.statement, arrive))
        announce(arrive.getBarrier(), arrive.getGeneration(), arrive.getOffset());
    });
  }
  fillings.push_back(std::move(filling));
}

void ReleaseCheck::collect(RoleOp role) {
  role.walk([&](Operation *op) {
    for (const SharedAccess &access : sharedAccesses(op))
      if (access.write && !isa<InverseOp>(op))
        addFilling(role, access);
  });
}

/// The generation that a read finds, in terms of its role's values.
std::optional<Linear> ReleaseCheck::generationRead(const SharedAccess &read,
                                                   const Filling &filling) {
  SharedOp shared = read.shared;
  if (shared.getType().getSlots() > 1 || !read.generation.terms.empty())
    return read.generation;
  std::optional<Linear> found;
  read.statement->getParentOfType<RoleOp>().walk([&](WaitOp wait) {
    if (declaration(wait.getBarrier()) == filling.full && precedes(wait, read.statement))
      found = linearOf(wait.getGeneration(), wait.getOffset()).plus(-filling.fullDistance);
  });
  return found;
}

/// Whether the role has arrived at that generation of another guard when it comes to this arrival.
bool ReleaseCheck::arrivedBefore(ArriveOp arrive, const Guard &guard, const Linear &needed) {
  bool found = false;
  arrive->getParentOfType<RoleOp>().walk([&](ArriveOp other) {
    if (declaration(other.getBarrier()) != guard.barrier)
      return;
    Linear arrived = linearOf(other.getGeneration(), other.getOffset());
    if (!precedes(other, arrive)) {
      auto loop = dyn_cast<scf::ForOp>(other->getParentOp());
      if (!loop || !loop->isAncestor(arrive))
        return;
      if (other != arrive)
        arrived = afterIteration(arrived, loop);
    }
    found |= difference(arrived, needed).value_or(-1) >= 0;
  });
  return found;
}

/// The guard of this arrival's barrier, if with it the role has arrived at all that the next
/// filling of the slot waits for.
const Guard *ReleaseCheck::released(ArriveOp arrive, const Filling &filling, const Linear &next) {
  const Guard *here = nullptr;
  for (const Guard &guard : filling.guards) {
    auto barrier = cast<BarrierOp>(guard.barrier);
    RoleOp role = arrive->getParentOfType<RoleOp>();
    if (!llvm::is_contained(barrier.getArrivers().getAsValueRange<StringAttr>(), role.getName()))
      continue;
    Linear needed = next.plus(guard.distance);
    bool own = guard.barrier == declaration(arrive.getBarrier());
    Linear arrived = linearOf(arrive.getGeneration(), arrive.getOffset());
    if (own ? difference(arrived, needed).value_or(-1) < 0 : !arrivedBefore(arrive, guard, needed))
      return nullptr;
    if (own)
      here = &guard;
  }
  return here;
}

void ReleaseCheck::checkArrive(ArriveOp arrive, const SharedAccess &read, int64_t lag) {
  RoleOp role = arrive->getParentOfType<RoleOp>();
  SharedOp shared = read.shared;
  auto loop = read.statement->getParentOfType<scf::ForOp>();
  for (const Filling &filling : fillings) {
    if (filling.access.shared != shared || filling.role == role ||
        !boxesMayOverlap(filling.access, read))
      continue;
    auto generation = generationRead(read, filling);
    if (!generation)
      continue;
    for (int64_t count = 0; count < lag && loop; ++count)
      generation = afterIteration(*generation, loop);
    Linear next = generation->plus(shared.getType().getSlots());
    const Guard *guard = released(arrive, filling, next);
    if (!guard || !reported.insert({arrive, read.statement}).second)
      continue;
    Linear arrived = linearOf(arrive.getGeneration(), arrive.getOffset());
    return report(arrive, read, filling, *guard, *difference(arrived, next.plus(guard->distance)));
  }
}

/// `base - n` as the author would write the generation of an earlier arrival; empty where it is not
/// a plain one.
std::string earlierGeneration(const Context &context, ArriveOp arrive, int64_t back) {
  std::string_view text = context.files.range(arrive.getOperation()).text();
  size_t open = text.find('['), close = text.rfind(']');
  if (open == std::string_view::npos || close == std::string_view::npos)
    return "";
  std::string_view base = text.substr(open + 1, close - open - 1);
  if (base.find_first_of("+-*/%?( ") != std::string_view::npos)
    return "";
  return fmt::format("{}{} - {}]", text.substr(0, open + 1), base, back);
}

void ReleaseCheck::report(ArriveOp arrive, const SharedAccess &read, const Filling &filling,
                          const Guard &guard, int64_t excess) {
  bool store = isa<CopyOp>(read.statement);
  SharedOp shared = read.shared;
  int64_t slots = shared.getType().getSlots();
  RoleOp filler = filling.role;
  auto builder = context.report(DiagnosticKind::ReleaseInFlight, arrive,
                                fmt::format("{} is handed back while a {} is still reading it",
                                            named(context, read), store ? "bulk store" : "wgmma"));
  builder
      .primary(slots > 1
                   ? fmt::format("`{}` may overwrite its slot, one of {}, from here on",
                                 filler.getName().str(), slots)
                   : fmt::format("`{}` may overwrite it from here on", filler.getName().str()))
      .label(rangeOf(context, read), store ? "read by this store" : "read by this group")
      .label(context.files.range(WaitOp(guard.wait).getOperation()),
             fmt::format("`{}` waits for this before it writes", filler.getName().str()));
  AwaitOp rolling; // one that leaves groups in flight on purpose
  for (Operation *op = arrive->getPrevNode(); op && !rolling; op = op->getPrevNode())
    if (auto await = dyn_cast<AwaitOp>(op);
        await && await.getKind() == (store ? AwaitKind::CopyTma : AwaitKind::Wgmma))
      rolling = await;
  std::string earlier =
      rolling && rolling.getKeep() > 0
          ? earlierGeneration(context, arrive, excess + static_cast<int64_t>(rolling.getKeep()))
          : "";
  if (rolling && rolling.getKeep() > 0)
    builder.label(context.files.range(rolling.getOperation()),
                  rolling.getKeep() > 1 ? fmt::format("{} groups may remain", static_cast<int64_t>(rolling.getKeep()))
                  : earlier.empty()     ? "one group may remain"
                                        : "one group may remain: this one");
  auto ring = cast<BarrierOp>(declaration(WaitOp(guard.wait).getBarrier()));
  if (int64_t generations = ring.getType().getSlots(); slots < generations)
    builder.note(fmt::format("`{}` is a ring of {}, `{}` one of {}", shared.getName().str(), slots,
                             ring.getName().str(), generations));
  if (!earlier.empty()) {
    builder.help(fmt::format("hand back an older tile: `{}`", earlier));
    return;
  }
  auto product = dyn_cast<WgmmaOp>(read.statement);
  std::string awaited = product ? cast<FragOp>(declaration(product.getTarget())).getName().str()
                                : shared.getName().str();
  builder.help(fmt::format("add `await {}` before line {}", awaited,
                           firstLine(context.files.range(arrive.getOperation()))));
}

/// The walk of check_sync.cpp knows which stores may still be reading at an arrival; what it
/// reports, it has reported.
void ReleaseCheck::checkStores(RoleOp role) {
  Diagnostics unused;
  Context quiet{context.files, unused};
  SyncCheck walk(role, chains, quiet);
  walk.run();
  for (const StoreAtArrival &found : walk.storesAtArrivals())
    checkArrive(found.arrive, found.store, 0);
}

void ReleaseCheck::checkRole(RoleOp role) {
  InFlight flight(role);
  role.walk([&](ArriveOp arrive) {
    role.walk([&](WgmmaOp product) {
      for (auto [instance, distance] : flight.before(arrive))
        if (instance.product == product)
          for (const SharedAccess &read : sharedAccesses(product))
            checkArrive(arrive, read, instance.lag);
    });
  });
  checkStores(role);
}

/// A role that reads what only bulk loads write waits for their barrier.
void ReleaseCheck::checkRead(RoleOp role, const SharedAccess &read) {
  const Filling *load = nullptr;
  for (const Filling &filling : fillings) {
    if (filling.access.shared != read.shared || !boxesMayOverlap(filling.access, read))
      continue;
    if (filling.access.actor != Actor::BulkLoad || filling.role == role)
      return; // perhaps what another role made of the tile; own copies: check_sync.cpp
    load = &filling;
  }
  if (!load)
    return;
  Operation *barrier = declaration(cast<CopyOp>(load->access.statement).getBarrier());
  bool waited = false, anywhere = false;
  role.walk([&](WaitOp wait) {
    if (declaration(wait.getBarrier()) != barrier)
      return;
    anywhere = true;
    auto loop = dyn_cast<scf::ForOp>(wait->getParentOp());
    bool reaches = precedes(wait, read.statement) || (loop && loop->isAncestor(read.statement)) ||
                   wait->getBlock() != read.statement->getBlock();
    SharedOp shared = read.shared;
    bool ring = shared.getType().getSlots() > 1 && load->full;
    int64_t ahead = 0;
    if (ring)
      if (auto apart = difference(linearOf(wait.getGeneration(), wait.getOffset()),
                                  read.generation.plus(load->fullDistance))) {
        ahead = *apart;
        // A wait of an earlier iteration counts for the generations that it names.
        if (!precedes(wait, read.statement) && loop && loop->isAncestor(read.statement))
          ahead -= growth(linearOf(wait.getGeneration()), loop).value_or(0);
      }
    waited |= reaches && ahead >= 0;
  });
  if (waited || !reported.insert({read.statement, read.shared}).second)
    return;
  std::string name = cast<BarrierOp>(barrier).getName().str();
  context.diags
      .report(DiagnosticKind::MissingWait, rangeOf(context, read),
              anywhere
                  ? fmt::format("{} is read, but `{}` has not waited for that generation of `{}`",
                                named(context, read), role.getName().str(), name)
                  : fmt::format("`{}` reads {} without a wait for `{}`", role.getName().str(),
                                named(context, read), name))
      .label(context.files.range(load->access.statement),
             fmt::format("filled by this copy, which completes on `{}`", name))
      .help(fmt::format("wait for `{}` before line {}", name,
                        firstLine(context.files.range(read.statement))));
}

void ReleaseCheck::checkWaits(RoleOp role) {
  role.walk([&](Operation *op) {
    if (op->getParentOfType<MapOp>() || op->getParentOfType<ReduceOp>())
      return; // part of the statement around it
    for (const SharedAccess &read : sharedAccesses(op))
      if (!read.write)
        checkRead(role, read);
  });
}

bool ReleaseCheck::run() {
  size_t before = context.diags.errorCount();
  for (auto role : kernel.getBody().front().getOps<RoleOp>())
    collect(role);
  for (auto role : kernel.getBody().front().getOps<RoleOp>()) {
    checkRole(role);
    checkWaits(role);
  }
  return context.diags.errorCount() == before;
}

} // namespace

bool checkRelease(KernelOp kernel, Context &context) { return ReleaseCheck(kernel, context).run(); }

} // namespace flashqla::passes
