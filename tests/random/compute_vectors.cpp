// Reductions, scans and single elements.
#include "tests/random/compute_role.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace flashqla::random {
namespace {

std::string reductionKind(Random &random) { return random.pick({"sum", "sum", "sum", "max", "min"}); }

Number reduced(const std::string &kind, const Number &term, std::int64_t count) {
  return kind == "sum" ? total(term, count) : term;
}

} // namespace

/// `map f1[r] = sum[c](f0[r, c] * …)`: rows or columns of a fragment, to a fragment or a tile.
bool ComputeRole::reduceToVector() {
  std::vector<Fragment *> matrices = fragmentsOf(2);
  if (matrices.empty())
    return false;
  Fragment &matrix = *random.pick(matrices);
  const int kept = static_cast<int>(random.below(2));
  const std::vector<std::string> names = {"r", "c"};
  const std::int64_t extent = matrix.extents[kept], count = matrix.extents[1 - kept];
  View *view = random.chance(40) ? tileTarget({extent}, Type::F32) : nullptr;
  beginReads();
  Expressions inner(kernel);
  addLeaves(inner, names, matrix.extents, &matrix, view ? view->tile : nullptr);
  usedFragments.push_back(&matrix);
  Value term{fmt::format("{}[r, c]", matrix.name), matrix.number};
  if (random.chance(50)) {
    const Value factor = inner.clamped(inner.value(1), 1);
    const Value product{fmt::format("{} * {}", term.text, factor.text), times(term.number, factor.number)};
    if (total(product.number, count).fits())
      term = product;
  }
  const std::string kind = reductionKind(random);
  // Without a range the extent follows from what the index runs along alone.
  const std::string range = usedTiles.empty() && random.chance(70) ? "" : fmt::format(" in 0 .. {}", count);
  Value value{fmt::format("{}[{}{}]({})", kind, names[1 - kept], range, term.text), reduced(kind, term.number, count)};
  if (!value.number.fits() || !value.number.useful())
    return false;
  kernel.feature(kept == 0 ? "reduction.rows" : "reduction.columns");
  Expressions outer(kernel);
  if (view) {
    if (!fit(outer, value, view->tile->number, view->tile->known, view->tile->type))
      return false;
    std::vector<Access> accesses = reads();
    accesses.push_back({view->tile, Use::Write});
    before(accesses, usedFragments, {});
    view->readable = true;
    emitMap({names[kept]}, {extent}, {}, {fmt::format("{}[{}] = {}", view->text, names[kept], value.text)}, false);
    return true;
  }
  Fragment *vector = addFragment(Type::F32, {extent});
  if (!vector)
    return false;
  meet(*vector, matrix, kept);
  bool known = false;
  fit(outer, value, vector->number, known, Type::F32);
  vector->written = true;
  before(reads(), usedFragments, {vector});
  emitMap({names[kept]}, {extent}, {}, {fmt::format("{}[{}] = {}", vector->name, names[kept], value.text)}, true);
  return true;
}

/// `let v = sum[c](f0[c] * f0[c])`: uniform.
bool ComputeRole::reduceToScalar() {
  std::vector<Fragment *> vectors = fragmentsOf(1);
  beginReads();
  Value term;
  std::int64_t count = 0;
  std::string range;
  if (!vectors.empty() && random.chance(60)) {
    const Fragment &vector = *random.pick(vectors);
    usedFragments.push_back(&vector);
    term = {vector.name + "[k]", vector.number};
    count = vector.extents[0];
    kernel.feature("reduction.fragment-to-scalar");
  } else {
    std::vector<View *> readable;
    for (View &view : views)
      if (view.readable)
        readable.push_back(&view);
    if (readable.empty())
      return false;
    View &view = *random.pick(readable);
    Expressions places(kernel);
    std::vector<std::string> indices;
    for (size_t dim = 0; dim + 1 < view.tile->extents.size(); ++dim)
      indices.push_back(places.place(view.tile->extents[dim]));
    indices.push_back("k");
    usedTiles.push_back(view.tile);
    term = {fmt::format("{}[{}]", view.text, fmt::join(indices, ", ")), view.tile->number};
    count = view.tile->extents.back();
    if (random.chance(50)) {
      count = random.between(1, count);
      range = fmt::format(" in 0 .. {}", count);
    }
    kernel.feature("reduction.tile-to-scalar");
  }
  if (random.chance(40))
    term = {fmt::format("{} * {}", term.text, term.text), times(term.number, term.number)};
  const std::string kind = reductionKind(random);
  Value value{fmt::format("{}[k{}]({})", kind, range, term.text), reduced(kind, term.number, count)};
  if (!value.number.fits() || !value.number.useful())
    return false;
  Expressions outer(kernel);
  if (value.number.exact())
    value = outer.settled(value, 3, 6);
  before(reads(), usedFragments, {});
  addScalar(value);
  return true;
}

