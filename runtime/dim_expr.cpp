#include "runtime/dim_expr.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace flashqla {

namespace {

using Op = DimExpr::Op;

enum Precedence {
  SelectLevel,
  OrLevel,
  AndLevel,
  CompareLevel,
  SumLevel,
  TermLevel,
  UnaryLevel,
  PrimaryLevel
};

struct OpText {
  const char *spelling;
  Precedence level;
};

OpText opText(Op op) {
  switch (op) {
  case Op::Constant:
  case Op::Name:
    return {"", PrimaryLevel};
  case Op::Add:
    return {" + ", SumLevel};
  case Op::Sub:
    return {" - ", SumLevel};
  case Op::Mul:
    return {" * ", TermLevel};
  case Op::Div:
    return {" / ", TermLevel};
  case Op::Mod:
    return {" % ", TermLevel};
  case Op::CeilDiv:
    return {"ceildiv", PrimaryLevel};
  case Op::Min:
    return {"min", PrimaryLevel};
  case Op::Max:
    return {"max", PrimaryLevel};
  case Op::Equal:
    return {" == ", CompareLevel};
  case Op::NotEqual:
    return {" != ", CompareLevel};
  case Op::Less:
    return {" < ", CompareLevel};
  case Op::LessEqual:
    return {" <= ", CompareLevel};
  case Op::Greater:
    return {" > ", CompareLevel};
  case Op::GreaterEqual:
    return {" >= ", CompareLevel};
  case Op::And:
    return {" && ", AndLevel};
  case Op::Or:
    return {" || ", OrLevel};
  case Op::Negate:
    return {"-", UnaryLevel};
  case Op::Not:
    return {"!", UnaryLevel};
  case Op::Select:
    return {"?", SelectLevel};
  }
  return {"", PrimaryLevel};
}

constexpr std::int64_t minInt = std::numeric_limits<std::int64_t>::min();

std::int64_t floorDiv(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::int64_t ceilDiv(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) == (b < 0) ? quotient + 1 : quotient;
}

/// The six comparisons, from the order of a and b.
bool compare(Op op, std::int64_t a, std::int64_t b) {
  const bool less = a < b, equal = a == b;
  return op == Op::Equal       ? equal
         : op == Op::NotEqual  ? !equal
         : op == Op::Less      ? less
         : op == Op::LessEqual ? less || equal
         : op == Op::Greater   ? !less && !equal
                               : !less;
}

} // namespace

DimExpr DimExpr::constant(std::int64_t value) {
  DimExpr result{Empty{}};
  result.nodes.push_back({Op::Constant, value, {-1, -1, -1}});
  return result;
}

DimExpr DimExpr::name(std::string_view name) {
  DimExpr result{Empty{}};
  result.nameList.emplace_back(name);
  result.nodes.push_back({Op::Name, 0, {-1, -1, -1}});
  return result;
}

/// Copies the operands' nodes one after the other, merges their names and puts `op` behind them.
DimExpr DimExpr::combine(Op op, std::initializer_list<const DimExpr *> operands) {
  DimExpr result{Empty{}};
  Node root{op, 0, {-1, -1, -1}};
  int position = 0;
  for (const DimExpr *operand : operands) {
    const int offset = static_cast<int>(result.nodes.size());
    for (Node node : operand->nodes) {
      for (int &child : node.operands)
        child = child < 0 ? child : child + offset;
      if (node.op == Op::Name) {
        const std::string &name = operand->nameList[node.value];
        auto known = std::find(result.nameList.begin(), result.nameList.end(), name);
        node.value = known - result.nameList.begin();
        if (known == result.nameList.end())
          result.nameList.push_back(name);
      }
      result.nodes.push_back(node);
    }
    root.operands[position++] = static_cast<int>(result.nodes.size()) - 1;
  }
  result.nodes.push_back(root);
  return result;
}

DimExpr DimExpr::unary(Op op, const DimExpr &operand) {
  assert((op == Op::Negate || op == Op::Not) && "an operator of one operand");
  // A negative literal is a constant: its text must read back as what it was.
  if (const auto value = operand.asConstant(); op == Op::Negate && value && *value != minInt)
    return constant(-*value);
  return combine(op, {&operand});
}

