// The parts of a role: before the loop, its trips, behind it.
#include "tests/random/compute_role.h"

#include <fmt/format.h>

#include <algorithm>

namespace flashqla::random {

void ComputeRole::carried() {
  const std::int64_t count = random.between(0, 2);
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<std::int64_t> extents = {kernel.anyExtent(), kernel.anyExtent()};
    if (spec.products)
      extents[0] = 64 * spec.warpgroups;
    else if (random.chance(40))
      extents.erase(extents.begin());
    Fragment *fragment = addFragment(Type::F32, extents, random.chance(80) ? "0" : "0.5");
    if (!fragment)
      continue;
    const int fraction = static_cast<int>(random.between(2, 6));
    fragment->number = random.chance(60) ? Number{fraction, exactBits - 1 - fraction, 0} : Number{2, 3, 0};
    kernel.feature("fragment.carried");
  }
}

void ComputeRole::prologue() {
  if (random.chance(25)) {
    counterName = kernel.fresh("count");
    emit(fmt::format("var {} = 0", counterName));
    uniforms.emplace_back(counterName, kernel.loop.mostTrips + 1);
  }
  if (kernel.loop.kind != LoopKind::None) {
    carried();
    if (random.chance(20)) {
      sumName = kernel.fresh("sum");
      emit(fmt::format("var {} = 0.0", sumName));
      scalars.push_back({sumName, {2, 2 + log2Ceil(kernel.loop.mostTrips), 0}});
      kernel.feature("variable.float");
    }
  }
  for (Channel *channel : spec.inputs)
    if (channel->stage == Stage::Before)
      take(*channel);
  actions(random.between(0, 2), 1);
}

void ComputeRole::epilogue() {
  stage = Stage::After;
  for (Channel *channel : spec.inputs)
    if (channel->stage == Stage::After)
      take(*channel);
  actions(random.between(0, 2), 1);
  for (Fragment *fragment : ofThisBody())
    if (random.chance(85))
      output(*fragment);
  endOfBody(false);
}

void ComputeRole::loop() {
  endOfBody(false);
  stage = Stage::Inside;
  std::vector<Node> rolling;
  if (rollingBody(rolling)) {
    for (Node &node : kernel.loop.around(std::move(rolling)))
      out->push_back(std::move(node));
    emit("await wgmma");
    return;
  }
  storesInLoop = random.chance(40);
  const std::vector<Pending> before = pending;
  for (View &view : views)
    if (view.writable)
      assumePending(*view.tile);
  for (Node &node : kernel.loop.around(loopBody()))
    out->push_back(std::move(node));
  pending = joined(before, pending);
}

Node ComputeRole::generate() {
  Node role = Node::braces({});
  role.role = spec.name;
  out = &role.body;
  if (kernel.loop.kind == LoopKind::None)
    stage = Stage::Before;
  prologue();
  loop();
  epilogue();
  pruneAwaits(role.body);
  return role;
}

namespace {

bool stores(const std::vector<Node> &nodes, const std::string &tile) {
  return std::ranges::any_of(nodes, [&](const Node &node) {
    const size_t arrow = node.text.find("<- ");
    const bool bulk = node.text.starts_with("copy.tma ") && arrow != std::string::npos && node.text.find("=>") == std::string::npos;
    return (bulk && (tile.empty() || mentions(node.text.substr(arrow), tile))) || stores(node.body, tile) ||
           stores(node.otherwise, tile);
  });
}

void prune(std::vector<Node> &nodes, const std::vector<Node> &role) {
  std::erase_if(nodes, [&](const Node &node) {
    return !node.awaitedTile.empty() && !stores(role, node.awaitedTile == "*" ? "" : node.awaitedTile);
  });
  for (Node &node : nodes) {
    prune(node.body, role);
    prune(node.otherwise, role);
  }
}

} // namespace

/// Awaits that were written for stores which the end of a loop's body might have had.
void ComputeRole::pruneAwaits(std::vector<Node> &body) {
  const std::vector<Node> whole = body;
  prune(body, whole);
}

} // namespace flashqla::random
