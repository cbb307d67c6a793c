#include "compiler/syntax/parser_impl.h"

#include <charconv>
#include <fmt/format.h>

namespace flashqla {

using namespace ast;

namespace {

struct BinaryToken {
  TokenKind token;
  BinaryOp op;
  unsigned level;
};

constexpr unsigned comparisonLevel = 2, sumLevel = 3, unaryLevel = 5;

/// The weakest first.
constexpr BinaryToken binaryTokens[] = {
    {TokenKind::OrOr, BinaryOp::Or, 0},
    {TokenKind::AndAnd, BinaryOp::And, 1},
    {TokenKind::EqualEqual, BinaryOp::Eq, comparisonLevel},
    {TokenKind::NotEqual, BinaryOp::Ne, comparisonLevel},
    {TokenKind::Less, BinaryOp::Lt, comparisonLevel},
    {TokenKind::LessEqual, BinaryOp::Le, comparisonLevel},
    {TokenKind::Greater, BinaryOp::Gt, comparisonLevel},
    {TokenKind::GreaterEqual, BinaryOp::Ge, comparisonLevel},
    {TokenKind::Plus, BinaryOp::Add, sumLevel},
    {TokenKind::Minus, BinaryOp::Sub, sumLevel},
    {TokenKind::Star, BinaryOp::Mul, 4},
    {TokenKind::Slash, BinaryOp::Div, 4},
    {TokenKind::Percent, BinaryOp::Mod, 4},
};

const BinaryToken *binaryToken(TokenKind kind, unsigned level) {
  for (const BinaryToken &candidate : binaryTokens)
    if (candidate.token == kind && candidate.level == level)
      return &candidate;
  return nullptr;
}

std::optional<ScalarType> scalarType(TokenKind kind) {
  switch (kind) {
#define FQ_TYPE(Name, spelling)                                                                    \
  case TokenKind::Name:                                                                            \
    return ScalarType::Name;
#include "compiler/syntax/tokens.def"
  default:
    return std::nullopt;
  }
}

std::optional<ReductionKind> reductionKind(TokenKind kind) {
  switch (kind) {
  case TokenKind::Sum:
    return ReductionKind::Sum;
  case TokenKind::Max:
    return ReductionKind::Max;
  case TokenKind::Min:
    return ReductionKind::Min;
  case TokenKind::Scan:
    return ReductionKind::Scan;
  case TokenKind::ReverseScan:
    return ReductionKind::ReverseScan;
  default:
    return std::nullopt;
  }
}

} // namespace

ExprPtr Parser::make(ExprKind kind, const Token &first) const {
  auto result = std::make_unique<Expr>();
  result->kind = kind;
  result->range = since(first);
  return result;
}

ExprPtr Parser::expr() {
  if (!enter())
    return nullptr;
  const Token first = peek();
  ExprPtr result = binary(0);
  if (result && at(TokenKind::Question)) {
    const SourceRange question = take().range;
    ExprPtr then = countOperator() ? expr() : nullptr;
    ExprPtr otherwise =
        then && expect(TokenKind::Colon, "the first choice of `?`") ? expr() : nullptr;
    if (otherwise) {
      ExprPtr ternary = make(ExprKind::Ternary, first);
      ternary->opRange = question;
      ternary->operands.push_back(std::move(result));
      ternary->operands.push_back(std::move(then));
      ternary->operands.push_back(std::move(otherwise));
      result = std::move(ternary);
    } else {
      result = nullptr;
    }
  }
  leave();
  return result;
}

ExprPtr Parser::binary(unsigned level) {
  if (level == unaryLevel)
    return unary();
  const Token first = peek();
  ExprPtr left = binary(level + 1);
  bool compared = false;
  while (left) {
    const BinaryToken *found = binaryToken(peek().kind, level);
    if (!found)
      break;
    if (level == comparisonLevel && compared) {
      diags.error(DiagnosticKind::ChainedComparison, peek().range, "comparisons do not chain")
          .label(left->opRange, "the first one")
          .help("compare twice and join with `&&`");
      return nullptr;
    }
    const SourceRange op = take().range;
    ExprPtr right = countOperator() ? binary(level + 1) : nullptr;
    if (!right)
      return nullptr;
    ExprPtr result = make(ExprKind::Binary, first);
    result->binary = found->op;
    result->opRange = op;
    result->operands.push_back(std::move(left));
    result->operands.push_back(std::move(right));
    left = std::move(result);
    compared = true;
  }
  return left;
}

ExprPtr Parser::sum() { return binary(sumLevel); }

ExprPtr Parser::unary() {
  if (!at(TokenKind::Minus) && !at(TokenKind::Not))
    return primary();
  const Token first = take();
  ExprPtr operand = primary();
  if (!operand)
    return nullptr;
  ExprPtr result = make(ExprKind::Unary, first);
  result->unary = first.kind == TokenKind::Minus ? UnaryOp::Negate : UnaryOp::Not;
  result->opRange = first.range;
  result->operands.push_back(std::move(operand));
  return result;
}

ExprPtr Parser::primary() {
  if (!enter())
    return nullptr;
  ExprPtr result = primaryUnguarded();
  leave();
  return result;
}

ExprPtr Parser::primaryUnguarded() {
  const Token first = peek();
  switch (first.kind) {
  case TokenKind::Integer:
  case TokenKind::Float:
    return number();
  case TokenKind::True:
  case TokenKind::False: {
    take();
    ExprPtr result = make(ExprKind::Bool, first);
    result->boolean = first.kind == TokenKind::True;
    return result;
  }
  case TokenKind::Inf:
    take();
    return make(ExprKind::Inf, first);
  case TokenKind::LeftParen: {
    take();
    ExprPtr inner = expr();
    if (!inner || !close(TokenKind::RightParen, first))
      return nullptr;
    ExprPtr result = make(ExprKind::Paren, first);
    result->operands.push_back(std::move(inner));
    return result;
  }
  default:
    return callOrReference();
  }
}

ExprPtr Parser::number() {
  const Token token = take();
  const std::string_view text = token.text();
  ExprPtr result =
      make(token.kind == TokenKind::Float ? ExprKind::Float : ExprKind::Integer, token);
  result->literal = text;
  const bool hex = text.starts_with("0x");
  const char *begin = text.data() + (hex ? 2 : 0), *end = text.data() + text.size();
  const std::from_chars_result read =
      token.kind == TokenKind::Float ? std::from_chars(begin, end, result->real)
                                     : std::from_chars(begin, end, result->integer, hex ? 16 : 10);
  // A number that does not end where the token ends was reported by the lexer.
  if (read.ec == std::errc::result_out_of_range) {
    diags.error(DiagnosticKind::NumberRange, token.range,
                token.kind == TokenKind::Float ? fmt::format("`{}` is not a double", text)
                                               : fmt::format("`{}` exceeds 64 bits", text));
    return nullptr;
  }
  return result;
}

ExprPtr Parser::callOrReference() {
  const TokenKind kind = peek().kind, following = peek(1).kind;
  if (kind == TokenKind::Identifier)
    return following == TokenKind::LeftParen ? call() : reference(true);
  if (scalarType(kind)) {
    if (following == TokenKind::LeftParen)
      return call();
    take();
    syntaxError(fmt::format("`(` after `{}`: a conversion", previous.text()));
    return nullptr;
  }
  if ((kind == TokenKind::Max || kind == TokenKind::Min) && following == TokenKind::LeftParen)
    return call();
  if (reductionKind(kind))
    return reduction();
  if (kind == TokenKind::Reserved)
    name("a value"); // says that the word is reserved
  else
    syntaxError("an expression");
  return nullptr;
}

ExprPtr Parser::call() {
  const Token callee = take();
  const Token open = take();
  std::vector<ExprPtr> arguments;
  if (!at(TokenKind::RightParen))
    do {
      ExprPtr argument = expr();
      if (!argument)
        return nullptr;
      arguments.push_back(std::move(argument));
    } while (accept(TokenKind::Comma));
  if (!close(TokenKind::RightParen, open))
    return nullptr;
  ExprPtr result = make(ExprKind::Call, callee);
  result->name = {std::string(callee.text()), callee.range};
  result->callee = scalarType(callee.kind);
  result->operands = std::move(arguments);
  return result;
}

ExprPtr Parser::reduction() {
  const Token word = take();
  const Token open = peek();
  if (!expect(TokenKind::LeftBracket, fmt::format("`{}`", word.text())))
    return nullptr;
  std::optional<Name> index = name("an index");
  if (!index)
    return nullptr;
  ExprPtr lower, upper;
  if (accept(TokenKind::In) && !range(lower, upper))
    return nullptr;
  if (!close(TokenKind::RightBracket, open))
    return nullptr;
  const Token paren = peek();
  if (!expect(TokenKind::LeftParen, "the index of a reduction"))
    return nullptr;
  ExprPtr body = expr();
  if (!body || !close(TokenKind::RightParen, paren))
    return nullptr;
  ExprPtr result = make(ExprKind::Reduction, word);
  result->reduction = *reductionKind(word.kind);
  result->opRange = word.range;
  result->name = std::move(*index);
  result->lower = std::move(lower);
  result->upper = std::move(upper);
  result->operands.push_back(std::move(body));
  return result;
}

/// `lower .. upper`
bool Parser::range(ExprPtr &lower, ExprPtr &upper) {
  lower = sum();
  if (!lower || !expect(TokenKind::DotDot, "the first bound of a range"))
    return false;
  upper = sum();
  return upper != nullptr;
}

ExprPtr Parser::reference(bool transposable) {
  const Token first = peek();
  std::optional<Name> tile = name("a tile or value");
  if (!tile)
    return nullptr;
  std::vector<Bracket> brackets;
  while (at(TokenKind::LeftBracket)) {
    std::optional<Bracket> next = bracket();
    if (!next)
      return nullptr;
    brackets.push_back(std::move(*next));
  }
  bool transposed = false;
  if (transposable && accept(TokenKind::Dot)) {
    if (!at(TokenKind::Identifier) || peek().text() != "T") {
      syntaxError("`T` after `.`");
      return nullptr;
    }
    take();
    transposed = true;
  }
  ExprPtr result = make(ExprKind::Reference, first);
  result->name = std::move(*tile);
  result->brackets = std::move(brackets);
  result->transposed = transposed;
  return result;
}

/// A type or a name before a parenthesis.
bool Parser::atConversion() const {
  return (at(TokenKind::Identifier) || scalarType(peek().kind)) &&
         peek(1).kind == TokenKind::LeftParen;
}

/// An operand of a product or the source of a copy: `ref` or `E(ref)`.
ExprPtr Parser::operand() {
  if (!atConversion())
    return reference(true);
  const Token callee = take();
  const Token open = take();
  ExprPtr inner = reference(true);
  if (!inner || !close(TokenKind::RightParen, open))
    return nullptr;
  ExprPtr result = make(ExprKind::Call, callee);
  result->name = {std::string(callee.text()), callee.range};
  result->callee = scalarType(callee.kind);
  result->operands.push_back(std::move(inner));
  return result;
}

std::optional<Bracket> Parser::bracket() {
  const Token open = take();
  Bracket result;
  do {
    std::optional<Index> next = index();
    if (!next)
      return std::nullopt;
    result.indices.push_back(std::move(*next));
  } while (accept(TokenKind::Comma));
  if (!close(TokenKind::RightBracket, open))
    return std::nullopt;
  result.range = since(open);
  return result;
}

std::optional<Index> Parser::index() {
  const Token first = peek();
  Index result;
  if (accept(TokenKind::Colon)) {
    result.range = since(first);
    return result;
  }
  result.kind = Index::Kind::Point;
  result.begin = expr();
  if (!result.begin)
    return std::nullopt;
  if (accept(TokenKind::PlusColon)) {
    result.kind = Index::Kind::Window;
    result.extent = sum();
    if (!result.extent)
      return std::nullopt;
    if (accept(TokenKind::Until)) {
      result.limit = sum();
      if (!result.limit)
        return std::nullopt;
    }
  }
  result.range = since(first);
  return result;
}

/// A type where no conversion follows.
ExprPtr Parser::sumOrType() {
  return scalarType(peek().kind) && peek(1).kind != TokenKind::LeftParen ? exprOrType() : sum();
}

ExprPtr Parser::exprOrType() {
  if (!scalarType(peek().kind) || peek(1).kind == TokenKind::LeftParen)
    return expr();
  const Token first = peek();
  std::optional<ElemType> type = elem();
  ExprPtr result = make(ExprKind::Type, first);
  result->elem = std::move(*type);
  return result;
}

std::optional<ElemType> Parser::elem() {
  const Token token = peek();
  if (const std::optional<ScalarType> type = scalarType(token.kind)) {
    take();
    return ElemType{type, {std::string(token.text()), token.range}};
  }
  std::optional<Name> parameter = name("an element type");
  if (!parameter)
    return std::nullopt;
  return ElemType{std::nullopt, std::move(*parameter)};
}

std::optional<Shape> Parser::shape() {
  const Token open = peek();
  if (!expect(TokenKind::LeftBracket, "an element type"))
    return std::nullopt;
  Shape result;
  do {
    ExprPtr extent = expr();
    if (!extent)
      return std::nullopt;
    result.extents.push_back(std::move(extent));
  } while (accept(TokenKind::Comma));
  if (!close(TokenKind::RightBracket, open))
    return std::nullopt;
  result.range = since(open);
  return result;
}

/// `[sum]`, or nothing: `value` stays null then.
bool Parser::optionalBracket(ExprPtr &value) {
  if (!at(TokenKind::LeftBracket))
    return true;
  const Token open = take();
  value = sum();
  return value && close(TokenKind::RightBracket, open);
}

} // namespace flashqla
