/// Emits scalar arithmetic: constants, conversions, operators.
#include "compiler/frontend/lower.h"
#include "compiler/ir/location.h"

#include "mlir/IR/Iterators.h"

#include <cmath>
#include <numeric>

using namespace mlir;

namespace flashqla::frontend {

using ast::BinaryOp;

Location KernelLowering::loc(SourceRange range) { return toLocation(&context, range); }
Location KernelLowering::loc(SourceRange range, std::string_view name) {
  return toLocation(&context, range, name);
}

Type KernelLowering::mlirElementType(ScalarType type) {
  switch (type) {
  case ScalarType::BF16:
    return builder.getBF16Type();
  case ScalarType::F16:
    return builder.getF16Type();
  case ScalarType::F32:
    return builder.getF32Type();
  case ScalarType::I32:
    return builder.getI32Type();
  case ScalarType::I64:
    return builder.getI64Type();
  case ScalarType::Bool:
    return builder.getI1Type();
  }
  return {};
}

Type KernelLowering::mlirType(ScalarType type) {
  return mlirElementType(type == ScalarType::I32 ? ScalarType::I64 : type);
}

/// Constants stand at the top of the kernel, each once.
Value KernelLowering::constantValue(TypedAttr attribute) {
  Value &value = constants[attribute];
  if (value)
    return value;
  OpBuilder::InsertionGuard guard(builder);
  Block *body = &kernelOp.getBody().front();
  if (lastConstant)
    builder.setInsertionPointAfter(lastConstant);
  else
    builder.setInsertionPointToStart(body);
  auto op = arith::ConstantOp::create(builder, loc(kernel.header), attribute);
  lastConstant = op;
  value = op;
  return value;
}

Value KernelLowering::indexConstant(int64_t value) {
  return constantValue(builder.getI64IntegerAttr(value));
}

Value KernelLowering::materialize(const Scalar &scalar, SourceRange range) {
  if (scalar.whole)
    return scalar.whole;
  if (!scalar.constant) {
    if (scalar.offset == 0)
      return scalar.base;
    return arith::AddIOp::create(builder, loc(range), scalar.base, indexConstant(scalar.offset));
  }
  Type type = mlirType(scalar.type);
  if (const auto *boolean = std::get_if<bool>(&*scalar.constant))
    return constantValue(builder.getBoolAttr(*boolean));
  if (isInteger(scalar.type))
    return indexConstant(std::get<int64_t>(*scalar.constant));
  return constantValue(builder.getFloatAttr(type, asDouble(*scalar.constant)));
}

/// A conversion that is known to be possible.
Scalar KernelLowering::convert(const Scalar &scalar, ScalarType type, SourceRange range) {
  if (scalar.type == type && !scalar.literal)
    return scalar;
  Scalar result = scalar;
  result.type = type;
  result.literal = false;
  if (scalar.constant) {
    if (isFloat(type))
      result.constant = asDouble(*scalar.constant);
    return result;
  }
  if (isInteger(type) && isInteger(scalar.type))
    return result;
  Value value = materialize(scalar, range);
  Location location = loc(range);
  Type to = mlirType(type);
  if (isInteger(scalar.type)) {
    Value wide = arith::SIToFPOp::create(builder, location, builder.getF32Type(), value);
    return convert(Scalar::of(wide, ScalarType::F32, scalar.points), type, range);
  }
  if (scalar.type == ScalarType::F32)
    value = arith::TruncFOp::create(builder, location, to, value);
  else if (type == ScalarType::F32)
    value = arith::ExtFOp::create(builder, location, to, value);
  else // between the 16-bit types, by way of f32
    return convert(convert(scalar, ScalarType::F32, range), type, range);
  return Scalar::of(value, type, scalar.points);
}

/// The value as it is stored in a place of that type; what would lose bits is an error. `shape` is
/// shown behind the types.
std::optional<Scalar> KernelLowering::assignable(const Scalar &scalar, ScalarType type,
                                                 const ast::Expr &expr, SourceRange target,
                                                 std::string_view shape) {
  bool literal =
      scalar.literal && scalar.constant &&
      (isFloat(type) ? isNumber(scalar.type) : isInteger(type) == isInteger(scalar.type));
  if (literal && type == ScalarType::I32 && !scalar.bounds.within(INT32_MIN, INT32_MAX))
    literal = false;
  if (literal || widens(scalar.type, type))
    return convert(scalar, type, expr.range);
  std::string_view from = ast::scalarTypeName(scalar.type), to = ast::scalarTypeName(type);
  if (isNumber(scalar.type) && isNumber(type) && !(isFloat(scalar.type) && isInteger(type))) {
    error(DiagnosticKind::Narrowing, expr.range,
          fmt::format("`{}` is {}, `{}` is {}: narrowing is written out", expr.range.text(), from,
                      target.text(), to))
        .primary(fmt::format("{}{}", from, shape))
        .label(target, fmt::format("{}{}", to, shape))
        .help(fmt::format("`{}({})`", to, expr.range.text()));
    return std::nullopt;
  }
  error(DiagnosticKind::TypeMismatch, expr.range,
        fmt::format("`{}` is {} and takes no {}", target.text(), to, from))
      .primary(std::string(from))
      .label(target, std::string(to));
  return std::nullopt;
}

bool KernelLowering::checkDivision(BinaryOp op, const Scalar &a, const Scalar &b,
                                   SourceRange opRange) {
  if (op != BinaryOp::Div && op != BinaryOp::Mod)
    return true;
  if (b.asInteger() == 0) {
    error(DiagnosticKind::ConstantArithmetic, opRange, "an integer is divided by zero");
    return false;
  }
  if (a.bounds.highest >= 0 && b.bounds.highest >= 0)
    return true;
  error(DiagnosticKind::ConstantArithmetic, opRange,
        fmt::format("the {} operand of `{}` is always negative",
                    a.bounds.highest < 0 ? "left" : "right", ast::spelling(op)));
  return false;
}

/// `a op b` of scalars whose types the operator takes.
std::optional<Scalar> KernelLowering::arithmetic(BinaryOp op, const Scalar &a, const Scalar &b,
                                                 SourceRange range, SourceRange opRange) {
  auto type = resultType(op, a.type, b.type);
  if (!type) {
    error(DiagnosticKind::TypeMismatch, opRange,
          fmt::format("`{}` does not take {} and {}", ast::spelling(op),
                      ast::scalarTypeName(a.type), ast::scalarTypeName(b.type)));
    return std::nullopt;
  }
  bool integers = isInteger(a.type) && isInteger(b.type);
  if (a.constant && b.constant) {
    Folded folded = fold(op, *a.constant, *b.constant);
    if (folded.value)
      return Scalar::of(std::move(*folded.value));
    error(DiagnosticKind::ConstantArithmetic, opRange, folded.problem);
    return std::nullopt;
  }
  if (integers && !checkDivision(op, a, b, opRange))
    return std::nullopt;
  if (*type == ScalarType::Bool)
    return Scalar::of(emitComparison(op, a, b, range), ScalarType::Bool, a.points | b.points);
  if (integers)
    return integerArithmetic(op, a, b, range);
  Scalar left = convert(a, ScalarType::F32, range), right = convert(b, ScalarType::F32, range);
  bool isOne = right.constant && asDouble(*right.constant) == 1;
  if (isOne && (op == BinaryOp::Mul || op == BinaryOp::Div))
    return left;
  if (op == BinaryOp::Mul && left.constant && asDouble(*left.constant) == 1)
    return right;
  Value value = emitFloat(op, materialize(left, range), materialize(right, range), loc(range));
  return Scalar::of(value, ScalarType::F32, a.points | b.points);
}

/// A multiple of a scalar, with the factor drawn into its offset.
std::optional<Scalar> KernelLowering::scaled(const Scalar &a, int64_t factor, SourceRange range) {
  Scalar result;
  if (a.whole || __builtin_mul_overflow(a.offset, factor, &result.offset))
    return std::nullopt;
  result.base =
      factor == 1 ? a.base : emitInteger(BinaryOp::Mul, a.base, indexConstant(factor), loc(range));
  return result;
}

Scalar KernelLowering::integerArithmetic(BinaryOp op, const Scalar &a, const Scalar &b,
                                         SourceRange range) {
  Scalar result;
  std::optional<int64_t> right = b.asInteger(), left = a.asInteger();
  int64_t offset = 0;
  if (op == BinaryOp::Add && right && !__builtin_add_overflow(a.offset, *right, &offset)) {
    result.base = a.base, result.offset = offset;
  } else if (op == BinaryOp::Sub && right && !__builtin_sub_overflow(a.offset, *right, &offset)) {
    result.base = a.base, result.offset = offset;
  } else if (op == BinaryOp::Add && left && !__builtin_add_overflow(b.offset, *left, &offset)) {
    result.base = b.base, result.offset = offset;
  } else if ((op == BinaryOp::Mul || op == BinaryOp::Div) && right == 1) {
    result.base = a.base, result.offset = a.offset, result.whole = a.whole;
  } else if (op == BinaryOp::Mul && left == 1) {
    result.base = b.base, result.offset = b.offset, result.whole = b.whole;
  } else {
    std::optional<Scalar> multiple;
    if (op == BinaryOp::Mul && right)
      multiple = scaled(a, *right, range);
    else if (op == BinaryOp::Mul && left)
      multiple = scaled(b, *left, range);
    if (multiple) {
      result = *multiple;
    } else {
      result.base = emitInteger(op, materialize(a, range), materialize(b, range), loc(range));
      bool mayFault = (op == BinaryOp::Div || op == BinaryOp::Mod) && b.bounds.lowest <= 0 &&
                      b.bounds.highest >= 0;
      if (mayFault)
        conditionalOps.insert(result.base.getDefiningOp());
    }
  }
  result.type = ScalarType::I64;
  result.bounds = boundsOf(op, a.bounds, b.bounds);
  result.divisor = divisorOf(op, a.divisor, b.divisor);
  result.points = a.points | b.points;
  result.loopBound = (op == BinaryOp::Add || op == BinaryOp::Sub) && a.loopBound && right;
  return result;
}

Value KernelLowering::emitInteger(BinaryOp op, Value a, Value b, Location location) {
  switch (op) {
  case BinaryOp::Add:
    return arith::AddIOp::create(builder, location, a, b);
  case BinaryOp::Sub:
    return arith::SubIOp::create(builder, location, a, b);
  case BinaryOp::Mul:
    return arith::MulIOp::create(builder, location, a, b);
  case BinaryOp::Div: // operands are not negative: floor is truncation
    return arith::DivSIOp::create(builder, location, a, b);
  case BinaryOp::Mod:
    return arith::RemSIOp::create(builder, location, a, b);
  case BinaryOp::Eq:
  case BinaryOp::Ne:
  case BinaryOp::Lt:
  case BinaryOp::Le:
  case BinaryOp::Gt:
  case BinaryOp::Ge:
  case BinaryOp::And:
  case BinaryOp::Or:
    break;
  }
  llvm_unreachable("comparisons and logic are emitted elsewhere");
}

Value KernelLowering::emitFloat(BinaryOp op, Value a, Value b, Location location) {
  if (op == BinaryOp::Add)
    return arith::AddFOp::create(builder, location, a, b);
  if (op == BinaryOp::Sub)
    return arith::SubFOp::create(builder, location, a, b);
  if (op == BinaryOp::Mul)
    return arith::MulFOp::create(builder, location, a, b);
  return arith::DivFOp::create(builder, location, a, b);
}

static arith::CmpIPredicate integerPredicate(BinaryOp op) {
  switch (op) {
  case BinaryOp::Ne:
    return arith::CmpIPredicate::ne;
  case BinaryOp::Lt:
    return arith::CmpIPredicate::slt;
  case BinaryOp::Le:
    return arith::CmpIPredicate::sle;
  case BinaryOp::Gt:
    return arith::CmpIPredicate::sgt;
  case BinaryOp::Ge:
    return arith::CmpIPredicate::sge;
  case BinaryOp::Eq:
  case BinaryOp::Add:
  case BinaryOp::Sub:
  case BinaryOp::Mul:
  case BinaryOp::Div:
  case BinaryOp::Mod:
  case BinaryOp::And:
  case BinaryOp::Or:
    break;
  }
  return arith::CmpIPredicate::eq;
}

static arith::CmpFPredicate floatPredicate(BinaryOp op) {
  switch (op) {
  case BinaryOp::Ne: // the only comparison that holds for NaN
    return arith::CmpFPredicate::UNE;
  case BinaryOp::Lt:
    return arith::CmpFPredicate::OLT;
  case BinaryOp::Le:
    return arith::CmpFPredicate::OLE;
  case BinaryOp::Gt:
    return arith::CmpFPredicate::OGT;
  case BinaryOp::Ge:
    return arith::CmpFPredicate::OGE;
  case BinaryOp::Eq:
  case BinaryOp::Add:
  case BinaryOp::Sub:
  case BinaryOp::Mul:
  case BinaryOp::Div:
  case BinaryOp::Mod:
  case BinaryOp::And:
  case BinaryOp::Or:
    break;
  }
  return arith::CmpFPredicate::OEQ;
}

Value KernelLowering::emitComparison(BinaryOp op, const Scalar &a, const Scalar &b,
                                     SourceRange range) {
  if (!isFloat(a.type) && !isFloat(b.type))
    return arith::CmpIOp::create(builder, loc(range), integerPredicate(op), materialize(a, range),
                                 materialize(b, range));
  Value left = materialize(convert(a, ScalarType::F32, range), range);
  Value right = materialize(convert(b, ScalarType::F32, range), range);
  return arith::CmpFOp::create(builder, loc(range), floatPredicate(op), left, right);
}

Value KernelLowering::emitFunction(Builtin builtin, Value x, Location location) {
  switch (builtin) {
  case Builtin::Exp:
    return math::ExpOp::create(builder, location, x);
  case Builtin::Exp2:
    return math::Exp2Op::create(builder, location, x);
  case Builtin::Log:
    return math::LogOp::create(builder, location, x);
  case Builtin::Log2:
    return math::Log2Op::create(builder, location, x);
  case Builtin::Rsqrt:
    return math::RsqrtOp::create(builder, location, x);
  case Builtin::Sqrt:
    return math::SqrtOp::create(builder, location, x);
  case Builtin::Tanh:
    return math::TanhOp::create(builder, location, x);
  case Builtin::Abs:
    return math::AbsFOp::create(builder, location, x);
  case Builtin::Max:
  case Builtin::Min:
  case Builtin::CeilDiv:
    break;
  }
  llvm_unreachable("functions of two arguments are emitted elsewhere");
}

Scalar KernelLowering::negated(const Scalar &scalar, SourceRange range) {
  if (isInteger(scalar.type))
    return integerArithmetic(BinaryOp::Sub, Scalar::of(int64_t(0)), scalar, range);
  Value value = materialize(convert(scalar, ScalarType::F32, range), range);
  return Scalar::of(arith::NegFOp::create(builder, loc(range), value), ScalarType::F32,
                    scalar.points);
}

/// Whether evaluating the block where the program would not is harmless.
bool KernelLowering::speculatable(Block &block) {
  bool harmless = true;
  block.walk([&](Operation *op) {
    bool pure = isa<tile::LoadOp, tile::ReduceOp, tile::YieldOp, tile::ViewOp>(op) || isPure(op);
    if (!pure || isa<scf::IfOp>(op) || conditionalOps.contains(op))
      harmless = false;
  });
  return harmless;
}

void KernelLowering::nameValue(const Scalar &scalar, std::string_view name) {
  Value value = scalar.whole ? scalar.whole : scalar.base;
  Operation *op = value ? value.getDefiningOp() : nullptr;
  if (op && !isa<NameLoc>(op->getLoc()))
    op->setLoc(NameLoc::get(builder.getStringAttr(name), op->getLoc()));
}

/// Signatures and windows leave pure values behind that nobody needed.
void KernelLowering::eraseDead() {
  bool changed = true;
  while (changed) {
    changed = false;
    kernelOp.walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
      if (isa<tile::ArgumentOp>(op) || !isOpTriviallyDead(op))
        return;
      op->erase();
      changed = true;
    });
  }
}

} // namespace flashqla::frontend
