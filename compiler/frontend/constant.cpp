#include "compiler/frontend/constant.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace flashqla::frontend {

using ast::BinaryOp;

int64_t byteWidth(ScalarType type) {
  switch (type) {
  case ScalarType::BF16:
  case ScalarType::F16:
    return 2;
  case ScalarType::F32:
  case ScalarType::I32:
    return 4;
  case ScalarType::I64:
    return 8;
  case ScalarType::Bool:
    return 1;
  }
  return 0;
}

bool widens(ScalarType from, ScalarType to) {
  if (from == to)
    return true;
  if (to == ScalarType::F32)
    return from != ScalarType::Bool;
  return from == ScalarType::I32 && to == ScalarType::I64;
}

static constexpr BuiltinInfo builtins[] = {
    {Builtin::Exp, "exp", 1},   {Builtin::Exp2, "exp2", 1},       {Builtin::Log, "log", 1},
    {Builtin::Log2, "log2", 1}, {Builtin::Rsqrt, "rsqrt", 1},     {Builtin::Sqrt, "sqrt", 1},
    {Builtin::Tanh, "tanh", 1}, {Builtin::Abs, "abs", 1},         {Builtin::Max, "max", 2},
    {Builtin::Min, "min", 2},   {Builtin::CeilDiv, "ceildiv", 2},
};

std::span<const BuiltinInfo> allBuiltins() { return builtins; }

const BuiltinInfo *findBuiltin(std::string_view name) {
  auto found = std::ranges::find(builtins, name, &BuiltinInfo::name);
  return found == std::end(builtins) ? nullptr : found;
}

