// Elementwise statements: what a point can read, and where its values go.
#include "tests/random/compute_role.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace flashqla::random {

ComputeRole::Names ComputeRole::indexNames(size_t rank) {
  if (rank == 3)
    return {"b", "r", "c"};
  return rank == 2 ? Names{"r", "c"} : Names{"r"};
}

void ComputeRole::beginReads() {
  usedTiles.clear();
  usedFragments.clear();
}

std::vector<ComputeRole::Access> ComputeRole::reads() const {
  std::vector<Access> accesses;
  for (const Tile *tile : usedTiles)
    accesses.push_back({tile, Use::Read});
  return accesses;
}

void ComputeRole::addUniforms(Expressions &expressions) const {
  for (const auto &[name, bound] : uniforms)
    expressions.uniform(name, bound);
}

/// "s0[g][r, (c + 3) % 64]".
std::string ComputeRole::tileElement(Expressions &expressions, const View &view, const std::vector<std::string> &indices,
                                     const std::vector<std::int64_t> &extents) {
  std::vector<std::string> places;
  for (size_t dim = 0; dim < view.tile->extents.size(); ++dim) {
    const std::int64_t extent = view.tile->extents[dim];
    const bool own = dim < indices.size() && extents[dim] == extent && random.chance(60);
    std::string place = own ? indices[dim] : expressions.place(extent);
    if (!own && !tables.empty() && random.chance(40)) {
      const Table &table = random.pick(tables);
      usedTiles.push_back(table.tile);
      kernel.feature("map.index-from-tile");
      place = fmt::format("{}[{}]", table.tile->name, expressions.place(table.tile->extents[0]));
      if (table.bound > extent)
        place = fmt::format("{} % {}", place, extent);
    }
    places.push_back(std::move(place));
  }
  usedTiles.push_back(view.tile);
  return fmt::format("{}[{}]", view.text, fmt::join(places, ", "));
}

Value ComputeRole::tensorElement(const std::vector<std::string> &indices, const std::vector<std::int64_t> &extents) {
  TensorSpec tensor{.type = kernel.anyType(), .extents = extents, .axes = axes(), .copies = false};
  std::vector<std::string> names = indices;
  if (extents.size() == 2 && random.chance(30)) { // a vector along one of the two
    const size_t dim = random.below(2);
    tensor.extents = {extents[dim]};
    names = {indices[dim]};
  }
  tensor.number = kernel.inputNumber();
  const std::optional<TensorUse> use = kernel.tensor(tensor);
  const std::string element = use->element(names), guard = use->guard(names);
  kernel.feature("map.tensor");
  return {guard.empty() ? element : fmt::format("({} ? {} : 0)", guard, element), tensor.number};
}

void ComputeRole::addLeaves(Expressions &expressions, const std::vector<std::string> &indices,
                            const std::vector<std::int64_t> &extents, Fragment *place, const Tile *except) {
  addUniforms(expressions);
  const std::string here = fmt::format("[{}]", fmt::join(indices, ", "));
  for (size_t dim = 0; dim < indices.size(); ++dim)
    expressions.index(indices[dim], extents[dim]);
  const Value zero{"0.0", {}};
  for (Fragment &fragment : fragments) {
    if (!fragment.written || !place)
      continue;
    if (fragment.extents == extents)
      expressions.leaf([&, here, place, zero]() -> Value {
        if (!meet(*place, fragment))
          return zero;
        usedFragments.push_back(&fragment);
        return {fragment.name + here, fragment.number};
      });
    if (extents.size() == 2 && fragment.extents.size() == 1)
      for (int dim : {0, 1})
        if (fragment.extents[0] == extents[dim])
          expressions.leaf([&, dim, index = indices[dim], place, zero]() -> Value {
            if (!meet(fragment, *place, dim))
              return zero;
            usedFragments.push_back(&fragment);
            kernel.feature("map.slice");
            return {fmt::format("{}[{}]", fragment.name, index), fragment.number};
          });
  }
  for (View &view : views)
    if (view.readable && view.tile != except)
      expressions.leaf([&, indices, extents]() -> Value {
        kernel.feature("map.tile");
        return {tileElement(expressions, view, indices, extents), view.tile->number};
      });
  for (const Value &scalar : scalars)
    expressions.leaf([scalar] { return scalar; });
  if (kernel.program.arguments.size() < 10 && random.chance(40))
    expressions.leaf([&, indices, extents] { return tensorElement(indices, extents); });
  if (random.chance(15))
    expressions.leaf([&]() -> Value {
      Value value;
      value.text = kernel.realScalar(value.number);
      return value;
    });
  if (random.chance(25))
    addReductionLeaf(expressions, indices, extents, except);
}