void ComputeRole::addScalar(const Value &value) {
  const std::string name = kernel.fresh("v");
  emit(fmt::format("let {} = {}", name, value.text));
  scalars.push_back({name, value.number});
}

bool ComputeRole::uniformElement() {
  beginReads();
  std::vector<View *> readable;
  for (View &view : views)
    if (view.readable)
      readable.push_back(&view);
  Expressions expressions(kernel);
  addUniforms(expressions);
  if (!readable.empty() && random.chance(60)) {
    View &view = *random.pick(readable);
    const Value value{tileElement(expressions, view, {}, {}), view.tile->number};
    before(reads(), {}, {});
    addScalar(value);
    kernel.feature("element.tile");
    return true;
  }
  if (kernel.program.arguments.size() >= 10)
    return false;
  addScalar(tensorElement({std::to_string(random.below(3))}, {kernel.anyExtent()}));
  kernel.feature("element.tensor");
  return true;
}

/// `map (r: 64) s0[r] = scan[r](…)`: a tile's rows.
bool ComputeRole::scan() {
  View *view = tileTarget(random.chance(60) ? std::vector<std::int64_t>{kernel.anyExtent()} : std::vector<std::int64_t>{}, Type::F32);
  if (!view)
    return false;
  Tile &tile = *view->tile;
  beginReads();
  const Names indices = indexNames(tile.extents.size());
  Expressions expressions(kernel);
  addLeaves(expressions, indices, tile.extents, nullptr, &tile);
  const bool self = view->readable && random.chance(60);
  const std::string element = fmt::format("{}[{}]", view->text, fmt::join(indices, ", "));
  if (tile.known && tile.number.exact())
    expressions.exactOnly();
  Value term = self ? Value{element, tile.number} : expressions.value(1);
  if (term.number.exact())
    term = expressions.settled(term, 3, 3);
  Value value{fmt::format("{}[{}]({})", random.pick({"scan", "scan", "rscan"}), indices.back(), term.text),
              total(term.number, tile.extents.back())};
  if (!value.number.fits() || !value.number.useful() || !fit(expressions, value, tile.number, tile.known, tile.type))
    return false;
  std::vector<Access> accesses = reads();
  if (self)
    accesses.push_back({&tile, Use::Read});
  accesses.push_back({&tile, Use::Write});
  before(accesses, usedFragments, {});
  view->readable = true;
  std::string where;
  emitMap(indices, tile.extents, {}, {fmt::format("{} = {}", element, value.text)}, false);
  kernel.feature("scan");
  return true;
}

/// (I + l)⁻¹ of a small strictly lower triangle.
bool ComputeRole::inverse() {
  if (!kernel.approximate || !spec.products || spec.warpgroups != 1 || spec.instances > 1 || !mayProduct)
    return false;
  View *scratch = random.chance(50) ? addPrivate(Type::F32, {12, 256}) : addPrivate(kernel.mainType, {64, 128});
  Fragment *target = scratch ? addFragment(Type::F32, {64, 64}) : nullptr;
  if (!target)
    return false;
  beginReads();
  Expressions expressions(kernel);
  addLeaves(expressions, {"r", "c"}, {64, 64}, target, scratch->tile);
  const Value value = expressions.clamped(expressions.value(2), 0);
  before(reads(), usedFragments, {target});
  emitMap({"r", "c"}, {64, 64}, {}, {fmt::format("{}[r, c] = r > c ? {} * 0.0078125 : 0.0", target->name, value.text)}, true);
  target->written = true;
  awaitProducts();
  before({{scratch->tile, Use::Read}, {scratch->tile, Use::Write}}, {target}, {target});
  emit(fmt::format("{} = unit_lower_inverse({}) using {}", target->name, target->name, scratch->text));
  scratch->writable = false; // what it holds now is nobody's business
  target->number = {0, 1, 0x1p-6 + value.number.error};
  kernel.feature("inverse");
  return true;
}

/// Integers in shared memory, which index other tiles.
bool ComputeRole::indexTable() {
  if (spec.instances > 1 || factor > 1 || !mayStore)
    return false;
  Tile *tile = kernel.addTile(Type::I32, {kernel.anyExtent()}, 1);
  if (!tile)
    return false;
  const std::int64_t bound = random.pick({8, 16, 64});
  before({{tile, Use::Write}}, {}, {});
  emitMap({"r"}, tile->extents, {}, {fmt::format("{}[r] = i32((r * {} + {}) % {})", tile->name, random.between(1, 9), random.below(5), bound)}, true);
  tables.push_back({tile, bound});
  kernel.feature("tile.integers");
  return true;
}

} // namespace flashqla::random
