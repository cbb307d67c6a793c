/// References: generations, windows and elements of tensors, shared tiles and fragments.
#include "compiler/frontend/lower.h"

using namespace mlir;

namespace flashqla::frontend {

using ast::Expr;
using ast::Index;

const Symbol *KernelLowering::lookupTile(const Expr &expr) {
  const Symbol *symbol = lookupName(expr.name);
  if (!symbol || symbol->isTile())
    return symbol;
  error(DiagnosticKind::WrongKind, expr.name.range,
        fmt::format("`{}` is {}, not a tile", expr.name.text, describe(symbol->kind)))
      .label(symbol->declared, "declared here");
  return nullptr;
}

/// A ring has a bracket for the generation; `elementBrackets` may follow.
bool KernelLowering::checkBrackets(const Expr &expr, const Symbol &symbol, size_t elementBrackets) {
  size_t ring = symbol.ring ? 1 : 0;
  if (symbol.ring && (expr.brackets.empty() || expr.brackets.size() < ring + elementBrackets)) {
    error(DiagnosticKind::MissingGeneration, expr.range,
          fmt::format("`{}` is a ring of tiles: which generation?", symbol.name))
        .label(symbol.declared, "a ring")
        .help(fmt::format("`{}[k]` is the k-th tile", symbol.name));
    return false;
  }
  if (expr.brackets.size() > ring + 1) {
    error(DiagnosticKind::IndexCount, expr.brackets[ring + 1].range,
          fmt::format("`{}` has no further bracket", symbol.name))
        .label(symbol.declared, symbol.ring ? "a ring of tiles" : "not a ring");
    return false;
  }
  if (symbol.ring && (expr.brackets[0].indices.size() != 1 ||
                      expr.brackets[0].indices[0].kind != Index::Kind::Point)) {
    error(DiagnosticKind::MissingGeneration, expr.brackets[0].range,
          fmt::format("the first bracket of the ring `{}` holds a generation", symbol.name))
        .label(symbol.declared, "a ring of tiles");
    return false;
  }
  if (expr.brackets.size() == ring)
    return true;
  size_t count = expr.brackets[ring].indices.size();
  if (count == symbol.rank())
    return true;
  error(DiagnosticKind::IndexCount, expr.brackets[ring].range,
        fmt::format("`{}` has {} dimension{}, not {}", symbol.name, symbol.rank(),
                    symbol.rank() == 1 ? "" : "s", count))
      .label(symbol.declared, "declared here");
  return false;
}

std::optional<Scalar> KernelLowering::tileGeneration(const Expr &expr, const Symbol &symbol) {
  const Expr &index = *expr.brackets[0].indices[0].begin;
  auto generation = evaluateIndex(index);
  if (!generation || !requireUniform(*generation, index, "a generation"))
    return std::nullopt;
  if (generation->bounds.highest >= 0)
    return generation;
  error(DiagnosticKind::IndexRange, index.range,
        fmt::format("`{}` has no tile before generation 0", symbol.name));
  return std::nullopt;
}

Value KernelLowering::makeView(const Expr &expr, const Symbol &symbol, const Window &window,
                               const Scalar *generation) {
  tile::Space space = tile::space(symbol.handle);
  auto type = tile::ViewType::get(&context, space, window.shape, mlirElementType(symbol.type));
  Value base;
  int64_t offset = 0;
  if (generation) {
    base = generation->base;
    offset = generation->asInteger().value_or(generation->offset);
  }
  IntegerAttr limitDimension;
  if (window.limitDimension)
    limitDimension = builder.getI64IntegerAttr(*window.limitDimension);
  return tile::ViewOp::create(builder, loc(expr.range), type, symbol.handle, base, window.offsets,
                              window.limit, builder.getDenseI64ArrayAttr(window.sizes),
                              builder.getI64IntegerAttr(offset), limitDimension);
}

/// The tile of a ring that a reference names, whole; of a tile that is no ring, itself.
std::optional<Value> KernelLowering::ringSlot(const Expr &expr, const Symbol &symbol) {
  if (!symbol.ring)
    return symbol.handle;
  auto generation = tileGeneration(expr, symbol);
  if (!generation)
    return std::nullopt;
  Window window;
  for (int64_t extent : symbol.shape) {
    window.offsets.push_back(indexConstant(0));
    window.sizes.push_back(extent);
    window.shape.push_back(extent);
  }
  return makeView(expr, symbol, window, &*generation);
}

bool KernelLowering::checkWindowIndex(const Symbol &symbol, const Index &index, size_t dimension,
                                      const Scalar &begin, int64_t extent) {
  auto all = symbol.extent(dimension);
  if (symbol.kind == SymbolKind::Tensor || !all)
    return true;
  auto first = begin.asInteger();
  if (extent > *all || (first && (*first < 0 || *first > *all - extent))) {
    error(DiagnosticKind::IndexRange, index.range,
          fmt::format("the window does not lie in `{}`", symbol.name))
        .primary(first ? fmt::format("elements {} .. {}", *first, *first + extent)
                       : fmt::format("{} elements", extent))
        .label(symbol.declared, fmt::format("dimension {} has {}", dimension, *all));
    return false;
  }
  if (first == 0 && extent == *all)
    return true;
  bool aligned = begin.divisor % 8 == 0 && extent % 8 == 0;
  bool isFrag = symbol.kind == SymbolKind::Frag;
  bool columns = !isFrag || (dimension + 1 == symbol.rank() && symbol.rank() == 2);
  if (aligned && columns && (!isFrag || first))
    return true;
  std::string_view reason = !aligned  ? "begins and ends at multiples of 8"
                            : columns ? "begins at a constant, as it is a range of registers"
                                      : "is a range of columns";
  error(DiagnosticKind::WindowAlignment, index.range,
        fmt::format("a window of {} {}", describe(symbol.kind), reason))
      .label(symbol.declared, "declared here");
  return false;
}

bool KernelLowering::checkElementRange(const Symbol &symbol, const Index &index, size_t dimension,
                                       const Scalar &scalar, bool &inRange) {
  auto extent = symbol.extent(dimension);
  bool outside = scalar.bounds.highest < 0 || (extent && scalar.bounds.lowest >= *extent);
  inRange = inRange && extent && scalar.bounds.within(0, *extent - 1);
  if (!outside)
    return true;
  error(DiagnosticKind::IndexRange, index.range,
        fmt::format("the index lies outside `{}`", symbol.name))
      .primary(scalar.asInteger() ? fmt::format("{}", *scalar.asInteger()) : "always")
      .label(symbol.declared, extent ? fmt::format("dimension {} has extent {}", dimension, *extent)
                                     : std::string("declared here"));
  return false;
}

bool KernelLowering::addWindowIndex(Window &window, const Symbol &symbol, const Index &index,
                                    size_t dimension) {
  auto all = symbol.extent(dimension);
  if (index.kind == Index::Kind::All) {
    if (!all) {
      error(DiagnosticKind::NotConstant, index.range,
            fmt::format("`:` is all of a static dimension; this one of `{}` is known at launch",
                        symbol.name))
          .label(symbol.declared, "declared here")
          .help("name an extent, `begin +: extent`, or make the dim `static`");
      return false;
    }
    window.offsets.push_back(indexConstant(0));
    window.sizes.push_back(*all);
    window.shape.push_back(*all);
    return true;
  }
  auto begin = evaluateIndex(*index.begin);
  if (!begin || !requireUniform(*begin, *index.begin, "a window"))
    return false;
  if (index.kind == Index::Kind::Point) {
    bool inRange = true;
    window.whole = false;
    window.sizes.push_back(0);
    window.offsets.push_back(materialize(*begin, index.range));
    return checkElementRange(symbol, index, dimension, *begin, inRange);
  }
  auto extent = evaluateInteger(*index.extent, "the extent of a window");
  if (!extent)
    return false;
  if (*extent < 1) {
    error(DiagnosticKind::ExtentRange, index.extent->range,
          fmt::format("a window of {} elements", *extent));
    return false;
  }
  if (!checkWindowIndex(symbol, index, dimension, *begin, *extent))
    return false;
  window.whole = window.whole && begin->asInteger() == 0 && all == *extent;
  window.offsets.push_back(materialize(*begin, index.begin->range));
  window.sizes.push_back(*extent);
  window.shape.push_back(*extent);
  if (!index.limit)
    return true;
  auto limit = evaluateIndex(*index.limit);
  if (!limit || !requireUniform(*limit, *index.limit, "a limit"))
    return false;
  if (symbol.kind != SymbolKind::Tensor || window.limit) {
    error(DiagnosticKind::WrongSpace, index.limit->range,
          window.limit ? "one dimension of a window has an `until`"
                       : "`until` belongs to windows of tensors")
        .label(symbol.declared, std::string(describe(symbol.kind)));
    return false;
  }
  window.limit = materialize(*limit, index.limit->range);
  window.limitDimension = static_cast<int64_t>(dimension);
  return true;
}

/// A null bracket means the whole tile.
std::optional<KernelLowering::Window> KernelLowering::resolveWindow(const Symbol &symbol,
                                                                    const ast::Bracket *bracket) {
  Window window;
  Index everything;
  bool good = true;
  std::vector<SourceRange> ranges; // of the extents
  for (size_t dimension = 0; dimension < symbol.rank(); ++dimension) {
    everything.range = symbol.declared;
    const Index &index = bracket ? bracket->indices[dimension] : everything;
    good = addWindowIndex(window, symbol, index, dimension) && good;
    if (index.kind != Index::Kind::Point)
      ranges.push_back(index.extent ? index.extent->range : index.range);
  }
  good = good && checkElements(window.shape, ranges, "the extent of a window");
  if (good && window.shape.empty() && bracket) {
    error(DiagnosticKind::ShapeMismatch, bracket->range,
          fmt::format("a window of `{}` is needed here, not one element", symbol.name))
        .label(symbol.declared, "declared here");
    return std::nullopt;
  }
  return good ? std::optional(window) : std::nullopt;
}

std::optional<TileRef> KernelLowering::resolveTile(const Expr &outer) {
  const Expr &expr = ast::withoutParens(outer);
  if (expr.kind != ast::ExprKind::Reference) {
    error(DiagnosticKind::WrongKind, expr.range, "a tile or a window of one is needed here");
    return std::nullopt;
  }
  const Symbol *symbol = lookupTile(expr);
  if (!symbol || !checkBrackets(expr, *symbol, 0))
    return std::nullopt;
  size_t ring = symbol->ring ? 1 : 0;
  auto window =
      resolveWindow(*symbol, expr.brackets.size() > ring ? &expr.brackets[ring] : nullptr);
  std::optional<Scalar> generation;
  if (symbol->ring && !(generation = tileGeneration(expr, *symbol)))
    return std::nullopt;
  if (!window)
    return std::nullopt;
  TileRef tile;
  tile.expr = &expr;
  tile.symbol = *symbol;
  tile.shape = window->shape;
  tile.transposed = expr.transposed;
  bool whole = window->whole && !generation && symbol->kind != SymbolKind::Tensor;
  tile.value = whole ? symbol->handle
                     : makeView(expr, *symbol, *window, generation ? &*generation : nullptr);
  return tile;
}

std::optional<Element> KernelLowering::resolveElement(const Expr &expr) {
  const Symbol *symbol = lookupTile(expr);
  if (!symbol)
    return std::nullopt;
  size_t ring = symbol->ring ? 1 : 0;
  if (expr.brackets.size() <= ring && !symbol->ring) {
    error(DiagnosticKind::ShapeMismatch, expr.range,
          fmt::format("`{}` is {}: one element of it is needed here", symbol->name,
                      describe(symbol->kind)))
        .label(symbol->declared, "declared here");
    return std::nullopt;
  }
  if (!checkBrackets(expr, *symbol, 1))
    return std::nullopt;
  if (expr.transposed) {
    error(DiagnosticKind::WrongSpace, expr.range, "an element has no `.T`");
    return std::nullopt;
  }
  Element element;
  element.expr = &expr;
  element.symbol = *symbol;
  element.inRange = true;
  size_t dimension = 0;
  for (const Index &index : expr.brackets[ring].indices) {
    if (index.kind != Index::Kind::Point) {
      error(DiagnosticKind::ShapeMismatch, index.range,
            fmt::format("one element of `{}` is needed here, not a window", symbol->name));
      return std::nullopt;
    }
    auto scalar = evaluateIndex(*index.begin);
    if (!scalar || !checkElementRange(*symbol, index, dimension++, *scalar, element.inRange))
      return std::nullopt;
    element.indices.push_back(*scalar);
  }
  auto slot = ringSlot(expr, element.symbol);
  if (!slot)
    return std::nullopt;
  element.value = *slot;
  return element;
}

/// The argument of a map or reduction that an index is, as it is; null otherwise.
static BlockArgument asPoint(const Scalar &index) {
  auto argument = dyn_cast_if_present<BlockArgument>(index.base);
  if (!argument || index.offset != 0)
    return {};
  Operation *parent = argument.getOwner()->getParentOp();
  return isa_and_present<tile::MapOp, tile::ReduceOp>(parent) ? argument : BlockArgument();
}

bool KernelLowering::checkOwnPlace(const Element &element) {
  const Symbol &symbol = element.symbol;
  SmallVector<BlockArgument> points;
  for (auto [dimension, index] : llvm::enumerate(element.indices)) {
    BlockArgument point = asPoint(index);
    bool whole =
        point && index.bounds.lowest == 0 && index.bounds.highest == symbol.shape[dimension] - 1;
    if (whole && !llvm::is_contained(points, point)) {
      points.push_back(point);
      continue;
    }
    if (activePoints == 0) {
      error(DiagnosticKind::Uniformity, element.expr->range,
            fmt::format("an element of the fragment `{}` is not the same in all threads",
                        symbol.name))
          .label(symbol.declared, "its elements are dealt to the threads of the role");
      return false;
    }
    const bool other = point && !whole;
    error(DiagnosticKind::FragmentPlace, element.expr->brackets.back().indices[dimension].range,
          fmt::format("a fragment is used at its own place: an index of `{}` {}", symbol.name,
                      other ? "runs over the whole dimension"
                            : "is a bare index of the map or reduction"))
        .primary(other ? fmt::format("runs over {} .. {}", index.bounds.lowest,
                                     index.bounds.highest + 1)
                       : "")
        .label(symbol.declared,
               fmt::format("dimension {} has extent {}", dimension, symbol.shape[dimension]));
    return false;
  }
  if (points.size() != 2 || !map)
    return true;
  Block *body = &map.getBody().front();
  if (points[0].getOwner() != body || points[1].getOwner() != body)
    return true;
  unsigned row = points[0].getArgNumber(), column = points[1].getArgNumber();
  auto opposite = fragmentOrders.find({column, row});
  if (opposite == fragmentOrders.end()) {
    fragmentOrders.try_emplace({row, column}, element.expr->range);
    return true;
  }
  error(DiagnosticKind::FragmentPlace, element.expr->range,
        "two fragments of a map are used with opposite orders of its indices")
      .primary("transposed")
      .label(opposite->second, "rows and columns as here")
      .help("transpose through a shared tile");
  return false;
}

bool KernelLowering::isTileReference(const Expr &expr) {
  if (expr.kind != ast::ExprKind::Reference)
    return false;
  const Symbol *symbol = scope.find(expr.name.text);
  if (!symbol || !symbol->isTile())
    return false;
  size_t ring = symbol->ring ? 1 : 0;
  if (expr.brackets.size() <= ring)
    return true;
  return llvm::any_of(expr.brackets[ring].indices,
                      [](const Index &index) { return index.kind != Index::Kind::Point; });
}

bool KernelLowering::mentionsTile(const Expr &expr) {
  if (isTileReference(expr))
    return true;
  return llvm::any_of(expr.operands,
                      [&](const ast::ExprPtr &operand) { return mentionsTile(*operand); });
}

} // namespace flashqla::frontend
