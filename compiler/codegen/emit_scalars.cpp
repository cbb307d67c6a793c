/// Scalar expressions. An i64 whose values provably fit is a C++ `int`; 16-bit floats are `float`s that hold an exact
/// 16-bit value, so that arithmetic on them happens in f32 and two of them are packed by one instruction.
#include "compiler/codegen/emitter.h"

#include "mlir/Analysis/DataFlow/IntegerRangeAnalysis.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;

namespace flashqla::codegen {

bool KernelEmitter::fitsInt(Value value) {
  if (!value.getType().isInteger(64))
    return true;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.isSignedIntN(32);
  const auto *state = ranges.lookupState<dataflow::IntegerValueRangeLattice>(value);
  if (!state || state->getValue().isUninitialized())
    return false;
  const ConstantIntRanges &range = state->getValue().getValue();
  return range.smin().isSignedIntN(32) && range.smax().isSignedIntN(32);
}

std::string KernelEmitter::cppType(Value value) {
  Type type = value.getType();
  if (type.isInteger(1))
    return "bool";
  if (type.isInteger(32))
    return "int"; // a counter of a ring
  if (type.isInteger(64))
    return fitsInt(value) ? "int" : "i64";
  return "float";
}

std::string KernelEmitter::asInt(Value value) {
  Code code = scalar(value);
  return fitsInt(value) ? code.text : "(int)" + code.in(Code::unary);
}

std::string KernelEmitter::freshName(std::string_view base) {
  std::string name(base);
  for (int suffix = 1; !taken.insert(name).second; ++suffix)
    name = fmt::format("{}_{}", base, suffix);
  return name;
}

std::string KernelEmitter::nameValue(Value value, std::string_view fallback) {
  std::string_view hint = nameHint(value.getLoc());
  return names[value] = freshName(hint.empty() ? fallback : hint);
}

namespace {

/// A float literal that reads back as the same value.
std::string floatLiteral(const APFloat &value) {
  double number = value.convertToDouble();
  if (std::isinf(number))
    return number < 0 ? "-__int_as_float(0x7f800000)" : "__int_as_float(0x7f800000)";
  if (std::isnan(number))
    return "__int_as_float(0x7fffffff)";
  std::string text = fmt::format("{}", static_cast<float>(number));
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return text + "f";
}

std::string mathFunction(Operation &op) {
  return llvm::TypeSwitch<Operation *, std::string>(&op)
      .Case<math::ExpOp>([](auto) { return "fast_exp"; })
      .Case<math::Exp2Op>([](auto) { return "fast_exp2"; })
      .Case<math::LogOp>([](auto) { return "fast_log"; })
      .Case<math::Log2Op>([](auto) { return "fast_log2"; })
      .Case<math::RsqrtOp>([](auto) { return "fast_rsqrt"; })
      .Case<math::SqrtOp>([](auto) { return "fast_sqrt"; })
      .Case<math::TanhOp>([](auto) { return "fast_tanh"; })
      .Case<math::AbsFOp>([](auto) { return "fabsf"; })
      .Case<math::AbsIOp>([](auto) { return "abs"; })
      .Case<arith::DivFOp>([](auto) { return "fast_divide"; })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>([](auto) { return "maximum"; })
      .Case<arith::MinimumFOp, arith::MinNumFOp>([](auto) { return "minimum"; })
      .Case<arith::MaxSIOp>([](auto) { return "max"; })
      .Case<arith::MinSIOp>([](auto) { return "min"; })
      .Case<arith::CeilDivSIOp, arith::CeilDivUIOp>([](auto) { return "ceildiv"; })
      .Default([](auto) { return ""; });
}

std::string roundingFunction(Type type) { return type.isBF16() ? "round_bf16" : "round_f16"; }

} // namespace

Code KernelEmitter::scalar(Value value) {
  if (auto found = names.find(value); found != names.end())
    return {found->second};
  Operation *op = value.getDefiningOp();
  assert(op && "block arguments are named where their block is printed");
  return operation(*op);
}

Code KernelEmitter::binary(Operation &op, const char *symbol, int precedence) {
  Value lhs = op.getOperand(0), rhs = op.getOperand(1), value = op.getResult(0);
  Code left = scalar(lhs), right = scalar(rhs);
  // 64-bit arithmetic on 32-bit operands.
  if (value.getType().isInteger(64) && !fitsInt(value) && fitsInt(lhs) && fitsInt(rhs))
    left = {"(i64)" + left.in(Code::unary), Code::unary};
  Code result{fmt::format("{} {} {}", left.in(precedence), symbol, right.in(precedence + 1)), precedence};
  if (value.getType().isInteger(64) && fitsInt(value) && !(fitsInt(lhs) && fitsInt(rhs)))
    return {"(int)" + result.in(Code::unary), Code::unary};
  return result;
}

Code KernelEmitter::comparison(Operation &op) {
  const char *symbol = "==";
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    switch (compare.getPredicate()) {
    case arith::CmpIPredicate::eq: symbol = "=="; break;
    case arith::CmpIPredicate::ne: symbol = "!="; break;
    case arith::CmpIPredicate::slt:
    case arith::CmpIPredicate::ult: symbol = "<"; break;
    case arith::CmpIPredicate::sle:
    case arith::CmpIPredicate::ule: symbol = "<="; break;
    case arith::CmpIPredicate::sgt:
    case arith::CmpIPredicate::ugt: symbol = ">"; break;
    case arith::CmpIPredicate::sge:
    case arith::CmpIPredicate::uge: symbol = ">="; break;
    }
  } else {
    switch (cast<arith::CmpFOp>(op).getPredicate()) {
    case arith::CmpFPredicate::ONE:
    case arith::CmpFPredicate::UNE: symbol = "!="; break;
    case arith::CmpFPredicate::OLT:
    case arith::CmpFPredicate::ULT: symbol = "<"; break;
    case arith::CmpFPredicate::OLE:
    case arith::CmpFPredicate::ULE: symbol = "<="; break;
    case arith::CmpFPredicate::OGT:
    case arith::CmpFPredicate::UGT: symbol = ">"; break;
    case arith::CmpFPredicate::OGE:
    case arith::CmpFPredicate::UGE: symbol = ">="; break;
    default: symbol = "=="; break; // the frontend makes ordered equality only
    }
  }
  int precedence = symbol[0] == '=' || symbol[0] == '!' ? Code::equality : Code::relation;
  Code left = scalar(op.getOperand(0)), right = scalar(op.getOperand(1));
  return {fmt::format("{} {} {}", left.in(precedence + 1), symbol, right.in(precedence + 1)), precedence};
}