DimExpr DimExpr::binary(Op op, const DimExpr &left, const DimExpr &right) {
  assert(op >= Op::Add && op <= Op::Or && "an operator of two operands");
  return combine(op, {&left, &right});
}

DimExpr DimExpr::select(const DimExpr &condition, const DimExpr &then, const DimExpr &otherwise) {
  return combine(Op::Select, {&condition, &then, &otherwise});
}

std::optional<std::int64_t> DimExpr::asConstant() const {
  if (nodes.size() == 1 && nodes[0].op == Op::Constant)
    return nodes[0].value;
  return std::nullopt;
}

void DimExpr::print(int index, int minimumLevel, std::string &out) const {
  const Node &node = nodes[index];
  if (node.op == Op::Name) {
    out += nameList[node.value];
    return;
  }
  const OpText text = opText(node.op);
  const int level = node.op == Op::Constant && node.value < 0 ? int(UnaryLevel) : int(text.level);
  const bool parentheses = level < minimumLevel;
  out += parentheses ? "(" : "";
  if (node.op == Op::Constant) {
    out += fmt::to_string(node.value);
  } else if (level == UnaryLevel) {
    out += text.spelling;
    print(node.operands[0], PrimaryLevel, out);
  } else if (level == PrimaryLevel) {
    out += text.spelling;
    out += '(';
    print(node.operands[0], SelectLevel, out);
    out += ", ";
    print(node.operands[1], SelectLevel, out);
    out += ')';
  } else if (node.op == Op::Select) {
    print(node.operands[0], OrLevel, out);
    out += " ? ";
    print(node.operands[1], SelectLevel, out);
    out += " : ";
    print(node.operands[2], SelectLevel, out);
  } else {
    // Binary operators associate to the left; comparisons do not chain at all.
    print(node.operands[0], level == CompareLevel ? level + 1 : level, out);
    out += text.spelling;
    print(node.operands[1], level + 1, out);
  }
  out += parentheses ? ")" : "";
}

std::string DimExpr::text() const {
  std::string result;
  print(static_cast<int>(nodes.size()) - 1, SelectLevel, result);
  return result;
}

Expected<void> DimExpr::bind(std::span<const std::string> symbols) {
  slotList.clear();
  for (const std::string &name : nameList) {
    auto found = std::find(symbols.begin(), symbols.end(), name);
    if (found == symbols.end()) {
      slotList.clear();
      return Error{
          "expr-name",
          fmt::format("`{}` names no dim and no integer or bool scalar: `{}`", name, text()),
          {}};
    }
    slotList.push_back(static_cast<int>(found - symbols.begin()));
  }
  return {};
}

std::optional<DimExpr::NamePlusConstant> DimExpr::asNamePlusConstant() const {
  assert(slotList.size() == nameList.size() && "bind the expression first");
  if (nameList.size() != 1)
    return std::nullopt;
  if (nodes.size() == 1)
    return NamePlusConstant{slotList[0], 0};
  if (nodes.size() != 3)
    return std::nullopt;
  const Op op = nodes[2].op;
  const bool nameFirst = nodes[0].op == Op::Name && nodes[1].op == Op::Constant;
  const bool nameLast = nodes[1].op == Op::Name && nodes[0].op == Op::Constant;
  if (nameFirst && op == Op::Add)
    return NamePlusConstant{slotList[0], nodes[1].value};
  if (nameLast && op == Op::Add)
    return NamePlusConstant{slotList[0], nodes[0].value};
  if (nameFirst && op == Op::Sub && nodes[1].value != minInt)
    return NamePlusConstant{slotList[0], -nodes[1].value};
  return std::nullopt;
}