/// A sum over shared tiles at each point.
void ComputeRole::addReductionLeaf(Expressions &expressions, const std::vector<std::string> &indices,
                                   const std::vector<std::int64_t> &extents, const Tile *except) {
  expressions.leaf([&, indices, extents, except]() -> Value {
    std::vector<View *> readable;
    for (View &view : views)
      if (view.readable && view.tile != except && view.tile->extents.back() <= 128)
        readable.push_back(&view);
    if (readable.empty())
      return {"1.0", {}};
    View &view = *random.pick(readable);
    const std::int64_t trips = random.between(1, std::min<std::int64_t>(view.tile->extents.back(), 16));
    Expressions inner(kernel);
    for (size_t dim = 0; dim < indices.size(); ++dim)
      inner.index(indices[dim], extents[dim]);
    std::vector<std::string> places;
    for (size_t dim = 0; dim + 1 < view.tile->extents.size(); ++dim)
      places.push_back(inner.place(view.tile->extents[dim]));
    places.push_back("k");
    usedTiles.push_back(view.tile);
    const std::string element = fmt::format("{}[{}]", view.text, fmt::join(places, ", "));
    const std::string kind = random.pick({"sum", "sum", "max", "min"});
    kernel.feature("reduction.at-points");
    const Number number = kind == "sum" ? total(view.tile->number, trips) : view.tile->number;
    if (!number.fits())
      return {"1.0", {}};
    return {fmt::format("{}[k in 0 .. {}]({})", kind, trips, element), number};
  });
}

/// Brings a value within what the target holds; fixes that where it is the first one. False where it cannot be.
bool ComputeRole::fit(Expressions &expressions, Value &value, Number &number, bool &known, Type type) {
  if (!known) {
    if (value.number.exact() && random.chance(60))
      value = expressions.settled(value, 2, 3);
    value = expressions.stored(value, type);
    number = value.number;
    if (number.exact() && number.bits() < exactBits)
      ++number.magnitude; // room for sums
    known = true;
    return true;
  }
  value = expressions.settled(value, number.fraction, std::max(number.magnitude - 1, 0));
  value = expressions.stored(value, type);
  return value.number.error <= number.error;
}

void ComputeRole::emitMap(const std::vector<std::string> &indices, const std::vector<std::int64_t> &extents,
                          const std::vector<std::string> &lets, const std::vector<std::string> &assigns, bool bare) {
  std::vector<std::string> domain;
  for (size_t dim = 0; dim < indices.size(); ++dim)
    domain.push_back(fmt::format("{}: {}", indices[dim], extents[dim]));
  const std::string header = fmt::format("map ({})", fmt::join(domain, ", "));
  if (lets.empty() && assigns.size() == 1) {
    emit(bare && random.chance(60) ? "map " + assigns.front() : header + " " + assigns.front());
    kernel.feature("map");
    return;
  }
  Node node = Node::braces(header);
  for (const auto *lines : {&lets, &assigns})
    for (const std::string &line : *lines)
      node.body.push_back(Node::line(line));
  out->push_back(std::move(node));
  kernel.feature("map.block");
}

std::vector<std::string> ComputeRole::addLet(Expressions &expressions) {
  if (!random.chance(25))
    return {};
  const Value value = expressions.value(2);
  const std::string name = kernel.fresh("v");
  expressions.leaf([name, number = value.number] { return Value{name, number}; });
  return {fmt::format("let {} = {}", name, value.text)};
}