std::optional<ScalarType> resultType(BinaryOp op, ScalarType a, ScalarType b) {
  bool numbers = isNumber(a) && isNumber(b), integers = isInteger(a) && isInteger(b);
  bool bools = a == ScalarType::Bool && b == ScalarType::Bool;
  switch (op) {
  case BinaryOp::Add:
  case BinaryOp::Sub:
  case BinaryOp::Mul:
  case BinaryOp::Div:
    if (!numbers)
      return std::nullopt;
    return integers ? ScalarType::I64 : ScalarType::F32;
  case BinaryOp::Mod:
    return integers ? std::optional(ScalarType::I64) : std::nullopt;
  case BinaryOp::Eq:
  case BinaryOp::Ne:
    return numbers || bools ? std::optional(ScalarType::Bool) : std::nullopt;
  case BinaryOp::Lt:
  case BinaryOp::Le:
  case BinaryOp::Gt:
  case BinaryOp::Ge:
    return numbers ? std::optional(ScalarType::Bool) : std::nullopt;
  case BinaryOp::And:
  case BinaryOp::Or:
    return bools ? std::optional(ScalarType::Bool) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<ScalarType> commonType(ScalarType a, ScalarType b) {
  if (a == b)
    return a;
  if (!isNumber(a) || !isNumber(b))
    return std::nullopt;
  return isInteger(a) && isInteger(b) ? ScalarType::I64 : ScalarType::F32;
}

std::optional<ScalarType> typeOf(const Constant &constant) {
  if (std::holds_alternative<int64_t>(constant))
    return ScalarType::I64;
  if (std::holds_alternative<double>(constant))
    return ScalarType::F32;
  if (std::holds_alternative<bool>(constant))
    return ScalarType::Bool;
  return std::nullopt;
}

double asDouble(const Constant &constant) {
  if (const auto *integer = std::get_if<int64_t>(&constant))
    return static_cast<double>(*integer);
  return std::get<double>(constant);
}

std::optional<Constant> parseConstant(std::string_view text) {
  if (text == "true" || text == "false")
    return Constant(text == "true");
  for (ScalarType type : {ScalarType::BF16, ScalarType::F16, ScalarType::F32, ScalarType::I32,
                          ScalarType::I64, ScalarType::Bool})
    if (text == ast::scalarTypeName(type))
      return Constant(type);
  const char *begin = text.data(), *end = text.data() + text.size();
  bool negative = text.starts_with('-'), hex = text.substr(negative).starts_with("0x");
  int64_t integer = 0;
  auto parsed = hex ? std::from_chars(begin + negative + 2, end, integer, 16)
                    : std::from_chars(begin, end, integer);
  if (parsed.ec == std::errc() && parsed.ptr == end)
    return Constant(hex && negative ? -integer : integer);
  double real = 0;
  auto parsedReal = std::from_chars(begin, end, real);
  if (parsedReal.ec == std::errc() && parsedReal.ptr == end)
    return Constant(real);
  return std::nullopt;
}

std::string constantText(const Constant &constant) {
  if (const auto *integer = std::get_if<int64_t>(&constant))
    return fmt::format("{}", *integer);
  if (const auto *real = std::get_if<double>(&constant)) {
    std::string text = fmt::format("{}", *real);
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
  }
  if (const auto *boolean = std::get_if<bool>(&constant))
    return *boolean ? "true" : "false";
  return std::string(ast::scalarTypeName(std::get<ScalarType>(constant)));
}

Folded fold(ast::UnaryOp op, const Constant &operand) {
  if (op == ast::UnaryOp::Not)
    return {!std::get<bool>(operand), {}};
  if (const auto *real = std::get_if<double>(&operand))
    return {-*real, {}};
  int64_t result = 0;
  if (__builtin_sub_overflow(int64_t(0), std::get<int64_t>(operand), &result))
    return {std::nullopt, "the result has more than 64 bits"};
  return {result, {}};
}

template <typename T> static std::optional<bool> compare(BinaryOp op, T a, T b) {
  switch (op) {
  case BinaryOp::Eq:
    return a == b;
  case BinaryOp::Ne:
    return a != b;
  case BinaryOp::Lt:
    return a < b;
  case BinaryOp::Le:
    return a <= b;
  case BinaryOp::Gt:
    return a > b;
  case BinaryOp::Ge:
    return a >= b;
  case BinaryOp::Add:
  case BinaryOp::Sub:
  case BinaryOp::Mul:
  case BinaryOp::Div:
  case BinaryOp::Mod:
  case BinaryOp::And:
  case BinaryOp::Or:
    break;
  }
  return std::nullopt;
}

static Folded foldDivision(BinaryOp op, int64_t a, int64_t b) {
  if (b == 0)
    return {std::nullopt, fmt::format("{} is divided by zero", a)};
  if (a < 0 || b < 0)
    return {std::nullopt,
            fmt::format("{} {} {} divides a negative integer", a, ast::spelling(op), b)};
  return {op == BinaryOp::Div ? a / b : a % b, {}};
}

static Folded foldIntegers(BinaryOp op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  if (op == BinaryOp::Add)
    overflow = __builtin_add_overflow(a, b, &result);
  else if (op == BinaryOp::Sub)
    overflow = __builtin_sub_overflow(a, b, &result);
  else if (op == BinaryOp::Mul)
    overflow = __builtin_mul_overflow(a, b, &result);
  else
    return foldDivision(op, a, b);
  if (overflow)
    return {std::nullopt, fmt::format("{} {} {} has more than 64 bits", a, ast::spelling(op), b)};
  return {result, {}};
}

Folded fold(BinaryOp op, const Constant &a, const Constant &b) {
  if (const auto *left = std::get_if<bool>(&a)) {
    bool right = std::get<bool>(b);
    if (op == BinaryOp::And || op == BinaryOp::Or)
      return {op == BinaryOp::And ? *left && right : *left || right, {}};
    return {*compare(op, *left, right), {}};
  }
  const auto *left = std::get_if<int64_t>(&a), *right = std::get_if<int64_t>(&b);
  if (left && right) {
    if (std::optional<bool> truth = compare(op, *left, *right))
      return {*truth, {}};
    return foldIntegers(op, *left, *right);
  }
  double x = asDouble(a), y = asDouble(b);
  if (std::optional<bool> truth = compare(op, x, y))
    return {*truth, {}};
  if (op == BinaryOp::Add)
    return {x + y, {}};
  if (op == BinaryOp::Sub)
    return {x - y, {}};
  return {op == BinaryOp::Mul ? x * y : x / y, {}};
}

static Folded foldCeilDiv(int64_t a, int64_t b) {
  if (b <= 0)
    return {std::nullopt, fmt::format("ceildiv({}, {}) needs a positive divisor", a, b)};
  return {a > 0 ? (a - 1) / b + 1 : a / b, {}}; // truncation rounds a negative quotient up
}

static double foldFunction(Builtin builtin, double x) {
  switch (builtin) {
  case Builtin::Exp:
    return std::exp(x);
  case Builtin::Exp2:
    return std::exp2(x);
  case Builtin::Log:
    return std::log(x);
  case Builtin::Log2:
    return std::log2(x);
  case Builtin::Rsqrt:
    return 1 / std::sqrt(x);
  case Builtin::Sqrt:
    return std::sqrt(x);
  case Builtin::Tanh:
    return std::tanh(x);
  case Builtin::Abs:
    return std::fabs(x);
  case Builtin::Max:
  case Builtin::Min:
  case Builtin::CeilDiv:
    break;
  }
  return x;
}

Folded fold(Builtin builtin, std::span<const Constant> arguments) {
  bool integers = std::ranges::all_of(
      arguments, [](const Constant &c) { return std::holds_alternative<int64_t>(c); });
  if (builtin == Builtin::CeilDiv)
    return foldCeilDiv(std::get<int64_t>(arguments[0]), std::get<int64_t>(arguments[1]));
  if (builtin == Builtin::Abs && integers) {
    const Constant &argument = arguments[0];
    return std::get<int64_t>(argument) < 0 ? fold(ast::UnaryOp::Negate, argument)
                                           : Folded{argument, {}};
  }
  if (builtin != Builtin::Max && builtin != Builtin::Min)
    return {foldFunction(builtin, asDouble(arguments[0])), {}};
  bool largest = builtin == Builtin::Max;
  if (integers) {
    int64_t best = std::get<int64_t>(arguments[0]);
    for (const Constant &c : arguments) {
      int64_t value = std::get<int64_t>(c);
      best = largest ? std::max(best, value) : std::min(best, value);
    }
    return {best, {}};
  }
  double best = asDouble(arguments[0]);
  for (const Constant &c : arguments)
    best = largest ? std::fmax(best, asDouble(c)) : std::fmin(best, asDouble(c));
  return {best, {}};
}

} // namespace flashqla::frontend
