#include "compiler/frontend/launch.h"

namespace flashqla::frontend {

using ast::BinaryOp;
using ast::Expr;
using ast::ExprKind;

namespace {

// Binding strengths, as in the grammar.
enum Level { TernaryLevel, OrLevel, AndLevel, CompareLevel, SumLevel, TermLevel, UnaryLevel, Atom };

Level levelOf(BinaryOp op) {
  switch (op) {
  case BinaryOp::Add:
  case BinaryOp::Sub:
    return SumLevel;
  case BinaryOp::Mul:
  case BinaryOp::Div:
  case BinaryOp::Mod:
    return TermLevel;
  case BinaryOp::Eq:
  case BinaryOp::Ne:
  case BinaryOp::Lt:
  case BinaryOp::Le:
  case BinaryOp::Gt:
  case BinaryOp::Ge:
    return CompareLevel;
  case BinaryOp::And:
    return AndLevel;
  case BinaryOp::Or:
    return OrLevel;
  }
  return Atom;
}

std::string parenthesised(const LaunchValue &value, int atLeast) {
  std::string text = launchText(value);
  bool negative = value.constant && text.starts_with('-');
  return (negative ? int(UnaryLevel) : value.level) < atLeast ? "(" + text + ")" : text;
}

class LaunchEvaluator {
public:
  LaunchEvaluator(const Scope &scope, Reporter &reporter) : scope(scope), reporter(reporter) {}

  std::optional<LaunchValue> evaluate(const Expr &expr) {
    switch (expr.kind) {
    case ExprKind::Integer:
      return constant(expr.integer);
    case ExprKind::Float:
      return constant(expr.real);
    case ExprKind::Bool:
      return constant(expr.boolean);
    case ExprKind::Inf:
      return constant(std::numeric_limits<double>::infinity());
    case ExprKind::Type:
      return constant(expr.elem.builtin.value_or(ScalarType::F32));
    case ExprKind::Reference:
      return reference(expr);
    case ExprKind::Call:
      return call(expr);
    case ExprKind::Unary:
      return unary(expr);
    case ExprKind::Binary:
      return binary(expr);
    case ExprKind::Ternary:
      return ternary(expr);
    case ExprKind::Paren:
      return evaluate(*expr.operands[0]);
    case ExprKind::Reduction:
      reporter
          .error(DiagnosticKind::NotConstant, expr.range,
                 "a reduction is computed when the kernel runs")
          .primary("must be known at launch");
      return std::nullopt;
    }
    return std::nullopt;
  }

private:
  const Scope &scope;
  Reporter &reporter;

  static LaunchValue constant(Constant value) {
    ScalarType type = typeOf(value).value_or(ScalarType::F32);
    return {std::move(value), {}, Atom, type};
  }

  std::optional<LaunchValue> folded(Folded result, const Expr &expr) {
    if (result.value)
      return constant(std::move(*result.value));
    reporter.error(DiagnosticKind::ConstantArithmetic, expr.opRange ? expr.opRange : expr.range,
                   std::move(result.problem));
    return std::nullopt;
  }

  std::optional<LaunchValue> reference(const Expr &expr) {
    const Symbol *symbol = lookup(expr.name, scope, reporter);
    if (!symbol)
      return std::nullopt;
    if (symbol->kind == SymbolKind::Type)
      return constant(symbol->type);
    if (expr.isBareName() && symbol->kind == SymbolKind::Value && symbol->scalar.constant)
      return constant(*symbol->scalar.constant);
    if (expr.isBareName() && symbol->kind == SymbolKind::Value && !symbol->launchText.empty())
      return LaunchValue{std::nullopt, symbol->launchText, Atom, symbol->scalar.type};
    reporter
        .error(DiagnosticKind::NotConstant, expr.range,
               fmt::format("`{}` is known only when the kernel runs", expr.range.text()))
        .primary(std::string(describe(symbol->kind)))
        .label(symbol->declared, "declared here");
    return std::nullopt;
  }

  std::optional<LaunchValue> unary(const Expr &expr) {
    auto operand = evaluate(*expr.operands[0]);
    if (!operand)
      return std::nullopt;
    bool isNot = expr.unary == ast::UnaryOp::Not;
    if (isType(*operand) || isNot != (operand->type == ScalarType::Bool))
      return mismatch(expr, fmt::format("`{}` takes {}", ast::spelling(expr.unary),
                                        isNot ? "a truth value" : "a number"));
    if (operand->constant)
      return folded(fold(expr.unary, *operand->constant), expr);
    return LaunchValue{
        std::nullopt,
        fmt::format("{}{}", ast::spelling(expr.unary), parenthesised(*operand, UnaryLevel + 1)),
        UnaryLevel, operand->type};
  }

