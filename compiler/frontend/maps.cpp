/// Elementwise statements: maps, whole-tile assignments, the inverse.
#include "compiler/frontend/lower.h"

using namespace mlir;

namespace flashqla::frontend {

using ast::Assign;
using ast::AssignOp;
using ast::Expr;

bool KernelLowering::checkWritable(const Expr &expr, const Symbol &symbol) {
  if (symbol.kind != SymbolKind::Tensor || symbol.argument->direction != ast::Direction::In)
    return true;
  error(DiagnosticKind::TensorDirection, expr.name.range,
        fmt::format("`{}` is an `in` tensor: it is constant while the kernel runs", symbol.name))
      .label(symbol.argument->directionRange, "declared here");
  return false;
}

/// `map p[r, c] = …`: the target's last bracket names the indices.
bool KernelLowering::domainOfTarget(const Assign &assign, std::vector<ast::Name> &names,
                                    SmallVector<int64_t> &extents) {
  const Expr &target = ast::withoutParens(*assign.target);
  const Symbol *symbol = lookupTile(target);
  if (!symbol || !checkBrackets(target, *symbol, 1))
    return false;
  if (target.brackets.empty()) {
    error(DiagnosticKind::MapIndex, target.range,
          fmt::format("a `map` without a domain names the indices of `{}`", symbol->name))
        .label(symbol->declared, "declared here");
    return false;
  }
  for (auto [dimension, index] : llvm::enumerate(target.brackets.back().indices)) {
    bool bare = index.kind == ast::Index::Kind::Point && index.begin->isBareName();
    const Symbol *taken = bare ? scope.find(index.begin->name.text) : nullptr;
    auto extent = symbol->extent(dimension);
    if (!bare || taken || !extent) {
      auto report = error(DiagnosticKind::MapIndex, index.range,
                          !bare   ? "without a domain, the target's indices are bare new names"
                          : taken ? fmt::format("`{}` is no new name", index.begin->name.text)
                                  : fmt::format("dimension {} of `{}` is known only at launch",
                                                dimension, symbol->name));
      if (taken)
        report.label(taken->declared, "declared here");
      report.help(fmt::format("give the map a domain: `map (i: n) {}`", target.range.text()));
      return false;
    }
    names.push_back(index.begin->name);
    extents.push_back(*extent);
  }
  return true;
}

bool KernelLowering::domainOf(const ast::Map &map, std::vector<ast::Name> &names,
                              SmallVector<int64_t> &extents) {
  if (map.domain.empty()) {
    const auto *assign = map.body.statements.empty()
                             ? nullptr
                             : std::get_if<Assign>(&map.body.statements.front().node);
    return assign && domainOfTarget(*assign, names, extents);
  }
  if (map.domain.size() > 6) {
    error(DiagnosticKind::ExtentRange, map.domain[6].range, "a domain has at most six indices");
    return false;
  }
  std::vector<SourceRange> ranges;
  for (const ast::Axis &axis : map.domain) {
    auto extent = evaluateInteger(*axis.extent, "the extent of a map's domain");
    if (!extent)
      return false;
    if (*extent < 1) {
      error(DiagnosticKind::ExtentRange, axis.extent->range,
            fmt::format("a domain of {} points", *extent));
      return false;
    }
    names.push_back(axis.name);
    extents.push_back(*extent);
    ranges.push_back(axis.extent->range);
  }
  return checkElements(extents, ranges, "the extent of a map's domain");
}

void KernelLowering::lowerMap(const ast::Map &statement, SourceRange range) {
  std::vector<ast::Name> names;
  SmallVector<int64_t> extents;
  if (!domainOf(statement, names, extents)) {
    failed = true;
    return;
  }
  SmallVector<StringRef> texts;
  for (const ast::Name &name : names)
    texts.push_back(name.text);
  map = tile::MapOp::create(builder, loc(range), builder.getDenseI64ArrayAttr(extents),
                            builder.getStrArrayAttr(texts));
  OpBuilder::InsertionGuard guard(builder);
  Block &body = map.getBody().emplaceBlock();
  builder.setInsertionPointToEnd(&body);
  scope.push();
  for (auto [name, extent] : llvm::zip_equal(names, extents)) {
    Symbol symbol{name.text, SymbolKind::Value, name.range};
    symbol.isPoint = true;
    BlockArgument argument = body.addArgument(builder.getI64Type(), loc(name.range, name.text));
    symbol.scalar = Scalar::of(argument, ScalarType::I64, uint64_t(1) << activePoints++);
    symbol.scalar.bounds = {0, extent - 1};
    declare(std::move(symbol));
  }
  lowerMapBody(statement);
  scope.pop();
  activePoints = 0;
  fragmentOrders.clear();
  hoistFromMap(map);
  map = {};
}

static bool mentions(const Expr &expr, const std::vector<std::string> &names) {
  if (expr.kind == ast::ExprKind::Reference && llvm::is_contained(names, expr.name.text))
    return true;
  return llvm::any_of(expr.operands,
                      [&](const ast::ExprPtr &operand) { return mentions(*operand, names); });
}

/// A point makes all its reads before its writes: values first, then stores.
void KernelLowering::lowerMapBody(const ast::Map &statement) {
  std::vector<PendingStore> stores;
  std::vector<std::string> targets;
  for (const ast::Stmt &stmt : statement.body.statements) {
    if (const auto *let = std::get_if<ast::Let>(&stmt.node)) {
      lowerLet(*let);
      continue;
    }
    const auto &assign = std::get<Assign>(stmt.node);
    const Expr &target = ast::withoutParens(*assign.target);
    bool readsEarlier = mentions(*assign.value, targets) ||
                        (assign.op != AssignOp::Set && mentions(target, targets));
    if (auto pending = evaluatePoint(assign, readsEarlier))
      stores.push_back(std::move(*pending));
    targets.push_back(target.name.text);
  }
  for (PendingStore &pending : stores)
    store(std::move(pending));
}

bool KernelLowering::checkPointTarget(const Element &target) {
  if (!checkWritable(*target.expr, target.symbol))
    return false;
  uint64_t points = 0;
  for (const Scalar &index : target.indices)
    points |= index.points;
  ArrayAttr names = map.getNames();
  for (auto [number, extent] : llvm::enumerate(map.getDomain())) {
    if (extent == 1 || (points >> number & 1))
      continue;
    error(DiagnosticKind::MapTarget, target.expr->range,
          fmt::format("several points write the same element of `{}`", target.symbol.name))
        .primary(
            fmt::format("the same for all `{}`", cast<StringAttr>(names[number]).getValue().str()))
        .label(target.symbol.declared, "declared here");
    return false;
  }
  return target.symbol.kind != SymbolKind::Frag || checkOwnPlace(target);
}

std::optional<Scalar> KernelLowering::combine(AssignOp op, SourceRange opRange, const Scalar &old,
                                              const Scalar &value, const Expr &target,
                                              const Expr &expr) {
  SourceRange range = target.range.to(expr.range);
  switch (op) {
  case AssignOp::Set:
    return value;
  case AssignOp::Add:
    return arithmetic(ast::BinaryOp::Add, old, value, range, opRange);
  case AssignOp::Sub:
    return arithmetic(ast::BinaryOp::Sub, old, value, range, opRange);
  case AssignOp::Mul:
    return arithmetic(ast::BinaryOp::Mul, old, value, range, opRange);
  }
  return std::nullopt;
}

std::optional<Scalar> KernelLowering::evaluatePointValue(const Assign &assign,
                                                         const Element &target) {
  auto value = evaluate(*assign.value);
  if (!value)
    return std::nullopt;
  if (assign.op != AssignOp::Set) {
    auto old = loadElement(target);
    if (!old)
      return std::nullopt;
    value = combine(assign.op, assign.opRange, *old, *value, *target.expr, *assign.value);
    if (!value)
      return std::nullopt;
  }
  return assignable(*value, target.symbol.type, *assign.value, target.expr->range);
}

std::optional<KernelLowering::PendingStore>
KernelLowering::evaluatePoint(const Assign &assign, bool readsEarlierTargets) {
  const Expr &targetExpr = ast::withoutParens(*assign.target);
  PendingStore pending;
  pending.assign = &assign;
  auto target = resolveElement(targetExpr);
  if (!target || !checkPointTarget(*target))
    return std::nullopt;
  pending.target = *target;
  if (assign.where) {
    auto condition = evaluate(*assign.where);
    if (!condition)
      return std::nullopt;
    if (condition->type != ScalarType::Bool) {
      error(DiagnosticKind::TypeMismatch, assign.where->range,
            fmt::format("a condition is a truth value, not {}",
                        ast::scalarTypeName(condition->type)));
      return std::nullopt;
    }
    if (condition->asBool() == false)
      return std::nullopt; // no point takes part
    if (!condition->isConstant())
      pending.condition = condition->base;
  }
  OpBuilder::InsertionGuard guard(builder);
  if (pending.condition) {
    pending.block = std::make_unique<Block>();
    builder.setInsertionPointToEnd(pending.block.get());
  }
  mask = pending.condition;
  auto value = evaluatePointValue(assign, *target);
  mask = {};
  if (!value)
    return std::nullopt;
  pending.value = materialize(*value, assign.value->range);
  if (pending.block) {
    builder.setInsertionPointToEnd(&map.getBody().front());
    hoistCollectives(*pending.block);
    if (readsEarlierTargets)
      unlessSkipped(pending);
  }
  return pending;
}

/// Computes the value now, under its condition, because its reads come before other stores.
void KernelLowering::unlessSkipped(PendingStore &pending) {
  Location location = loc(pending.assign->value->range);
  Type type = pending.value.getType();
  auto branch = scf::IfOp::create(builder, location, TypeRange{type}, pending.condition,
                                  /*withElseRegion=*/true);
  Block *then = branch.thenBlock();
  then->getOperations().splice(then->end(), pending.block->getOperations());
  builder.setInsertionPointToEnd(then);
  scf::YieldOp::create(builder, location, pending.value);
  builder.setInsertionPointToEnd(branch.elseBlock());
  Value nothing = constantValue(builder.getZeroAttr(type));
  scf::YieldOp::create(builder, location, nothing);
  pending.value = branch.getResult(0);
  pending.block.reset();
}

void KernelLowering::store(PendingStore pending) {
  SourceRange range = pending.target.expr->range;
  Location location = loc(range);
  SmallVector<Value> indices;
  for (const Scalar &index : pending.target.indices)
    indices.push_back(materialize(index, range));
  OpBuilder::InsertionGuard guard(builder);
  if (pending.condition) {
    auto branch = scf::IfOp::create(builder, loc(pending.assign->where->range), pending.condition,
                                    /*withElseRegion=*/false);
    Block *then = branch.thenBlock();
    if (pending.block)
      then->getOperations().splice(then->begin(), pending.block->getOperations());
    builder.setInsertionPoint(then->getTerminator());
  }
  tile::StoreOp::create(builder, location, pending.value, pending.target.value, indices);
}

/// A reduction over a fragment is a joint act of its threads; where it can do no harm it leaves the
/// condition that it was written under, with what it needs.
void KernelLowering::hoistCollectives(Block &arm) {
  SmallVector<Operation *> collectives;
  for (Operation &op : arm)
    if (auto reduce = dyn_cast<tile::ReduceOp>(op); reduce && reduce.getFragment())
      collectives.push_back(&op);
  for (Operation *collective : collectives) {
    llvm::SmallPtrSet<Operation *, 16> needed = {collective};
    bool harmless = true;
    for (Operation &op : llvm::reverse(arm)) {
      if (!needed.contains(&op))
        continue;
      harmless = harmless && !conditionalOps.contains(&op) && !isa<scf::IfOp>(op);
      op.walk([&](Operation *inner) {
        harmless = harmless && !conditionalOps.contains(inner);
        for (Value operand : inner->getOperands())
          if (Operation *source = operand.getDefiningOp(); source && source->getBlock() == &arm)
            needed.insert(source);
      });
    }
    if (!harmless)
      continue;
    for (Operation &op : llvm::make_early_inc_range(arm))
      if (needed.contains(&op)) {
        op.remove();
        builder.insert(&op);
      }
  }
}

/// What is the same at all points and has no effect is computed once, before the map.
void KernelLowering::hoistFromMap(tile::MapOp op) {
  Region &region = op.getBody();
  op.walk<WalkOrder::PreOrder>([&](Operation *inner) {
    bool movable = inner != op && inner->getNumRegions() == 0 && isPure(inner) &&
                   !inner->hasTrait<OpTrait::IsTerminator>() && !conditionalOps.contains(inner);
    if (!movable)
      return;
    for (Value operand : inner->getOperands())
      if (region.isAncestor(operand.getParentRegion()))
        return;
    inner->moveBefore(op);
  });
}

/// Whether the last bracket holds names only, and none of them is known: `p[r, c]` outside a map.
bool KernelLowering::namesPoint(const Expr &target) {
  return llvm::all_of(target.brackets.back().indices, [&](const ast::Index &index) {
    return index.kind == ast::Index::Kind::Point && index.begin->isBareName() &&
           !scope.find(index.begin->name.text);
  });
}

void KernelLowering::lowerAssign(const Assign &assign, SourceRange range) {
  const Expr &target = ast::withoutParens(*assign.target);
  Symbol *symbol = scope.find(target.name.text);
  if (symbol && symbol->kind == SymbolKind::Var && target.isBareName()) {
    assignVar(*symbol, assign);
    return;
  }
  if (symbol && !symbol->isTile() && symbol->kind != SymbolKind::Failed &&
      symbol->kind != SymbolKind::Absent) {
    auto report = error(DiagnosticKind::NotAssignable, target.range,
                        fmt::format("`{}` is {} and cannot be assigned to", target.name.text,
                                    describe(symbol->kind)));
    report.label(symbol->declared, "declared here");
    if (symbol->kind == SymbolKind::Value)
      report.help("a scalar that changes is declared with `var`");
    return;
  }
  if (symbol && target.brackets.size() > (symbol->ring ? 1u : 0u) && namesPoint(target)) {
    const Expr &index = *target.brackets.back().indices.front().begin;
    error(DiagnosticKind::UnknownName, index.range,
          fmt::format("there is no `{}` here", index.name.text))
        .help(fmt::format("`map {} {} ...` names a point of the tile", target.range.text(),
                          assign.opRange.text()));
    return;
  }
  auto tile = resolveTile(target);
  if (!tile || !checkWritable(target, tile->symbol)) {
    failed = true;
    return;
  }
  if (tile->symbol.kind == SymbolKind::Tensor) {
    error(DiagnosticKind::WrongSpace, target.range,
          "a whole-tile statement writes fragments and shared tiles")
        .primary("a tensor")
        .help("`copy` writes a window of a tensor, `map` its elements");
    return;
  }
  lowerTileAssign(assign, *tile, range);
}

void KernelLowering::lowerTileAssign(const Assign &assign, const TileRef &target,
                                     SourceRange range) {
  const Expr &value = ast::withoutParens(*assign.value);
  const Symbol *fn = scope.find(value.name.text);
  if (value.kind == ast::ExprKind::Call && value.name.text == "unit_lower_inverse" && !fn) {
    lowerInverse(assign, target, range);
    return;
  }
  if (assign.scratch) {
    error(DiagnosticKind::WrongKind, assign.scratch->range,
          "only `unit_lower_inverse` takes scratch");
    return;
  }
  fillTile(target, *assign.value, assign.op, assign.opRange, range);
}

/// A whole-tile statement is a map over the target's extents.
void KernelLowering::fillTile(const TileRef &target, const Expr &value, AssignOp op,
                              SourceRange opRange, SourceRange range) {
  static constexpr StringRef indexNames[] = {"i", "j", "k", "l", "m", "n"};
  SmallVector<StringRef> names(indexNames, indexNames + target.shape.size());
  map = tile::MapOp::create(builder, loc(range), builder.getDenseI64ArrayAttr(target.shape),
                            builder.getStrArrayAttr(names));
  OpBuilder::InsertionGuard guard(builder);
  Block &body = map.getBody().emplaceBlock();
  builder.setInsertionPointToEnd(&body);
  wholePoint.clear();
  for (StringRef name : names)
    wholePoint.push_back(body.addArgument(builder.getI64Type(), loc(range, name.str())));
  activePoints = static_cast<unsigned>(names.size());
  wholeTile = &target;
  auto result = evaluate(value);
  wholeTile = nullptr;
  activePoints = 0;
  if (result && op != AssignOp::Set) {
    auto old = tile::LoadOp::create(builder, loc(target.expr->range), mlirType(target.type()),
                                    target.value, wholePoint);
    Scalar before = Scalar::of(old.getResult(), target.type(), ~uint64_t(0));
    result = combine(op, opRange, before, *result, *target.expr, value);
  }
  std::string shape =
      mentionsTile(value) ? fmt::format("[{}]", fmt::join(target.shape, ", ")) : std::string();
  if (result)
    result = assignable(*result, target.type(), value, target.expr->range, shape);
  if (result)
    tile::StoreOp::create(builder, loc(range), materialize(*result, value.range), target.value,
                          wholePoint);
  hoistFromMap(map);
  map = {};
}

void KernelLowering::lowerInverse(const Assign &assign, const TileRef &target, SourceRange range) {
  const Expr &call = ast::withoutParens(*assign.value);
  if (call.operands.size() != 1 || assign.op != AssignOp::Set || !assign.scratch) {
    error(call.operands.size() != 1 ? DiagnosticKind::ArgumentCount : DiagnosticKind::WrongKind,
          call.range, "the inverse is written `a = unit_lower_inverse(l) using t_s`");
    return;
  }
  auto source = resolveTile(*call.operands[0]);
  ast::Expr scratchName;
  scratchName.kind = ast::ExprKind::Reference;
  scratchName.range = assign.scratch->range;
  scratchName.name = *assign.scratch;
  auto scratch = resolveTile(scratchName);
  if (!source || !scratch)
    return;
  for (const TileRef *tile : {&target, static_cast<const TileRef *>(&*source)}) {
    bool fits = isa<tile::FragType>(tile->value.getType()) && tile->type() == ScalarType::F32 &&
                ArrayRef<int64_t>(tile->shape) == ArrayRef<int64_t>{64, 64} && !tile->transposed;
    if (fits)
      continue;
    error(DiagnosticKind::ShapeMismatch, tile->expr->range,
          "`unit_lower_inverse` takes and gives a fragment f32[64, 64]")
        .label(tile->symbol.declared, "declared here");
    return;
  }
  if (scratch->symbol.kind != SymbolKind::Shared) {
    error(DiagnosticKind::WrongSpace, assign.scratch->range, "scratch is a shared tile")
        .label(scratch->symbol.declared, std::string(describe(scratch->symbol.kind)));
    return;
  }
  tile::InverseOp::create(builder, loc(range), target.value, source->value, scratch->value);
}

} // namespace flashqla::frontend
