#include "tests/random/compute_role.h"

#include <fmt/format.h>

#include <algorithm>

namespace flashqla::random {

ComputeRole::ComputeRole(Kernel &kernel, RoleSpec given)
    : kernel(kernel), random(kernel.random), spec(std::move(given)),
      instance{.name = "w", .extent = std::to_string(spec.instances), .most = spec.instances} {
  if (spec.instances > 1)
    uniforms.emplace_back("w", spec.instances);
  for (const Axis &axis : kernel.grid)
    uniforms.emplace_back(axis.name, axis.most);
  uniforms.insert(uniforms.end(), kernel.uniforms.begin(), kernel.uniforms.end());
}

std::vector<const Axis *> ComputeRole::axes() const {
  std::vector<const Axis *> all = stage == Stage::Inside ? kernel.axesInside() : kernel.axesOutside();
  if (spec.instances > 1)
    all.push_back(&instance);
  return all;
}

/// A block of statements with names of its own.
std::vector<Node> ComputeRole::block(const std::function<void()> &fill, std::int64_t trips) {
  std::vector<Node> body;
  std::vector<Node> *outer = std::exchange(out, &body);
  const size_t fragmentsBefore = fragments.size(), scalarsBefore = scalars.size(), uniformsBefore = uniforms.size();
  std::vector<std::pair<View *, bool>> readable;
  for (View &view : views)
    readable.emplace_back(&view, view.readable);
  factor *= trips;
  fill();
  factor /= trips;
  for (View &view : views) // what else is written here may not be on other ways
    view.readable = false;
  for (auto [view, before] : readable)
    view->readable = before;
  while (fragments.size() > fragmentsBefore) {
    liveRegisters -= fragments.back().registers;
    fragments.pop_back();
  }
  scalars.resize(scalarsBefore);
  uniforms.resize(uniformsBefore);
  out = outer;
  return body;
}

bool ComputeRole::branch(int depth) {
  Expressions expressions(kernel);
  addUniforms(expressions);
  if (random.chance(60))
    awaitProducts();
  const std::string condition = expressions.condition();
  const std::vector<Group> groupsBefore = groups;
  const std::vector<Pending> pendingBefore = pending;
  const bool products = std::exchange(mayProduct, mayProduct && groups.empty()), stores = std::exchange(mayStore, false);
  const size_t viewsBefore = views.size();
  bool changed = false;
  auto arm = [&] {
    groups = groupsBefore;
    pending = pendingBefore;
    assumeNew(viewsBefore);
    std::vector<Node> body = block([&] {
      actions(random.between(1, 3), depth - 1);
      if (groupsBefore.empty())
        awaitProducts();
      awaitCopies();
    });
    changed |= groups.size() != groupsBefore.size();
    return body;
  };
  Node node = Node::braces("if " + condition);
  node.body = arm();
  std::vector<Pending> after = pending;
  if (random.chance(40)) {
    node.hasElse = true;
    node.otherwise = arm();
    after = joined(after, pending);
  } else {
    after = joined(after, pendingBefore);
  }
  pending = after;
  assumeNew(viewsBefore);
  groups = groupsBefore;
  groupsJoined = groupsJoined || changed;
  mayProduct = products;
  mayStore = stores;
  if (node.body.empty() && node.otherwise.empty())
    return false;
  if (!node.hasElse && random.chance(15)) { // decided when compiling: nobody looks at the other arm
    node.text = "if " + kernel.flag();
    node.hasElse = true;
    node.otherwise.push_back(Node::line("nothing[0] = nowhere"));
    kernel.feature("branch.static");
  }
  out->push_back(std::move(node));
  kernel.feature("branch");
  return true;
}

bool ComputeRole::innerLoop(int depth) {
  awaitProducts();
  if (storesInFlight())
    awaitStores(nullptr);
  const std::int64_t trips = random.between(1, 3);
  const std::string name = kernel.fresh("e");
  const bool unroll = random.chance(40);
  const std::vector<Pending> before = pending;
  const size_t viewsBefore = views.size();
  for (View &view : views)
    if (view.writable)
      assumePending(*view.tile);
  const bool stores = std::exchange(mayStore, false);
  Node node = Node::braces(fmt::format("for {} in 0 .. {}{}", name, trips, unroll ? " unroll" : ""));
  node.body = block(
      [&] {
        uniforms.emplace_back(name, trips);
        actions(random.between(1, 3), depth - 1);
        awaitProducts();
        awaitCopies();
      },
      trips);
  mayStore = stores;
  pending = joined(before, pending);
  assumeNew(viewsBefore);
  if (node.body.empty())
    return false;
  out->push_back(std::move(node));
  kernel.feature(unroll ? "loop.unrolled" : "loop.inner");
  return true;
}

bool ComputeRole::action(int depth) {
  if (depth > 0 && random.chance(10))
    return branch(depth);
  if (depth > 1 && random.chance(6))
    return innerLoop(depth);
  if (spec.products && mayProduct && random.chance(40))
    return product();
  switch (random.below(16)) {
  case 0:
  case 1:
  case 2:
  case 3:
    return mapFragment();
  case 4:
    return wholeTile();
  case 5:
    return mapTile();
  case 6:
    return updateTile();
  case 7:
    return writeFragmentToTile();
  case 8:
    return reduceToVector();
  case 9:
    return random.chance(50) ? reduceToScalar() : uniformElement();
  case 10:
    return random.chance(15) ? inverse() : scan();
  case 11:
    return loadFragment();
  case 12:
    return loadTile();
  case 13:
    return mayStore && ownLoad();
  case 14:
    return mayStore && (random.chance(50) ? outputTile() : updateTensor());
  default:
    return random.chance(70) ? counter() : indexTable();
  }
}

void ComputeRole::actions(std::int64_t count, int depth) {
  for (std::int64_t tries = 0; count > 0 && tries < 12; ++tries)
    count -= action(depth);
}

/// A variable that counts trips.
bool ComputeRole::counter() {
  if (!sumName.empty() && stage == Stage::Inside && factor == kernel.loop.mostTrips && mayStore && random.chance(50)) {
    std::vector<Value> known;
    for (const Value &scalar : scalars)
      if (scalar.number.exact() && scalar.text != sumName)
        known.push_back(scalar);
    Expressions expressions(kernel);
    addUniforms(expressions);
    expressions.exactOnly();
    for (const Value &scalar : known)
      expressions.leaf([scalar] { return scalar; });
    emit(fmt::format("{} += {}", sumName, expressions.settled(expressions.value(1), 2, 2).text));
    sumName.clear();
    return true;
  }
  if (counterName.empty() || stage != Stage::Inside || factor != kernel.loop.mostTrips || !mayStore)
    return false;
  Expressions expressions(kernel);
  addUniforms(expressions);
  Node node = Node::line(counterName + " += 1");
  if (random.chance(50)) {
    Node branch = Node::braces("if " + expressions.condition());
    branch.body.push_back(std::move(node));
    node = std::move(branch);
  }
  out->push_back(std::move(node));
  kernel.feature("variable");
  counterName.clear(); // once a trip
  return true;
}

void ComputeRole::take(Channel &channel) {
  emit(kernel.wait(channel));
  const bool alone = channel.consumers.size() == 1 && spec.instances == 1;
  for (Tile *tile : channel.tiles) {
    std::erase_if(pending, [&](const Pending &access) { return access.tile == tile; });
    views.push_back({tile, kernel.tileText(*tile, channel), true, alone && random.chance(25)});
  }
}

void ComputeRole::giveBack(Channel &channel) {
  for (Tile *tile : channel.tiles) {
    settleTile(*tile);
    for (View &view : views)
      if (view.tile == tile)
        view.readable = view.writable = false;
  }
  if (channel.stage == Stage::Inside)
    emit(kernel.release(channel));
}

/// What must be over where a trip or the role ends.
void ComputeRole::endOfBody(bool loop) {
  awaitProducts();
  awaitCopies();
  if (storesInFlight() && !(loop && storesInLoop))
    awaitStores(nullptr);
}

/// One trip: takes from the channels, computes, gives back.
std::vector<Node> ComputeRole::loopBody() {
  return block(
      [&] {
        std::vector<Channel *> open;
        for (Channel *channel : spec.inputs)
          if (channel->stage == Stage::Inside)
            open.push_back(channel);
        random.shuffle(open);
        std::vector<Channel *> taken;
        for (const Axis &axis : kernel.loop.axes)
          uniforms.emplace_back(axis.name, axis.most);
        for (std::int64_t left = random.between(2, 7); left > 0 || !open.empty(); --left) {
          while (!open.empty() && (left <= 1 || random.chance(60))) {
            take(*open.back());
            taken.push_back(open.back());
            open.pop_back();
          }
          actions(1, 2);
        }
        for (Fragment *fragment : ofThisBody())
          if (random.chance(60))
            output(*fragment);
        random.shuffle(taken);
        for (Channel *channel : taken)
          giveBack(*channel);
        endOfBody(true);
      },
      kernel.loop.mostTrips);
}

std::vector<Fragment *> ComputeRole::ofThisBody() {
  std::vector<Fragment *> found;
  for (Fragment &fragment : fragments)
    if (fragment.factor == factor && fragment.written)
      found.push_back(&fragment);
  return found;
}

} // namespace flashqla::random