  std::optional<LaunchValue> binary(const Expr &expr) {
    auto left = evaluate(*expr.operands[0]);
    if (!left)
      return std::nullopt;
    bool logical = expr.binary == BinaryOp::And || expr.binary == BinaryOp::Or;
    const bool *decided = left->constant ? std::get_if<bool>(&*left->constant) : nullptr;
    if (logical && decided && *decided == (expr.binary == BinaryOp::Or))
      return left; // the other operand is not looked at
    auto right = evaluate(*expr.operands[1]);
    if (!right)
      return std::nullopt;
    auto type = isType(*left) || isType(*right) ? std::nullopt
                                                : resultType(expr.binary, left->type, right->type);
    if (isType(*left) && isType(*right) && isEquality(expr.binary))
      return constant((*left->constant == *right->constant) == (expr.binary == BinaryOp::Eq));
    if (!type)
      return mismatch(expr, fmt::format("`{}` does not take {} and {}", ast::spelling(expr.binary),
                                        typeText(*left), typeText(*right)));
    if (left->constant && right->constant)
      return folded(fold(expr.binary, *left->constant, *right->constant), expr);
    if (logical && decided)
      return right;
    if (const bool *rest =
            logical && right->constant ? std::get_if<bool>(&*right->constant) : nullptr)
      if (*rest == (expr.binary == BinaryOp::And))
        return left;
    if (isFloat(left->type) || isFloat(right->type))
      return notInteger(expr);
    Level level = levelOf(expr.binary);
    // Comparisons do not chain, and `a - (b - c)` keeps its parentheses.
    int leftLevel = level == CompareLevel ? level + 1 : level;
    return LaunchValue{std::nullopt,
                       fmt::format("{} {} {}", parenthesised(*left, leftLevel),
                                   ast::spelling(expr.binary), parenthesised(*right, level + 1)),
                       level, *type};
  }

  std::optional<LaunchValue> ternary(const Expr &expr) {
    auto condition = evaluate(*expr.operands[0]);
    if (!condition)
      return std::nullopt;
    if (isType(*condition) || condition->type != ScalarType::Bool)
      return mismatch(*expr.operands[0],
                      fmt::format("a condition is a truth value, not {}", typeText(*condition)));
    if (condition->constant)
      return evaluate(*expr.operands[std::get<bool>(*condition->constant) ? 1 : 2]);
    auto then = evaluate(*expr.operands[1]), otherwise = evaluate(*expr.operands[2]);
    if (!then || !otherwise)
      return std::nullopt;
    if (isFloat(then->type) || isFloat(otherwise->type))
      return notInteger(expr);
    auto type = commonType(then->type, otherwise->type);
    if (!type)
      return mismatch(expr, fmt::format("the arms of `?:` are {} and {}", typeText(*then),
                                        typeText(*otherwise)));
    return LaunchValue{std::nullopt,
                       fmt::format("{} ? {} : {}", parenthesised(*condition, OrLevel),
                                   launchText(*then), launchText(*otherwise)),
                       TernaryLevel, *type};
  }

  std::optional<LaunchValue> call(const Expr &expr) {
    llvm::SmallVector<LaunchValue> arguments;
    for (const ast::ExprPtr &operand : expr.operands) {
      auto argument = evaluate(*operand);
      if (!argument)
        return std::nullopt;
      if (isType(*argument))
        return mismatch(*operand, "a type is no argument");
      arguments.push_back(*argument);
    }
    if (expr.callee)
      return conversion(expr, arguments);
    if (const Symbol *symbol = scope.find(expr.name.text); symbol && symbol->kind == SymbolKind::Fn)
      return inlined(expr, *symbol, arguments);
    const BuiltinInfo *info = findBuiltin(expr.name.text);
    if (!info) {
      reporter.error(DiagnosticKind::UnknownName, expr.name.range,
                     fmt::format("there is no function `{}`", expr.name.text));
      return std::nullopt;
    }
    bool many = info->builtin == Builtin::Max || info->builtin == Builtin::Min;
    if (arguments.size() < info->arguments || (!many && arguments.size() > info->arguments)) {
      reporter.error(DiagnosticKind::ArgumentCount, expr.range,
                     fmt::format("`{}` takes {} arguments, not {}", info->name, info->arguments,
                                 arguments.size()));
      return std::nullopt;
    }
    return builtin(expr, *info, arguments);
  }

  std::optional<LaunchValue> conversion(const Expr &expr,
                                        const llvm::SmallVector<LaunchValue> &arguments) {
    if (arguments.size() == 1 && arguments[0].constant && isNumber(arguments[0].type)) {
      if (isFloat(*expr.callee))
        return constant(asDouble(*arguments[0].constant));
      if (isInteger(arguments[0].type) && isInteger(*expr.callee))
        return arguments[0];
    }
    return mismatch(expr, "this conversion is not possible before the kernel runs");
  }

