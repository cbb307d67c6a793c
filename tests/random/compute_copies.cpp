// Copies between tensors, tiles and fragments; what a role leaves behind.
#include "tests/random/compute_role.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace flashqla::random {

bool ComputeRole::loadFragment() {
  if (kernel.program.arguments.size() >= 12)
    return false;
  Fragment *target = chooseTarget();
  if (!target)
    return false;
  TensorSpec tensor{.type = kernel.anyType(), .extents = target->extents, .axes = axes()};
  tensor.number = kernel.inputNumber();
  if (target->written && (tensor.number.fraction > target->number.fraction || tensor.number.magnitude > target->number.magnitude - 1))
    return false;
  const std::optional<TensorUse> use = kernel.tensor(tensor);
  if (!target->written) {
    target->number = tensor.number;
    target->number.magnitude += 2;
  }
  target->written = true;
  target->used = 0;
  before({}, {}, {target});
  const bool narrows = target->type != Type::F32 && tensor.type != target->type;
  const std::string window = use->window();
  emit(fmt::format("copy {} <- {}", target->name, narrows ? fmt::format("{}({})", kernel.text(target->type), window) : window));
  kernel.feature("copy.to-fragment");
  return true;
}

bool ComputeRole::loadTile() {
  if (kernel.program.arguments.size() >= 12)
    return false;
  const bool async = random.chance(50);
  View *view = tileTarget({}, kernel.anyType());
  if (!view)
    return false;
  Tile &tile = *view->tile;
  TensorSpec tensor{.type = async ? tile.type : kernel.anyType(), .extents = tile.extents, .axes = axes(), .aligned = async};
  tensor.number = kernel.inputNumber();
  if (tile.known && (tensor.number.fraction > tile.number.fraction || tensor.number.magnitude > tile.number.magnitude))
    return false;
  const std::optional<TensorUse> use = kernel.tensor(tensor);
  if (!tile.known)
    tile.number = tensor.number;
  tile.known = true;
  before({{&tile, async ? Use::Async : Use::Write}}, {}, {});
  view->readable = true;
  const bool narrows = tile.type != Type::F32 && tensor.type != tile.type;
  auto copy = [&](const std::string &to, const std::string &from) {
    emit(fmt::format("copy{} {} <- {}", async ? ".async" : "", to,
                     narrows ? fmt::format("{}({})", kernel.text(tile.type), from) : from));
  };
  if (tile.extents.size() == 2 && tile.extents[0] >= 16 && random.chance(20)) {
    const std::int64_t first = 8 * random.between(1, tile.extents[0] / 8 - 1), rest = tile.extents[0] - first;
    copy(fmt::format("{}[0 +: {}, :]", view->text, first), use->window(0, 0, first));
    copy(fmt::format("{}[{} +: {}, :]", view->text, first, rest), use->window(0, first, rest));
    kernel.feature("copy.in-parts");
  } else {
    copy(view->text, use->window());
  }
  kernel.feature(async ? "copy.async" : "copy.to-tile");
  return true;
}

/// A bulk load that the role waits for itself.
bool ComputeRole::ownLoad() {
  if (kernel.program.arguments.size() >= 12 || spec.instances > 1)
    return false;
  View *view = addPrivate(kernel.anyType(), {kernel.anyExtent(), kernel.anyExtent()});
  if (!view)
    return false;
  Tile &tile = *view->tile;
  TensorSpec tensor{.type = tile.type, .extents = tile.extents, .axes = axes(), .bulk = true};
  tensor.number = tile.number = kernel.inputNumber();
  tile.known = true;
  const std::optional<TensorUse> use = kernel.tensor(tensor);
  const Channel own{.full = kernel.fresh("own"), .free = {}, .stage = stage, .producer = spec.name};
  kernel.program.barriers.push_back({own.full, 1, {spec.name}, {spec.name}});
  const std::string at = fmt::format("{}[{}]", own.full, kernel.generation(own));
  before({{&tile, Use::Write}}, {}, {});
  emit(fmt::format("copy.tma {} <- {} => {}", view->text, use->window(), at));
  emit("arrive " + at);
  emit("wait " + at);
  std::erase_if(pending, [&](const Pending &access) { return access.tile == &tile; });
  view->readable = true;
  kernel.feature("copy.own-bulk-load");
  return true;
}

/// Out of a fragment: by a copy, by a map, through a tile, or to another role.
bool ComputeRole::output(Fragment &fragment) {
  if (!spec.store.empty() && random.chance(40) && send(fragment))
    return true;
  if (!spec.later.empty() && random.chance(40) && send(fragment))
    return true;
  if (kernel.program.arguments.size() >= 16)
    return false;
  const int way = static_cast<int>(random.below(3));
  if (way == 0) {
    View *view = tileTarget(fragment.extents, kernel.anyType());
    return view && writeFragment(fragment, *view, false) && storeTile(*view);
  }
  beginReads();
  Expressions expressions(kernel);
  const Names indices = indexNames(fragment.extents.size());
  const bool copies = way == 1;
  const Type type = kernel.anyType();
  Value value{copies ? fragment.name : fmt::format("{}[{}]", fragment.name, fmt::join(indices, ", ")), fragment.number};
  if (!holds(type, value.number) || (copies && fragment.type != Type::F32 && type != fragment.type))
    return false;
  value = expressions.stored(value, type);
  TensorSpec tensor{.type = type, .extents = fragment.extents, .axes = axes(), .writes = true, .reads = false};
  tensor.copies = copies;
  tensor.number = value.number;
  const std::optional<TensorUse> use = kernel.tensor(tensor);
  if (!use)
    return false;
  before({}, {&fragment}, {});
  if (copies) {
    emit(fmt::format("copy {} <- {}", use->window(), fragment.type == type ? fragment.name : value.text));
    kernel.feature("copy.from-fragment");
    return true;
  }
  const std::string guard = use->guard(indices);
  emitMap(indices, fragment.extents, {},
          {fmt::format("{} = {}{}", use->element(indices), value.text, guard.empty() ? "" : " where " + guard)}, false);
  kernel.feature("map.to-tensor");
  return true;
}

