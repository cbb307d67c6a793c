#include "compiler/passes/in_flight.h"

using namespace mlir;
using namespace flashqla::tile;

namespace flashqla::passes {
namespace {

// Distances beyond this are not told apart; 15 groups are more than any kernel keeps in flight.
constexpr int maxDistance = 64;

InFlight::State join(InFlight::State a, const InFlight::State &b) {
  for (auto [instance, distance] : b) {
    auto [entry, fresh] = a.try_emplace(instance, distance);
    if (!fresh)
      entry->second = std::min(entry->second, distance);
  }
  return a;
}

bool targets(Operation *product, Value fragment) {
  return declaration(cast<WgmmaOp>(product).getTarget()) == declaration(fragment);
}

} // namespace

InFlight::InFlight(RoleOp role) { end = walk(role.getBody().front(), {}); }

const InFlight::State &InFlight::before(Operation *op) const {
  static const State nothing;
  auto found = states.find(op);
  return found == states.end() ? nothing : found->second;
}

void InFlight::record(Operation *op, const State &state) {
  State &known = states[op];
  known = join(std::move(known), state);
}

InFlight::State InFlight::walk(Block &block, State state) {
  for (Operation &op : block)
    state = step(op, std::move(state));
  return state;
}

int64_t InFlight::keptBy(AwaitOp await) const {
  if (await.getKind() == AwaitKind::Wgmma)
    return await.getKeep();
  int kept = maxDistance;
  for (auto [instance, distance] : before(await))
    if (targets(instance.product, await.getTarget()))
      kept = std::min(kept, distance);
  return kept;
}

std::vector<Operation *> InFlight::retiredBy(AwaitOp await) const {
  int64_t kept = keptBy(await);
  std::vector<Operation *> retired;
  for (auto [instance, distance] : before(await)) {
    Operation *frag = declaration(cast<WgmmaOp>(instance.product).getTarget());
    bool stays = false;
    for (auto [other, otherDistance] : before(await))
      stays |= otherDistance < kept && targets(other.product, frag->getResult(0));
    if (!stays && !llvm::is_contained(retired, frag))
      retired.push_back(frag);
  }
  // In the order of the text, so that the emitted text is stable.
  llvm::sort(retired, [](Operation *a, Operation *b) { return a->getBlock() == b->getBlock() ? a->isBeforeInBlock(b) : a->getBlock()->getParentOp()->isProperAncestor(b); });
  return retired;
}

InFlight::State InFlight::step(Operation &op, State state) {
  record(&op, state);
  if (isa<WgmmaOp>(op)) {
    State next;
    for (auto [instance, distance] : state)
      next[instance] = std::min(distance + 1, maxDistance);
    next[{&op, 0}] = 0;
    return next;
  }
  if (auto await = dyn_cast<AwaitOp>(op)) {
    bool counts = await.getKind() == AwaitKind::Wgmma || await.getKind() == AwaitKind::Fragment;
    if (!counts)
      return state;
    int64_t kept = await.getKind() == AwaitKind::Wgmma ? await.getKeep() : maxDistance;
    if (await.getKind() == AwaitKind::Fragment)
      for (auto [instance, distance] : state)
        if (targets(instance.product, await.getTarget()))
          kept = std::min<int64_t>(kept, distance);
    std::erase_if(state, [&](auto &entry) { return entry.second >= kept; });
    return state;
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    State then = walk(branch.getThenRegion().front(), state);
    State otherwise = branch.getElseRegion().empty() ? state : walk(branch.getElseRegion().front(), state);
    return join(std::move(then), otherwise);
  }
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    State entry = state;
    for (;;) {
      State end = walk(*loop.getBody(), entry), next = state;
      // One iteration older, where the product belongs to the loop.
      State older;
      for (auto [instance, distance] : end) {
        ProductInstance aged = instance;
        if (instance.product->getParentOfType<scf::ForOp>() == loop)
          aged.lag = std::min(aged.lag + 1, maxLag);
        auto [place, fresh] = older.try_emplace(aged, distance);
        if (!fresh)
          place->second = std::min(place->second, distance);
      }
      next = join(std::move(next), older);
      if (next == entry) // what leaves the loop: nothing was run, or its last iteration
        return join(std::move(state), end);
      entry = std::move(next);
    }
  }
  return state;
}

} // namespace flashqla::passes
