/// Scalar expressions.
#include "compiler/frontend/lower.h"

using namespace mlir;

namespace flashqla::frontend {

using ast::BinaryOp;
using ast::Expr;
using ast::ExprKind;

/// In a whole-tile statement only tiles are read at each point; what has no tile in it is computed
/// once, before.
std::optional<Scalar> KernelLowering::evaluate(const Expr &expr) {
  if (!wholeTile || mentionsTile(expr))
    return evaluateKind(expr);
  const TileRef *suspended = std::exchange(wholeTile, nullptr);
  tile::MapOp suspendedMap = std::exchange(map, tile::MapOp());
  OpBuilder::InsertionGuard guard(builder);
  if (armDepth == 0) // what stands under a condition stays there
    builder.setInsertionPoint(suspendedMap);
  auto value = evaluateKind(expr);
  wholeTile = suspended;
  map = suspendedMap;
  return value;
}

std::optional<Scalar> KernelLowering::evaluateKind(const Expr &expr) {
  switch (expr.kind) {
  case ExprKind::Integer:
    return Scalar::of(expr.integer);
  case ExprKind::Float:
    return Scalar::of(expr.real);
  case ExprKind::Bool:
    return Scalar::of(expr.boolean);
  case ExprKind::Inf:
    return Scalar::of(std::numeric_limits<double>::infinity());
  case ExprKind::Type:
    error(DiagnosticKind::WrongKind, expr.range, "a type is no value");
    return std::nullopt;
  case ExprKind::Reference:
    return evaluateReference(expr);
  case ExprKind::Call:
    return evaluateCall(expr);
  case ExprKind::Unary:
    return evaluateUnary(expr);
  case ExprKind::Binary:
    if (expr.binary == BinaryOp::And || expr.binary == BinaryOp::Or)
      return evaluateLogical(expr);
    return evaluateBinary(expr);
  case ExprKind::Ternary:
    return evaluateTernary(expr);
  case ExprKind::Reduction:
    if (expr.reduction == ast::ReductionKind::Scan ||
        expr.reduction == ast::ReductionKind::ReverseScan)
      return evaluateScan(expr);
    return evaluateReduction(expr);
  case ExprKind::Paren:
    return evaluate(*expr.operands[0]);
  }
  return std::nullopt;
}

std::optional<Scalar> KernelLowering::evaluateReference(const Expr &expr) {
  if (wholeTile)
    return loadWholeTile(expr);
  const Symbol *symbol = lookupName(expr.name);
  if (!symbol)
    return std::nullopt;
  bool scalar = symbol->kind == SymbolKind::Value || symbol->kind == SymbolKind::Var;
  if (scalar && expr.isBareName())
    return symbol->scalar;
  if (scalar || !symbol->isTile()) {
    error(DiagnosticKind::WrongKind, expr.range,
          scalar ? fmt::format("`{}` is a scalar: it has no elements", expr.name.text)
                 : fmt::format("`{}` is {}, not a value", expr.name.text, describe(symbol->kind)))
        .label(symbol->declared, "declared here");
    return std::nullopt;
  }
  auto element = resolveElement(expr);
  return element ? loadElement(*element) : std::nullopt;
}

std::optional<Scalar> KernelLowering::loadElement(const Element &element) {
  const Symbol &symbol = element.symbol;
  SourceRange range = element.expr->range;
  if (symbol.kind == SymbolKind::Tensor && symbol.argument->direction == ast::Direction::Out) {
    error(DiagnosticKind::TensorDirection, range,
          fmt::format("`{}` is an `out` tensor: it cannot be read", symbol.name))
        .label(symbol.argument->directionRange, "declared here")
        .help("declare it `inout`");
    return std::nullopt;
  }
  if (symbol.kind == SymbolKind::Frag) {
    if (!checkOwnPlace(element))
      return std::nullopt;
    readsFragment = true;
  }
  SmallVector<Value> indices;
  uint64_t points = 0;
  for (const Scalar &index : element.indices) {
    indices.push_back(materialize(index, range));
    points |= index.points;
  }
  auto load =
      tile::LoadOp::create(builder, loc(range), mlirType(symbol.type), element.value, indices);
  if (!element.inRange)
    conditionalOps.insert(load);
  return Scalar::of(load.getResult(), symbol.type, points);
}

std::optional<Scalar> KernelLowering::loadWholeTile(const Expr &expr) {
  auto tile = [&] {
    const TileRef *suspended = std::exchange(wholeTile, nullptr);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(map); // windows are the same for all points
    auto resolved = resolveTile(expr);
    wholeTile = suspended;
    return resolved;
  }();
  if (!tile)
    return std::nullopt;
  if (tile->symbol.kind == SymbolKind::Tensor || tile->transposed) {
    error(DiagnosticKind::WrongSpace, expr.range,
          tile->transposed ? "`.T` is for operands of `wgmma`; a `map` transposes"
                           : "a whole-tile statement reads fragments and shared tiles")
        .primary(tile->transposed ? "" : "a window of a tensor");
    return std::nullopt;
  }
  if (tile->shape != wholeTile->shape) {
    error(DiagnosticKind::ShapeMismatch, expr.range,
          fmt::format("shapes differ: [{}] and [{}]", fmt::join(wholeTile->shape, ", "),
                      fmt::join(tile->shape, ", ")))
        .primary(
            fmt::format("{}[{}]", ast::scalarTypeName(tile->type()), fmt::join(tile->shape, ", ")))
        .label(wholeTile->expr->range, fmt::format("{}[{}]", ast::scalarTypeName(wholeTile->type()),
                                                   fmt::join(wholeTile->shape, ", ")));
    return std::nullopt;
  }
  auto load = tile::LoadOp::create(builder, loc(expr.range), mlirType(tile->type()), tile->value,
                                   wholePoint);
  return Scalar::of(load.getResult(), tile->type(), ~uint64_t(0));
}

std::optional<Scalar> KernelLowering::evaluateCall(const Expr &expr) {
  const Symbol *symbol = expr.callee ? nullptr : scope.find(expr.name.text);
  std::optional<ScalarType> conversion = expr.callee;
  if (symbol && symbol->kind == SymbolKind::Type)
    conversion = symbol->type;
  const BuiltinInfo *info = findBuiltin(expr.name.text);
  if (!conversion && !info && expr.name.text == "unit_lower_inverse") {
    error(DiagnosticKind::WrongKind, expr.range,
          "`unit_lower_inverse` is a statement of its own: `a = unit_lower_inverse(l) using t_s`");
    return std::nullopt;
  }
  if (!conversion && !info && !(symbol && symbol->kind == SymbolKind::Fn)) {
    std::vector<std::string> names;
    for (const BuiltinInfo &builtin : allBuiltins())
      names.emplace_back(builtin.name);
    auto report = error(DiagnosticKind::UnknownName, expr.name.range,
                        fmt::format("there is no function `{}`", expr.name.text));
    std::string close = closestName(expr.name.text, names);
    if (close.empty() && !symbol)
      close = scope.closest(expr.name.text);
    if (!close.empty())
      report.help(fmt::format("did you mean `{}`?", close));
    return std::nullopt;
  }
  SmallVector<Scalar> arguments;
  for (const ast::ExprPtr &operand : expr.operands) {
    auto argument = evaluate(*operand);
    if (!argument)
      return std::nullopt;
    arguments.push_back(*argument);
  }
  bool many = info && (info->builtin == Builtin::Max || info->builtin == Builtin::Min);
  size_t wanted = conversion ? 1 : info ? info->arguments : symbol->fn->params.size();
  if (many ? arguments.size() < wanted : arguments.size() != wanted) {
    error(DiagnosticKind::ArgumentCount, expr.range,
          fmt::format("`{}` takes {} argument{}, not {}", expr.name.text, wanted,
                      wanted == 1 ? "" : "s", arguments.size()));
    return std::nullopt;
  }
  if (info && !conversion)
    return evaluateBuiltin(expr, std::move(arguments));
  if (!conversion)
    return inlineCall(expr, *symbol, std::move(arguments));
  Scalar &argument = arguments[0];
  bool possible = argument.type == *conversion ||
                  (isNumber(argument.type) &&
                   (isFloat(*conversion) || (isInteger(*conversion) && isInteger(argument.type))));
  if (possible)
    return convert(argument, *conversion, expr.range);
  error(DiagnosticKind::TypeMismatch, expr.range,
        fmt::format("{} cannot be converted to {}", ast::scalarTypeName(argument.type),
                    ast::scalarTypeName(*conversion)));
  return std::nullopt;
}

std::optional<Scalar> KernelLowering::inlineCall(const Expr &expr, const Symbol &symbol,
                                                 SmallVector<Scalar> arguments) {
  const ast::Fn &fn = *symbol.fn;
  Scope inner = scope.moduleBefore(symbol.order);
  inner.push();
  for (auto [name, argument] : llvm::zip_equal(fn.params, arguments)) {
    Symbol parameter{name.text, SymbolKind::Value, name.range};
    parameter.scalar = argument;
    inner.declare(std::move(parameter));
  }
  std::swap(scope, inner);
  // Inside the body no name is a tile, so that arguments that were read from one stay points.
  const TileRef *suspended = std::exchange(wholeTile, nullptr);
  reporter.enter(expr.range);
  auto value = evaluate(*fn.value);
  reporter.leave();
  wholeTile = suspended;
  std::swap(scope, inner);
  return value;
}

static Value emitExtreme(OpBuilder &builder, Location location, bool largest, bool integers,
                         Value a, Value b) {
  if (integers)
    return largest ? Value(arith::MaxSIOp::create(builder, location, a, b))
                   : Value(arith::MinSIOp::create(builder, location, a, b));
  return largest ? Value(arith::MaxNumFOp::create(builder, location, a, b))
                 : Value(arith::MinNumFOp::create(builder, location, a, b));
}

std::optional<Scalar> KernelLowering::emitCeilDiv(const Expr &expr, const Scalar &a,
                                                  const Scalar &b) {
  if (b.bounds.highest <= 0) {
    error(DiagnosticKind::ConstantArithmetic, expr.operands[1]->range,
          "`ceildiv` needs a positive divisor");
    return std::nullopt;
  }
  if (b.asInteger() == 1)
    return a;
  Scalar result;
  result.points = a.points | b.points;
  result.bounds = boundsOf(Builtin::CeilDiv, a.bounds, b.bounds);
  result.base = arith::CeilDivSIOp::create(builder, loc(expr.range), materialize(a, expr.range),
                                           materialize(b, expr.range));
  if (b.bounds.lowest <= 0)
    conditionalOps.insert(result.base.getDefiningOp());
  return result;
}

std::optional<Scalar> KernelLowering::evaluateBuiltin(const Expr &expr,
                                                      SmallVector<Scalar> arguments) {
  const BuiltinInfo &info = *findBuiltin(expr.name.text);
  SmallVector<Constant> known;
  bool integers = true;
  Scalar result;
  for (auto [argument, operand] : llvm::zip_equal(arguments, expr.operands)) {
    bool fits =
        info.builtin == Builtin::CeilDiv ? isInteger(argument.type) : isNumber(argument.type);
    if (!fits) {
      error(DiagnosticKind::TypeMismatch, operand->range,
            fmt::format("`{}` takes no {}", info.name, ast::scalarTypeName(argument.type)));
      return std::nullopt;
    }
    integers = integers && isInteger(argument.type);
    if (argument.constant)
      known.push_back(*argument.constant);
    result.points |= argument.points;
  }
  if (known.size() == arguments.size()) {
    Folded folded = fold(info.builtin, std::span<const Constant>(known));
    if (folded.value)
      return Scalar::of(*folded.value);
    error(DiagnosticKind::ConstantArithmetic, expr.range, folded.problem);
    return std::nullopt;
  }
  Location location = loc(expr.range);
  bool onlyFloat = info.arguments == 1 && info.builtin != Builtin::Abs;
  ScalarType type = integers && !onlyFloat ? ScalarType::I64 : ScalarType::F32;
  if (info.builtin == Builtin::CeilDiv)
    return emitCeilDiv(expr, arguments[0], arguments[1]);
  result.type = type;
  if (info.arguments == 1) {
    Value value = materialize(convert(arguments[0], type, expr.range), expr.range);
    result.base = type == ScalarType::I64 ? Value(math::AbsIOp::create(builder, location, value))
                                          : emitFunction(info.builtin, value, location);
    result.bounds = boundsOf(info.builtin, arguments[0].bounds, {});
    return result;
  }
  for (const Scalar &argument : arguments) {
    Value next = materialize(convert(argument, type, expr.range), expr.range);
    result.base = result.base ? emitExtreme(builder, location, info.builtin == Builtin::Max,
                                            type == ScalarType::I64, result.base, next)
                              : next;
  }
  if (type == ScalarType::I64) {
    result.bounds = arguments[0].bounds;
    for (const Scalar &argument : ArrayRef<Scalar>(arguments).drop_front())
      result.bounds = boundsOf(info.builtin, result.bounds, argument.bounds);
  }
  return result;
}

std::optional<Scalar> KernelLowering::evaluateUnary(const Expr &expr) {
  auto operand = evaluate(*expr.operands[0]);
  if (!operand)
    return std::nullopt;
  bool isNot = expr.unary == ast::UnaryOp::Not;
  if (isNot ? operand->type != ScalarType::Bool : !isNumber(operand->type)) {
    error(DiagnosticKind::TypeMismatch, expr.range,
          fmt::format("`{}` takes no {}", ast::spelling(expr.unary),
                      ast::scalarTypeName(operand->type)));
    return std::nullopt;
  }
  if (operand->constant) {
    Folded folded = fold(expr.unary, *operand->constant);
    if (folded.value)
      return Scalar::of(*folded.value);
    error(DiagnosticKind::ConstantArithmetic, expr.range, folded.problem);
    return std::nullopt;
  }
  if (!isNot)
    return negated(*operand, expr.range);
  Value yes = constantValue(builder.getBoolAttr(true));
  Value value = arith::XOrIOp::create(builder, loc(expr.range), operand->base, yes);
  return Scalar::of(value, ScalarType::Bool, operand->points);
}

std::optional<Scalar> KernelLowering::evaluateBinary(const Expr &expr) {
  auto left = evaluate(*expr.operands[0]);
  auto right = evaluate(*expr.operands[1]);
  if (!left || !right)
    return std::nullopt;
  return arithmetic(expr.binary, *left, *right, expr.range, expr.opRange);
}

/// Lowers into a block of its own, so that the caller can decide whether the condition guards it.
std::optional<Arm> KernelLowering::evaluateArm(const Expr &expr) {
  Arm arm;
  arm.block = std::make_unique<Block>();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(arm.block.get());
  ++armDepth;
  auto result = evaluate(expr);
  --armDepth;
  if (!result)
    return std::nullopt;
  arm.result = *result;
  return arm;
}

/// Puts ops of an arm at the current place.
static void spliceHere(OpBuilder &builder, Block &from) {
  builder.getInsertionBlock()->getOperations().splice(builder.getInsertionPoint(),
                                                      from.getOperations());
}

/// `condition ? then : otherwise`. Where both arms are harmless they are evaluated and one result
/// is selected; otherwise only the one that is needed is.
std::optional<Scalar> KernelLowering::choose(const Expr &expr, const Scalar &condition, Arm then,
                                             Arm otherwise, ScalarType type) {
  Location location = loc(expr.range);
  Arm *arms[] = {&then, &otherwise};
  Value values[2];
  for (int i : {0, 1}) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(arms[i]->block.get());
    values[i] = materialize(convert(arms[i]->result, type, expr.range), expr.range);
  }
  Scalar result;
  result.type = type;
  result.points = condition.points | then.result.points | otherwise.result.points;
  result.bounds = then.result.bounds.join(otherwise.result.bounds);
  result.divisor = std::gcd(then.result.divisor, otherwise.result.divisor);
  if (speculatable(*then.block) && speculatable(*otherwise.block)) {
    spliceHere(builder, *then.block);
    spliceHere(builder, *otherwise.block);
    const bool *no =
        otherwise.result.constant ? std::get_if<bool>(&*otherwise.result.constant) : nullptr;
    const bool *yes = then.result.constant ? std::get_if<bool>(&*then.result.constant) : nullptr;
    if (no && !*no)
      result.base = arith::AndIOp::create(builder, location, condition.base, values[0]);
    else if (yes && *yes)
      result.base = arith::OrIOp::create(builder, location, condition.base, values[1]);
    else
      result.base =
          arith::SelectOp::create(builder, location, condition.base, values[0], values[1]);
    return result;
  }
  for (Arm *arm : arms)
    hoistCollectives(*arm->block);
  auto branch = scf::IfOp::create(builder, location, TypeRange{values[0].getType()}, condition.base,
                                  /*withElseRegion=*/true);
  for (int i : {0, 1}) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(i == 0 ? branch.thenBlock() : branch.elseBlock());
    spliceHere(builder, *arms[i]->block);
    scf::YieldOp::create(builder, location, values[i]);
  }
  result.base = branch.getResult(0);
  return result;
}

