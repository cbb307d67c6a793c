/// Reductions over one more index, and scans along an index of a map.
#include "compiler/frontend/lower.h"

using namespace mlir;

namespace flashqla::frontend {

using ast::Expr;
using ast::ExprKind;
using ast::ReductionKind;

static tile::ReduceKind reduceKind(ReductionKind kind) {
  switch (kind) {
  case ReductionKind::Max:
    return tile::ReduceKind::Max;
  case ReductionKind::Min:
    return tile::ReduceKind::Min;
  case ReductionKind::Sum:
  case ReductionKind::Scan:
  case ReductionKind::ReverseScan:
    break;
  }
  return tile::ReduceKind::Sum;
}

/// Extents of the dimensions that a bare name indexes, in the order of the text.
void KernelLowering::findIndexedExtents(const Expr &expr, std::string_view index,
                                        std::vector<std::pair<const Expr *, int64_t>> &found) {
  const Symbol *symbol = expr.kind == ExprKind::Reference ? scope.find(expr.name.text) : nullptr;
  if (symbol && symbol->isTile() && expr.brackets.size() == (symbol->ring ? 2 : 1) &&
      expr.brackets.back().indices.size() == symbol->rank())
    for (auto [dimension, written] : llvm::enumerate(expr.brackets.back().indices)) {
      bool alone = written.kind == ast::Index::Kind::Point && written.begin->isBareName() &&
                   written.begin->name.text == index;
      if (auto extent = symbol->extent(dimension); alone && extent)
        found.emplace_back(&expr, *extent);
    }
  for (const ast::ExprPtr &operand : expr.operands)
    findIndexedExtents(*operand, index, found);
  for (const ast::Bracket &bracket : expr.brackets)
    for (const ast::Index &written : bracket.indices)
      if (written.begin)
        findIndexedExtents(*written.begin, index, found);
}

bool KernelLowering::reductionRange(const Expr &expr, Scalar &lower, Scalar &upper) {
  if (expr.lower) {
    auto from = evaluateIndex(*expr.lower), to = evaluateIndex(*expr.upper);
    if (!from || !to)
      return false;
    lower = *from, upper = *to;
    return true;
  }
  std::vector<std::pair<const Expr *, int64_t>> found;
  findIndexedExtents(*expr.operands[0], expr.name.text, found);
  if (found.empty()) {
    error(DiagnosticKind::MapIndex, expr.name.range,
          fmt::format("`{}` has no range: it indexes no tile alone", expr.name.text))
        .help(fmt::format("`{}[{} in 0 .. n](…)`", ast::spelling(expr.reduction), expr.name.text));
    return false;
  }
  for (const auto &[reference, extent] : found)
    if (extent != found[0].second) {
      error(DiagnosticKind::ShapeMismatch, reference->range,
            fmt::format("`{}` ranges over dimensions of different extents", expr.name.text))
          .primary(fmt::format("{} here", extent))
          .label(found[0].first->range, fmt::format("{} here", found[0].second));
      return false;
    }
  lower = Scalar::of(int64_t(0));
  upper = Scalar::of(found[0].second);
  return true;
}

/// Evaluates the body in a block and yields its value, in f32 if it is a float.
std::optional<Scalar> KernelLowering::yieldInto(Block &block, const Expr &body, Location location) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&block);
  unsigned arms = std::exchange(armDepth, 0); // what is conditional in here is so by itself
  ++bodyDepth;
  auto value = evaluate(body);
  --bodyDepth;
  armDepth = arms;
  if (!value)
    return std::nullopt;
  if (!isNumber(value->type)) {
    error(DiagnosticKind::ReductionType, body.range, "truth values are not added up")
        .help("`c ? 1 : 0` counts");
    return std::nullopt;
  }
  Scalar term =
      convert(*value, isFloat(value->type) ? ScalarType::F32 : ScalarType::I64, body.range);
  tile::YieldOp::create(builder, location, materialize(term, body.range));
  return term;
}