Code KernelEmitter::conversion(Operation &op) {
  Value operand = op.getOperand(0), value = op.getResult(0);
  Code code = scalar(operand);
  if (auto truncate = dyn_cast<arith::TruncFOp>(op))
    return {fmt::format("{}({})", roundingFunction(truncate.getType()), code.text)};
  if (isa<arith::ExtFOp>(op))
    return code;
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op))
    return {"(float)" + code.in(Code::unary), Code::unary};
  if (isa<arith::FPToSIOp>(op))
    return {fmt::format("({})", cppType(value)) + code.in(Code::unary), Code::unary};
  // Integers of i1 and i32 to i64 and back: only the C++ type matters.
  return {fmt::format("({})", cppType(value)) + code.in(Code::unary), Code::unary};
}

Code KernelEmitter::operation(Operation &op) {
  if (std::string function = mathFunction(op); !function.empty()) {
    std::string text = function + "(";
    bool mixed = op.getNumOperands() == 2 && op.getResult(0).getType().isInteger(64) &&
                 !(fitsInt(op.getOperand(0)) && fitsInt(op.getOperand(1)));
    for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
      Code code = scalar(operand);
      text += (i ? ", " : "") + (mixed && fitsInt(operand) ? "(i64)" + code.in(Code::unary) : code.text);
    }
    text += ")";
    if (mixed && fitsInt(op.getResult(0)))
      return {"(int)" + text, Code::unary};
    return {text};
  }
  return llvm::TypeSwitch<Operation *, Code>(&op)
      .Case<arith::ConstantOp>([&](arith::ConstantOp constant) -> Code {
        if (auto number = dyn_cast<FloatAttr>(constant.getValue()))
          return {floatLiteral(number.getValue()), number.getValue().isNegative() ? Code::unary : Code::primary};
        auto integer = cast<IntegerAttr>(constant.getValue());
        if (integer.getType().isInteger(1))
          return {integer.getValue().isZero() ? "false" : "true"};
        int64_t value = integer.getInt();
        std::string text = fmt::format("{}", value);
        if (value > INT32_MAX || value < INT32_MIN)
          text += "ll";
        return {text, value < 0 ? Code::unary : Code::primary};
      })
      .Case<arith::AddIOp, arith::AddFOp>([&](auto) { return binary(op, "+", Code::add); })
      .Case<arith::SubIOp, arith::SubFOp>([&](auto) { return binary(op, "-", Code::add); })
      .Case<arith::MulIOp, arith::MulFOp>([&](auto) { return binary(op, "*", Code::multiply); })
      .Case<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>([&](auto) { return binary(op, "/", Code::multiply); })
      .Case<arith::RemSIOp, arith::RemUIOp>([&](auto) { return binary(op, "%", Code::multiply); })
      .Case<arith::ShLIOp>([&](auto) { return binary(op, "<<", Code::shift); })
      .Case<arith::ShRSIOp, arith::ShRUIOp>([&](auto) { return binary(op, ">>", Code::shift); })
      .Case<arith::AndIOp>([&](auto) {
        bool logical = op.getResult(0).getType().isInteger(1);
        return binary(op, logical ? "&&" : "&", logical ? Code::logicalAnd : Code::bitAnd);
      })
      .Case<arith::OrIOp>([&](auto) {
        bool logical = op.getResult(0).getType().isInteger(1);
        return binary(op, logical ? "||" : "|", logical ? Code::logicalOr : Code::bitOr);
      })
      .Case<arith::XOrIOp>([&](auto) -> Code {
        if (op.getResult(0).getType().isInteger(1) && matchPattern(op.getOperand(1), m_One()))
          return {"!" + scalar(op.getOperand(0)).in(Code::unary), Code::unary};
        return binary(op, "^", Code::bitXor);
      })
      .Case<arith::NegFOp>([&](auto) -> Code { return {"-" + scalar(op.getOperand(0)).in(Code::primary), Code::unary}; })
      .Case<arith::CmpIOp, arith::CmpFOp>([&](auto) { return comparison(op); })
      .Case<arith::SelectOp>([&](arith::SelectOp select) -> Code {
        return {fmt::format("{} ? {} : {}", scalar(select.getCondition()).in(Code::ternary + 1),
                            scalar(select.getTrueValue()).in(Code::ternary + 1),
                            scalar(select.getFalseValue()).in(Code::ternary)),
                Code::ternary};
      })
      .Case<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp, arith::FPToSIOp, arith::ExtSIOp,
            arith::ExtUIOp, arith::TruncIOp>([&](auto) { return conversion(op); })
      .Default([&](Operation *) -> Code {
        reportAt(diags, DiagnosticKind::Unsupported, files, &op,
                 fmt::format("no CUDA form for `{}`", std::string(op.getName().getStringRef())));
        return {"0"};
      });
}

bool KernelEmitter::isInlined(Operation &op) {
  if (isa<arith::ConstantOp>(op))
    return true;
  Value value = op.getResult(0);
  if (isa<arith::ExtFOp>(op))
    return true;
  // Rounding that only feeds stores happens in the store.
  if (isa<arith::TruncFOp>(op) &&
      llvm::all_of(value.getUsers(), [](Operation *user) { return isa<tile::StoreOp>(user); }))
    return true;
  if (!nameHint(value.getLoc()).empty())
    return false;
  return value.hasOneUse() && value.getUsers().begin()->getBlock() == op.getBlock();
}

void KernelEmitter::emitScalar(Operation &op) {
  Value value = op.getResult(0);
  if (value.use_empty() || isInlined(op))
    return;
  std::string text = operation(op).text, type = cppType(value);
  out.line("const {} {} = {};", type, nameValue(value, "v"), text);
}

} // namespace flashqla::codegen