std::optional<Scalar> KernelLowering::evaluateLogical(const Expr &expr) {
  auto left = evaluate(*expr.operands[0]);
  if (!left)
    return std::nullopt;
  bool isOr = expr.binary == BinaryOp::Or;
  if (left->type == ScalarType::Bool && left->asBool() == isOr)
    return left; // the other operand is not looked at
  bool known = left->isConstant();
  std::optional<Arm> arm;
  std::optional<Scalar> right;
  if (known) {
    right = evaluate(*expr.operands[1]);
  } else if ((arm = evaluateArm(*expr.operands[1]))) {
    right = arm->result;
  }
  if (!right)
    return std::nullopt;
  if (left->type != ScalarType::Bool || right->type != ScalarType::Bool) {
    bool leftWrong = left->type != ScalarType::Bool;
    error(DiagnosticKind::TypeMismatch, expr.operands[leftWrong ? 0 : 1]->range,
          fmt::format("`{}` takes truth values, not {}", ast::spelling(expr.binary),
                      ast::scalarTypeName(leftWrong ? left->type : right->type)));
    return std::nullopt;
  }
  if (known)
    return right;
  if (right->isConstant())
    return right->asBool() == isOr ? right : left;
  Arm decided;
  decided.block = std::make_unique<Block>();
  decided.result = Scalar::of(isOr);
  if (isOr)
    return choose(expr, *left, std::move(decided), std::move(*arm), ScalarType::Bool);
  return choose(expr, *left, std::move(*arm), std::move(decided), ScalarType::Bool);
}

