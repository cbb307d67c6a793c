// Statements that write shared tiles.
#include "tests/random/compute_role.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace flashqla::random {

/// A tile of the role's own, with one slot for each instance.
View *ComputeRole::addPrivate(Type type, std::vector<std::int64_t> extents) {
  Tile *tile = kernel.addTile(type, std::move(extents), spec.instances);
  if (!tile)
    return nullptr;
  views.push_back({tile, spec.instances > 1 ? tile->name + "[w]" : tile->name, false, true});
  if (factor > 1)
    assumePending(*tile);
  return &views.back();
}

View *ComputeRole::tileTarget(std::vector<std::int64_t> extents, Type type) {
  std::vector<View *> known;
  for (View &view : views)
    if (view.writable && (extents.empty() || view.tile->extents == extents))
      known.push_back(&view);
  if (!known.empty() && random.chance(60))
    return random.pick(known);
  if (extents.empty()) {
    extents = {kernel.anyExtent(), kernel.anyExtent()};
    if (spec.warpgroups == 0)
      extents[0] = random.pick({8, 16, 32});
    if (random.chance(35))
      extents.erase(extents.begin());
  }
  return addPrivate(type, extents);
}

/// All elements from tiles, tensors and indices, or from a fragment of the same shape as well.
bool ComputeRole::mapTile() {
  View *target = tileTarget({}, kernel.anyType());
  if (!target)
    return false;
  beginReads();
  Tile &tile = *target->tile;
  const Names indices = indexNames(tile.extents.size());
  Fragment *place = nullptr;
  for (Fragment &fragment : fragments)
    if (fragment.written && fragment.extents == tile.extents && random.chance(50))
      place = &fragment;
  Expressions expressions(kernel);
  addLeaves(expressions, indices, tile.extents, place, &tile);
  if (tile.known && tile.number.exact())
    expressions.exactOnly();
  const std::vector<std::string> lets = addLet(expressions);
  Value value = expressions.value(static_cast<int>(random.between(1, 3)));
  if (!fit(expressions, value, tile.number, tile.known, tile.type))
    return false;
  std::string where;
  if (target->readable && random.chance(25)) {
    where = " where " + expressions.condition();
    kernel.feature("map.where");
  }
  std::vector<Access> accesses = reads();
  accesses.push_back({&tile, Use::Write});
  before(accesses, usedFragments, {});
  target->readable = true;
  emitMap(indices, tile.extents, lets, {fmt::format("{}[{}] = {}{}", target->text, fmt::join(indices, ", "), value.text, where)},
          true);
  kernel.feature("map.to-tile");
  return true;
}

/// Each point updates the element that it owns.
bool ComputeRole::updateTile() {
  std::vector<View *> known;
  for (View &view : views)
    if (view.writable && view.readable)
      known.push_back(&view);
  if (known.empty())
    return false;
  View &view = *random.pick(known);
  Tile &tile = *view.tile;
  beginReads();
  const Names indices = indexNames(tile.extents.size());
  const std::string element = fmt::format("{}[{}]", view.text, fmt::join(indices, ", "));
  Expressions expressions(kernel);
  addLeaves(expressions, indices, tile.extents, nullptr, &tile);
  expressions.leaf([&] { return Value{element, tile.number}; });
  if (tile.number.exact())
    expressions.exactOnly();
  Value value = expressions.value(2);
  if (!fit(expressions, value, tile.number, tile.known, tile.type))
    return false;
  std::vector<Access> accesses = reads();
  accesses.push_back({&tile, Use::Read});
  accesses.push_back({&tile, Use::Write});
  before(accesses, {}, {});
  if (tile.type == Type::F32 && random.chance(20))
    emitMap(indices, tile.extents, {}, {fmt::format("{} *= ({} ? 1.0 : 0.0)", element, expressions.condition())}, true);
  else
    emitMap(indices, tile.extents, {}, {fmt::format("{} = {}", element, value.text)}, true);
  kernel.feature("map.update-tile");
  return true;
}

/// `s0 = E(f0)`, or transposed by a map.
bool ComputeRole::writeFragment(Fragment &fragment, View &view, bool transposed) {
  Tile &tile = *view.tile;
  beginReads();
  Expressions expressions(kernel);
  const bool whole = !transposed && random.chance(60);
  const Names indices = indexNames(fragment.extents.size());
  Value value{whole ? fragment.name : fmt::format("{}[{}]", fragment.name, fmt::join(indices, ", ")), fragment.number};
  if (!fit(expressions, value, tile.number, tile.known, tile.type))
    return false;
  before({{&tile, Use::Write}}, {&fragment}, {});
  view.readable = true;
  if (whole) {
    emit(fmt::format("{} = {}", view.text, value.text));
  } else {
    std::vector<std::string> places = indices;
    if (transposed)
      std::swap(places[0], places[1]);
    emitMap(indices, fragment.extents, {}, {fmt::format("{}[{}] = {}", view.text, fmt::join(places, ", "), value.text)}, !transposed);
  }
  kernel.feature(transposed ? "tile.from-fragment-transposed" : "tile.from-fragment");
  return true;
}

bool ComputeRole::writeFragmentToTile() {
  std::vector<Fragment *> known = fragmentsOf(random.pick({1, 2, 2, 2}));
  if (known.empty())
    return false;
  Fragment &fragment = *random.pick(known);
  std::vector<std::int64_t> extents = fragment.extents;
  const bool transposed = extents.size() == 2 && random.chance(30);
  if (transposed)
    std::swap(extents[0], extents[1]);
  View *view = tileTarget(extents, random.pick({kernel.mainType, kernel.mainType, Type::F32}));
  return view && writeFragment(fragment, *view, transposed);
}

} // namespace flashqla::random