  std::optional<LaunchValue> inlined(const Expr &expr, const Symbol &symbol,
                                     const llvm::SmallVector<LaunchValue> &arguments) {
    const ast::Fn &fn = *symbol.fn;
    if (arguments.size() != fn.params.size()) {
      reporter
          .error(DiagnosticKind::ArgumentCount, expr.range,
                 fmt::format("`{}` takes {} arguments, not {}", fn.name.text, fn.params.size(),
                             arguments.size()))
          .label(symbol.declared, "declared here");
      return std::nullopt;
    }
    Scope inner = scope.moduleBefore(symbol.order);
    inner.push();
    for (size_t i = 0; i < arguments.size(); ++i) {
      Symbol parameter{fn.params[i].text, SymbolKind::Value, fn.params[i].range};
      if (arguments[i].constant)
        parameter.scalar = Scalar::of(*arguments[i].constant);
      parameter.scalar.type = arguments[i].type;
      parameter.launchText =
          arguments[i].level == Atom ? arguments[i].text : "(" + arguments[i].text + ")";
      inner.declare(std::move(parameter));
    }
    reporter.enter(expr.range);
    auto value = LaunchEvaluator(inner, reporter).evaluate(*fn.value);
    reporter.leave();
    return value;
  }

  std::optional<LaunchValue> builtin(const Expr &expr, const BuiltinInfo &info,
                                     const llvm::SmallVector<LaunchValue> &arguments) {
    llvm::SmallVector<Constant> constants;
    bool integers = true;
    for (const LaunchValue &argument : arguments) {
      if (!isNumber(argument.type))
        return mismatch(expr, fmt::format("`{}` takes numbers", info.name));
      integers = integers && isInteger(argument.type);
      if (argument.constant)
        constants.push_back(*argument.constant);
    }
    if (info.builtin == Builtin::CeilDiv && !integers)
      return mismatch(expr, "`ceildiv` takes integers");
    if (constants.size() == arguments.size())
      return folded(fold(info.builtin, std::span<const Constant>(constants)), expr);
    bool runtimeKnows = info.builtin == Builtin::Max || info.builtin == Builtin::Min ||
                        info.builtin == Builtin::CeilDiv;
    if (!integers || !runtimeKnows)
      return notInteger(expr);
    std::string text;
    for (const LaunchValue &argument : arguments)
      text += (text.empty() ? "" : ", ") + launchText(argument);
    return LaunchValue{std::nullopt, fmt::format("{}({})", info.name, text), Atom, ScalarType::I64};
  }

  static bool isType(const LaunchValue &value) {
    return value.constant && std::holds_alternative<ScalarType>(*value.constant);
  }
  static bool isEquality(BinaryOp op) { return op == BinaryOp::Eq || op == BinaryOp::Ne; }
  static std::string typeText(const LaunchValue &value) {
    return isType(value) ? "a type" : std::string(ast::scalarTypeName(value.type));
  }

  std::nullopt_t mismatch(const Expr &expr, std::string message) {
    reporter.error(DiagnosticKind::TypeMismatch, expr.range, std::move(message));
    return std::nullopt;
  }
  std::nullopt_t notInteger(const Expr &expr) {
    reporter
        .error(DiagnosticKind::NotConstant, expr.range,
               "at launch only integers and truth values are computed")
        .primary("a float that depends on an argument");
    return std::nullopt;
  }
};

} // namespace

std::string launchText(const LaunchValue &value) {
  return value.constant ? constantText(*value.constant) : value.text;
}

const Symbol *lookup(const ast::Name &name, const Scope &scope, Reporter &reporter) {
  const Symbol *symbol = scope.find(name.text);
  if (!symbol) {
    DiagnosticBuilder builder = reporter.error(DiagnosticKind::UnknownName, name.range,
                                               fmt::format("there is no `{}` here", name.text));
    if (std::string close = scope.closest(name.text); !close.empty())
      builder.help(fmt::format("did you mean `{}`?", close));
    return nullptr;
  }
  if (symbol->kind == SymbolKind::Absent) {
    reporter
        .error(DiagnosticKind::UnknownName, name.range,
               fmt::format("`{}` does not exist in this instantiation", name.text))
        .label(symbol->argument->condition->range, "this is false");
    return nullptr;
  }
  return symbol->kind == SymbolKind::Failed ? nullptr : symbol;
}

std::optional<LaunchValue> evaluateAtLaunch(const Expr &expr, const Scope &scope,
                                            Reporter &reporter) {
  return LaunchEvaluator(scope, reporter).evaluate(expr);
}

std::optional<Constant> evaluateConstant(const Expr &expr, const Scope &scope, Reporter &reporter,
                                         std::string_view what) {
  auto value = evaluateAtLaunch(expr, scope, reporter);
  if (!value)
    return std::nullopt;
  if (value->constant)
    return value->constant;
  reporter
      .error(DiagnosticKind::NotConstant, expr.range,
             fmt::format("{} must be known when compiling", what))
      .primary(fmt::format("`{}` is known at launch", value->text));
  return std::nullopt;
}

} // namespace flashqla::frontend