std::optional<Scalar> KernelLowering::evaluateTernary(const Expr &expr) {
  auto condition = evaluate(*expr.operands[0]);
  if (!condition)
    return std::nullopt;
  if (condition->type != ScalarType::Bool) {
    error(
        DiagnosticKind::TypeMismatch, expr.operands[0]->range,
        fmt::format("a condition is a truth value, not {}", ast::scalarTypeName(condition->type)));
    return std::nullopt;
  }
  if (auto decided = condition->asBool())
    return evaluate(*expr.operands[*decided ? 1 : 2]);
  auto then = evaluateArm(*expr.operands[1]), otherwise = evaluateArm(*expr.operands[2]);
  if (!then || !otherwise)
    return std::nullopt;
  auto type = commonType(then->result.type, otherwise->result.type);
  if (!type) {
    error(DiagnosticKind::TypeMismatch, expr.opRange,
          fmt::format("the arms of `?:` are {} and {}", ast::scalarTypeName(then->result.type),
                      ast::scalarTypeName(otherwise->result.type)))
        .label(expr.operands[1]->range, std::string(ast::scalarTypeName(then->result.type)))
        .label(expr.operands[2]->range, std::string(ast::scalarTypeName(otherwise->result.type)));
    return std::nullopt;
  }
  // A number without a type takes that of the other arm.
  const Scalar *typed = then->result.literal        ? &otherwise->result
                        : otherwise->result.literal ? &then->result
                                                    : nullptr;
  bool taken = isInteger(then->result.type) == isInteger(otherwise->result.type);
  if (typed && !typed->literal && (taken || isFloat(typed->type)))
    type = typed->type;
  return choose(expr, *condition, std::move(*then), std::move(*otherwise), *type);
}