Fragment *ComputeRole::chooseTarget() {
  std::vector<Fragment *> known;
  for (Fragment &fragment : fragments)
    if (fragment.written)
      known.push_back(&fragment);
  if (!known.empty() && random.chance(45))
    return random.pick(known);
  std::vector<std::int64_t> extents;
  if (!known.empty() && random.chance(60)) {
    extents = random.pick(known)->extents;
  } else {
    extents = {spec.products ? 64 * spec.warpgroups : kernel.anyExtent(), kernel.anyExtent()};
    if (random.chance(30))
      extents.erase(extents.begin());
  }
  return addFragment(random.chance(75) ? Type::F32 : kernel.mainType, extents);
}

bool ComputeRole::mapFragment() {
  Fragment *target = chooseTarget();
  if (!target)
    return false;
  beginReads();
  const Names indices = indexNames(target->extents.size());
  Expressions expressions(kernel);
  addLeaves(expressions, indices, target->extents, target, nullptr);
  const bool first = !target->written;
  if (!first && target->number.exact())
    expressions.exactOnly();
  const std::vector<std::string> lets = addLet(expressions);
  Value value = expressions.value(static_cast<int>(random.between(1, 4)));
  bool known = target->written;
  if (!fit(expressions, value, target->number, known, target->type))
    return false;
  std::string where;
  if (!first && random.chance(25)) {
    where = " where " + expressions.condition();
    usedFragments.push_back(target);
    kernel.feature("map.where");
  }
  target->written = true;
  target->used = 0;
  before(reads(), usedFragments, {target});
  emitMap(indices, target->extents, lets,
          {fmt::format("{}[{}] = {}{}", target->name, fmt::join(indices, ", "), value.text, where)}, true);
  kernel.feature(target->extents.size() == 2 ? "map.fragment-2d" : "map.fragment-1d");
  return true;
}

/// `f0 = f1 * 0.5`, `f0 *= -1.0`.
bool ComputeRole::wholeTile() {
  std::vector<Fragment *> targets = fragmentsOf(random.pick({1, 2, 2}));
  if (targets.empty())
    return false;
  Fragment &target = *random.pick(targets);
  beginReads();
  kernel.feature("whole-tile");
  if (target.type == Type::F32 && random.chance(30)) {
    before({}, {&target}, {&target});
    emit(fmt::format("{} *= {}", target.name, random.pick({"-1.0", "1.0"})));
    return true;
  }
  if (target.extents.size() == 2 && target.extents[1] >= 16 && accumulates(target.extents) && random.chance(20)) {
    const std::int64_t columns = 8 * random.between(1, target.extents[1] / 8 - 1);
    const std::int64_t first = 8 * random.below((target.extents[1] - columns) / 8 + 1);
    before({}, {&target}, {&target});
    emit(fmt::format("{}[:, {} +: {}] = {}", target.name, first, columns,
                     target.type == Type::F32 ? "1.0" : kernel.text(target.type) + "(1.0)"));
    kernel.feature("whole-tile.window");
    return true;
  }
  Expressions expressions(kernel);
  addUniforms(expressions);
  for (Fragment &fragment : fragments)
    if (fragment.written && fragment.extents == target.extents && meet(target, fragment))
      expressions.leaf([&] {
        usedFragments.push_back(&fragment);
        return Value{fragment.name, fragment.number};
      });
  for (View &view : views)
    if (view.readable && view.tile->extents == target.extents)
      expressions.leaf([&] {
        usedTiles.push_back(view.tile);
        return Value{view.text, view.tile->number};
      });
  if (target.number.exact())
    expressions.exactOnly();
  Value value = expressions.value(2);
  bool known = true;
  if (!fit(expressions, value, target.number, known, target.type))
    return false;
  target.used = 0;
  before(reads(), usedFragments, {&target});
  emit(fmt::format("{} = {}", target.name, value.text));
  return true;
}

} // namespace flashqla::random