bool ComputeRole::outputTile() {
  std::vector<View *> readable;
  for (View &view : views)
    if (view.readable)
      readable.push_back(&view);
  return !readable.empty() && kernel.program.arguments.size() < 16 && storeTile(*random.pick(readable));
}

/// A bulk store, or a plain copy.
bool ComputeRole::storeTile(View &view) {
  Tile &tile = *view.tile;
  const bool bulk = mayStore && random.chance(70);
  TensorSpec tensor{.type = tile.type, .extents = tile.extents, .axes = axes(), .writes = true, .reads = false, .bulk = bulk};
  tensor.number = tile.number;
  const std::optional<TensorUse> use = kernel.tensor(tensor);
  if (!use)
    return false;
  before({{&tile, bulk ? Use::Store : Use::Read}}, {}, {});
  if (bulk)
    pending.back().tensor = use->name;
  emit(fmt::format("copy{} {} <- {}", bulk ? ".tma" : "", use->window(), view.text));
  kernel.feature(bulk ? "copy.bulk-store" : "copy.from-tile");
  return true;
}

/// To the role that stores, or to one that computes after this one.
bool ComputeRole::send(Fragment &fragment) {
  if (spec.instances > 1 || !mayStore || stage == Stage::Before)
    return false;
  const bool store = !spec.store.empty() && (spec.later.empty() || random.chance(50));
  if (!store && (spec.later.empty() || stage == Stage::After))
    return false;
  Channel *channel = kernel.addChannel(spec.name, stage);
  const Type type = random.pick({kernel.mainType, kernel.mainType, Type::F32});
  std::vector<std::int64_t> extents = fragment.extents;
  const bool transposed = extents.size() == 2 && random.chance(25);
  if (transposed)
    std::swap(extents[0], extents[1]);
  Tile *tile = kernel.addTile(type, extents, channel->slots);
  if (!tile) {
    kernel.channels.pop_back();
    return false;
  }
  channel->tiles = {tile};
  channel->consumers = {store ? spec.store : random.pick(spec.later)};
  if (stage == Stage::Inside)
    emit(fmt::format("wait {}[{}]", channel->free, kernel.generation(*channel, -channel->slots)));
  View view{tile, kernel.tileText(*tile, *channel), false, true};
  std::erase_if(pending, [&](const Pending &access) { return access.tile == tile; });
  // A fragment that does not fit a 16-bit tile is clamped: this cannot fail for a new tile.
  writeFragment(fragment, view, transposed);
  settleTile(*tile);
  emit(fmt::format("arrive {}[{}]", channel->full, kernel.generation(*channel)));
  kernel.feature(store ? "channel.to-store" : "channel.between-roles");
  return true;
}

/// An `inout` tensor, each element read and written at its own point.
bool ComputeRole::updateTensor() {
  if (kernel.program.arguments.size() >= 14)
    return false;
  std::vector<Fragment *> known = fragmentsOf(random.pick({1, 2, 2}));
  std::vector<std::int64_t> extents = {random.pick({8, 16, 32}), kernel.anyExtent()};
  Fragment *place = nullptr;
  if (!known.empty()) {
    place = random.pick(known);
    extents = place->extents;
  }
  TensorSpec tensor{.type = kernel.anyType(), .extents = extents, .axes = axes(), .writes = true, .reads = true};
  tensor.copies = false;
  tensor.number = {2, 3, 0};
  const std::optional<TensorUse> use = kernel.tensor(tensor);
  if (!use)
    return false;
  beginReads();
  std::vector<std::string> indices = extents.size() == 2 ? std::vector<std::string>{"r", "c"} : std::vector<std::string>{"r"};
  Expressions expressions(kernel);
  addLeaves(expressions, indices, extents, place, nullptr);
  const std::string element = use->element(indices), guard = use->guard(indices);
  expressions.exactOnly();
  expressions.leaf([&] { return Value{guard.empty() ? element : fmt::format("({} ? {} : 0)", guard, element), tensor.number}; });
  Value value = expressions.settled(expressions.value(2), 2, 2);
  value = expressions.stored(value, tensor.type);
  before(reads(), usedFragments, {});
  emitMap(indices, extents, {}, {fmt::format("{} = {}{}", element, value.text, guard.empty() ? "" : " where " + guard)}, false);
  kernel.feature("map.inout");
  return true;
}

} // namespace flashqla::random