std::optional<Scalar> KernelLowering::evaluateReduction(const Expr &expr) {
  Scalar lower, upper;
  if (!reductionRange(expr, lower, upper))
    return std::nullopt;
  Location location = loc(expr.range);
  Value from = materialize(lower, expr.range), to = materialize(upper, expr.range);
  // The result's type is known only after the body.
  auto reduce =
      tile::ReduceOp::create(builder, location, builder.getF32Type(), reduceKind(expr.reduction),
                             from, to, builder.getStringAttr(expr.name.text), false);
  Block &block = reduce.getBody().emplaceBlock();
  BlockArgument argument =
      block.addArgument(builder.getI64Type(), loc(expr.name.range, expr.name.text));
  scope.push();
  Symbol index{expr.name.text, SymbolKind::Value, expr.name.range};
  index.isPoint = true;
  uint64_t bit = uint64_t(1) << activePoints++;
  index.scalar = Scalar::of(argument, ScalarType::I64, bit);
  index.scalar.bounds = {lower.bounds.lowest,
                         boundsOf(ast::BinaryOp::Sub, upper.bounds, Interval::exactly(1)).highest};
  declare(std::move(index));
  bool outer = std::exchange(readsFragment, false);
  auto term = yieldInto(block, *expr.operands[0], location);
  bool ofFragment = std::exchange(readsFragment, outer || readsFragment);
  --activePoints;
  scope.pop();
  if (!term)
    return std::nullopt;
  reduce.getResult().setType(mlirType(term->type));
  reduce.setFragment(ofFragment);
  Scalar result = Scalar::of(reduce.getResult(), term->type,
                             (term->points & ~bit) | lower.points | upper.points);
  if (expr.reduction == ReductionKind::Sum && term->bounds.within(0, 1) &&
      isInteger(term->type)) // a count
    result.bounds = {0, boundsOf(ast::BinaryOp::Sub, upper.bounds, lower.bounds).highest};
  else if (expr.reduction != ReductionKind::Sum)
    result.bounds = term->bounds;
  return result;
}

std::optional<Scalar> KernelLowering::evaluateScan(const Expr &expr) {
  const Symbol *index = scope.find(expr.name.text);
  auto point = index && index->isPoint ? dyn_cast_if_present<BlockArgument>(index->scalar.base)
                                       : BlockArgument();
  bool ofDomain = map && point && point.getOwner() == &map.getBody().front();
  if (!ofDomain || expr.lower) {
    error(DiagnosticKind::ScanPlacement, expr.lower ? expr.range : expr.name.range,
          fmt::format("`{}` runs along an index of the map's domain, all of it",
                      ast::spelling(expr.reduction)));
    return std::nullopt;
  }
  if (armDepth != 0 || bodyDepth != 0) {
    auto report =
        error(DiagnosticKind::ScanPlacement, expr.range,
              fmt::format("`{}` {}: all points take part in it once", ast::spelling(expr.reduction),
                          armDepth ? "under a condition" : "inside a reduction"));
    if (armDepth)
      report.help("`where` leaves points out");
    return std::nullopt;
  }
  Location location = loc(expr.range);
  bool reverse = expr.reduction == ReductionKind::ReverseScan;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&map.getBody().front()); // outside the `scf.if` of a `where`
  auto scan = tile::ScanOp::create(builder, location, builder.getF32Type(), point.getArgNumber(),
                                   reverse, mask);
  Block &block = scan.getBody().emplaceBlock();
  auto term = yieldInto(block, *expr.operands[0], location);
  if (!term)
    return std::nullopt;
  if (!isFloat(term->type)) {
    error(DiagnosticKind::ReductionType, expr.operands[0]->range,
          fmt::format("`{}` adds floats, not {}", ast::spelling(expr.reduction),
                      ast::scalarTypeName(term->type)));
    return std::nullopt;
  }
  return Scalar::of(scan.getResult(), ScalarType::F32,
                    term->points | (uint64_t(1) << point.getArgNumber()));
}

} // namespace flashqla::frontend
