// The parser of `DimExpr`: recursive descent over the precedence levels of the language's grammar.
#include "runtime/dim_expr.h"

#include <charconv>
#include <fmt/format.h>
#include <optional>

namespace flashqla {

namespace {

using Op = DimExpr::Op;

/// Enough for any manifest; keeps the recursion of evaluation and printing short.
constexpr int maxDepth = 100;
constexpr int maxOperators = 500;

class Parser {
public:
  explicit Parser(std::string_view text) : text(text) {}

  Expected<DimExpr> run() {
    DimExpr result = expression();
    skipSpaces();
    if (!failure && position != text.size())
      fail("an operator or the end");
    if (failure)
      return *std::move(failure);
    return result;
  }

private:
  struct Operator {
    const char *spelling;
    Op op;
  };

  DimExpr expression() {
    if (++depth > maxDepth)
      return fail("fewer levels of nesting");
    DimExpr result = orLevel();
    if (accept("?")) {
      DimExpr then = expression();
      expect(":");
      DimExpr otherwise = expression();
      result = DimExpr::select(count(result), then, otherwise);
    }
    --depth;
    return result;
  }

  DimExpr orLevel() {
    static constexpr Operator operators[] = {{"||", Op::Or}};
    return leftAssociative(operators, [this] { return andLevel(); });
  }

  DimExpr andLevel() {
    static constexpr Operator operators[] = {{"&&", Op::And}};
    return leftAssociative(operators, [this] { return compareLevel(); });
  }

  DimExpr compareLevel() {
    // The longer spelling of two that begin alike comes first.
    static constexpr Operator operators[] = {{"==", Op::Equal},     {"!=", Op::NotEqual},
                                             {"<=", Op::LessEqual}, {">=", Op::GreaterEqual},
                                             {"<", Op::Less},       {">", Op::Greater}};
    DimExpr left = sumLevel();
    for (const Operator &candidate : operators)
      if (accept(candidate.spelling))
        return DimExpr::binary(candidate.op, count(left), sumLevel());
    return left;
  }

  DimExpr sumLevel() {
    static constexpr Operator operators[] = {{"+", Op::Add}, {"-", Op::Sub}};
    return leftAssociative(operators, [this] { return termLevel(); });
  }

  DimExpr termLevel() {
    static constexpr Operator operators[] = {{"*", Op::Mul}, {"/", Op::Div}, {"%", Op::Mod}};
    return leftAssociative(operators, [this] { return unaryLevel(); });
  }

  template <class Operators, class Next>
  DimExpr leftAssociative(const Operators &operators, Next next) {
    DimExpr left = next();
    while (!failure) {
      const Operator *found = nullptr;
      for (const Operator &candidate : operators)
        if (!found && accept(candidate.spelling))
          found = &candidate;
      if (!found)
        break;
      left = DimExpr::binary(found->op, count(left), next());
    }
    return left;
  }

  DimExpr unaryLevel() {
    if (accept("-")) {
      skipSpaces();
      if (position < text.size() && isDigit(text[position]))
        return number(/*negative=*/true);
      return DimExpr::unary(Op::Negate, primary());
    }
    if (accept("!"))
      return DimExpr::unary(Op::Not, primary());
    return primary();
  }

  DimExpr primary() {
    if (failure)
      return DimExpr();
    skipSpaces();
    if (accept("(")) {
      DimExpr result = expression();
      expect(")");
      return result;
    }
    if (position < text.size() && isDigit(text[position]))
      return number(/*negative=*/false);
    const std::string_view word = identifier();
    if (word.empty())
      return fail("a number, a name or `(`");
    if (word == "true" || word == "false")
      return DimExpr::constant(word == "true");
    if (word == "ceildiv" || word == "min" || word == "max")
      return call(word);
    return DimExpr::name(word);
  }

  DimExpr call(std::string_view function) {
    const Op op = function == "min" ? Op::Min : function == "max" ? Op::Max : Op::CeilDiv;
    expect("(");
    DimExpr result = expression();
    expect(",");
    result = DimExpr::binary(op, count(result), expression());
    while (!failure && op != Op::CeilDiv && accept(","))
      result = DimExpr::binary(op, count(result), expression());
    expect(")");
    return result;
  }

  DimExpr number(bool negative) {
    const char *begin = text.data() + position, *end = text.data() + text.size();
    std::uint64_t magnitude = 0;
    const auto [stop, status] = std::from_chars(begin, end, magnitude);
    const std::uint64_t limit = (std::uint64_t{1} << 63) - (negative ? 0 : 1);
    if (status != std::errc{} || magnitude > limit)
      return fail("a number of at most 64 bits");
    position += stop - begin;
    if (position < text.size() && isWord(text[position]))
      return fail("an operator after the number");
    return DimExpr::constant(static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude));
  }

  std::string_view identifier() {
    const std::size_t begin = position;
    if (position < text.size() && !isDigit(text[position]))
      while (position < text.size() && isWord(text[position]))
        ++position;
    return text.substr(begin, position - begin);
  }

  const DimExpr &count(const DimExpr &operand) {
    if (++operators > maxOperators)
      fail("a shorter expression");
    return operand;
  }

  bool accept(std::string_view token) {
    skipSpaces();
    if (failure || !text.substr(position).starts_with(token))
      return false;
    position += token.size();
    return true;
  }

  void expect(const char *token) {
    if (!accept(token))
      fail(fmt::format("`{}`", token));
  }

  /// Keeps the first failure; the rest of the parse then unwinds without reading on.
  DimExpr fail(std::string_view wanted) {
    if (!failure)
      failure = Error{"expr-syntax",
                      fmt::format("expected {} at column {} of `{}`", wanted, position + 1, text),
                      {}};
    return DimExpr();
  }

  void skipSpaces() {
    while (position < text.size() && (text[position] == ' ' || text[position] == '\t'))
      ++position;
  }
  static bool isDigit(char c) { return c >= '0' && c <= '9'; }
  static bool isWord(char c) {
    return isDigit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  }

  std::string_view text;
  std::size_t position = 0;
  int depth = 0;
  int operators = 0;
  std::optional<Error> failure;
};

} // namespace

Expected<DimExpr> DimExpr::parse(std::string_view text) { return Parser(text).run(); }

} // namespace flashqla