std::optional<Scalar> KernelLowering::evaluateIndex(const Expr &expr) {
  auto scalar = evaluate(expr);
  if (!scalar || isInteger(scalar->type))
    return scalar;
  error(DiagnosticKind::TypeMismatch, expr.range,
        fmt::format("an integer is needed here, not {}", ast::scalarTypeName(scalar->type)));
  return std::nullopt;
}

std::optional<int64_t> KernelLowering::evaluateInteger(const Expr &expr, std::string_view what) {
  auto scalar = evaluateIndex(expr);
  if (!scalar)
    return std::nullopt;
  if (auto integer = scalar->asInteger())
    return integer;
  auto report = error(DiagnosticKind::NotConstant, expr.range,
                      fmt::format("{} must be known when compiling", what));
  const Expr &inner = ast::withoutParens(expr);
  const Symbol *symbol = inner.isBareName() ? scope.find(inner.name.text) : nullptr;
  bool isDim = symbol && llvm::any_of(kernel.dims, [&](const ast::Dim &dim) {
                 return dim.name.text == symbol->name;
               });
  report.primary(isDim ? "known at launch" : "not known when compiling");
  if (symbol)
    report.label(symbol->declared, "declared here");
  if (isDim)
    report.help(fmt::format("`{}: static` is known when compiling", symbol->name));
  return std::nullopt;
}

bool KernelLowering::requireUniform(const Scalar &scalar, const Expr &expr, std::string_view what) {
  if (scalar.uniform())
    return true;
  error(DiagnosticKind::Uniformity, expr.range,
        fmt::format("{} must be the same at all points", what))
      .primary("depends on an index");
  return false;
}

} // namespace flashqla::frontend