bool DimExpr::evaluateNode(int index, const std::int64_t *values, std::int64_t &result,
                           Failure &failure) const {
  const Node &node = nodes[index];
  std::int64_t a = 0, b = 0;
  switch (node.op) {
  case Op::Constant:
    result = node.value;
    return true;
  case Op::Name:
    result = values[slotList[node.value]];
    return true;
  case Op::Select:
  case Op::And:
  case Op::Or: {
    if (!evaluateNode(node.operands[0], values, a, failure))
      return false;
    if (node.op == Op::Select)
      return evaluateNode(node.operands[a ? 1 : 2], values, result, failure);
    result = a != 0;
    if (result == (node.op == Op::Or))
      return true;
    if (!evaluateNode(node.operands[1], values, b, failure))
      return false;
    result = b != 0;
    return true;
  }
  case Op::Add:
  case Op::Sub:
  case Op::Mul:
  case Op::Div:
  case Op::Mod:
  case Op::CeilDiv:
  case Op::Min:
  case Op::Max:
  case Op::Equal:
  case Op::NotEqual:
  case Op::Less:
  case Op::LessEqual:
  case Op::Greater:
  case Op::GreaterEqual:
  case Op::Negate:
  case Op::Not:
    break;
  }
  if (!evaluateNode(node.operands[0], values, a, failure) ||
      (node.operands[1] >= 0 && !evaluateNode(node.operands[1], values, b, failure)))
    return false;
  if (const char *code = apply(node.op, a, b, result)) {
    failure = {code, index};
    return false;
  }
  return true;
}

const char *DimExpr::apply(Op op, std::int64_t a, std::int64_t b, std::int64_t &result) {
  const bool divides = op == Op::Div || op == Op::Mod || op == Op::CeilDiv;
  if (divides && b == 0)
    return "expr-division";
  if (divides && a == minInt && b == -1) {
    result = 0;
    return op == Op::Mod ? nullptr : "expr-overflow";
  }
  bool overflow = false;
  switch (op) {
  case Op::Add:
    overflow = __builtin_add_overflow(a, b, &result);
    break;
  case Op::Sub:
    overflow = __builtin_sub_overflow(a, b, &result);
    break;
  case Op::Mul:
    overflow = __builtin_mul_overflow(a, b, &result);
    break;
  case Op::Negate:
    overflow = __builtin_sub_overflow(std::int64_t{0}, a, &result);
    break;
  case Op::Div:
    result = floorDiv(a, b);
    break;
  case Op::Mod:
    result = a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
    break;
  case Op::CeilDiv:
    result = ceilDiv(a, b);
    break;
  case Op::Min:
    result = std::min(a, b);
    break;
  case Op::Max:
    result = std::max(a, b);
    break;
  case Op::Equal:
  case Op::NotEqual:
  case Op::Less:
  case Op::LessEqual:
  case Op::Greater:
  case Op::GreaterEqual:
    result = compare(op, a, b);
    break;
  case Op::Not:
    result = a == 0;
    break;
  case Op::Constant:
  case Op::Name:
  case Op::And:
  case Op::Or:
  case Op::Select:
    break; // evaluateNode has dealt with these
  }
  return overflow ? "expr-overflow" : nullptr;
}

Expected<std::int64_t> DimExpr::evaluate(std::span<const std::int64_t> values) const {
  assert(slotList.size() == nameList.size() && "bind the expression first");
  std::int64_t result = 0;
  Failure failure;
  if (evaluateNode(static_cast<int>(nodes.size()) - 1, values.data(), result, failure))
    return result;
  std::string part;
  print(failure.node, SelectLevel, part);
  const std::string where = nameList.empty() ? "" : fmt::format(" ({})", describe(values));
  const bool division = std::string_view(failure.code) == "expr-division";
  return Error{
      failure.code,
      fmt::format("`{}` {}{}", part, division ? "divides by zero" : "does not fit 64 bits", where),
      {}};
}

std::string DimExpr::describe(std::span<const std::int64_t> values) const {
  std::string result;
  for (std::size_t i = 0; i < nameList.size(); ++i)
    result += fmt::format("{}{} = {}", i ? ", " : "", nameList[i], values[slotList[i]]);
  return result;
}

} // namespace flashqla
