#include "compiler/syntax/parser_impl.h"

#include <algorithm>
#include <fmt/format.h>

namespace flashqla {

using namespace ast;

namespace {

/// Levels of expressions and blocks together; every one costs some stack here and in whoever walks
/// the tree.
constexpr unsigned depthLimit = 200;
constexpr unsigned operatorLimit = 2000;

} // namespace

Module parse(const SourceFile &file, Diagnostics &diags) { return Parser(file, diags).module(); }

Parser::Parser(const SourceFile &file, Diagnostics &diags) : file(file), diags(diags) {
  LexedFile lexed = lex(file, diags);
  tokens = std::move(lexed.tokens);
  comments = std::move(lexed.comments);
  claimed.resize(comments.size());
}

// ----------------------------------------------------------------------------------- tokens

const Token &Parser::peek(size_t ahead) const {
  return tokens[std::min(position + ahead, tokens.size() - 1)];
}

bool Parser::atModuleItem() const {
  return at(TokenKind::Const) || at(TokenKind::Fn) || at(TokenKind::Kernel);
}

/// A `const` that does not begin its line is meant for the block around it.
bool Parser::atIndentedConst() const {
  const uint32_t begin = peek().range.begin;
  return at(TokenKind::Const) && begin != 0 && file.text()[begin - 1] != '\n';
}

const Token &Parser::take() {
  if (!at(TokenKind::Newline)) // where something is missing, that is before the newline
    previous = peek();
  if (!at(TokenKind::End))
    ++position;
  return previous;
}

bool Parser::accept(TokenKind kind) {
  if (!at(kind))
    return false;
  take();
  return true;
}

bool Parser::expect(TokenKind kind, std::string_view after) {
  if (accept(kind))
    return true;
  DiagnosticBuilder error = syntaxError(fmt::format("`{}` after {}", tokenName(kind), after));
  if (kind == TokenKind::LeftBrace && at(TokenKind::Equal))
    error.help("a comparison is written `==`");
  return false;
}

/// The partner of `open`.
bool Parser::close(TokenKind kind, const Token &open) {
  if (accept(kind))
    return true;
  const bool gone = at(TokenKind::Newline) || at(TokenKind::End) || at(TokenKind::LeftBrace) ||
                    at(TokenKind::RightBrace) || atClause();
  if (gone)
    diags
        .error(DiagnosticKind::UnclosedBracket, foundRange(),
               fmt::format("`{}` is not closed", open.text()))
        .primary(fmt::format("`{}` is missing", tokenName(kind)))
        .label(open.range, "opened here");
  else
    syntaxError(fmt::format("`{}`", tokenName(kind))).label(open.range, "to close this");
  return false;
}

void Parser::skipNewlines() {
  while (at(TokenKind::Newline))
    take();
}

std::optional<Name> Parser::name(std::string_view what) {
  if (at(TokenKind::Identifier)) {
    take();
    return Name{std::string(previous.text()), previous.range};
  }
  if (isWord(peek().kind))
    diags.error(
        DiagnosticKind::ReservedWord, peek().range,
        at(TokenKind::Reserved)
            ? fmt::format("`{}` is reserved for later and cannot name {}", peek().text(), what)
            : fmt::format("`{}` is a keyword and cannot name {}", peek().text(), what));
  else
    syntaxError(fmt::format("the name of {}", what));
  return std::nullopt;
}

// --------------------------------------------------------------------------------- mistakes

std::string Parser::found() const {
  switch (peek().kind) {
  case TokenKind::End:
  case TokenKind::Newline:
    return std::string(tokenName(peek().kind));
  default:
    return fmt::format("`{}`", peek().text());
  }
}

/// Where something is missing: at the token, or behind the last one where the line ends.
SourceRange Parser::foundRange() const {
  const bool lineEnds = at(TokenKind::Newline) || at(TokenKind::End);
  return lineEnds && previous.range ? previous.range.after() : peek().range;
}

DiagnosticBuilder Parser::syntaxError(std::string_view expected) {
  return diags.error(DiagnosticKind::Syntax, foundRange(),
                     fmt::format("expected {}, found {}", expected, found()));
}

bool Parser::enter() {
  if (depth < depthLimit) {
    ++depth;
    return true;
  }
  diags.error(DiagnosticKind::NestingLimit, foundRange(), "nested too deeply")
      .primary(fmt::format("level {} of expressions and blocks", depthLimit + 1));
  return false;
}

bool Parser::countOperator() {
  if (++operators <= operatorLimit)
    return true;
  diags.error(DiagnosticKind::NestingLimit, foundRange(), "the expression is too long")
      .primary(fmt::format("more than {} operators in one statement", operatorLimit));
  return false;
}

/// To the end of the line or before the brace that closes the block, over whole blocks.
void Parser::recoverInBlock() {
  unsigned braces = 0;
  while (!at(TokenKind::End) && !atModuleItem()) {
    if (braces == 0 && (at(TokenKind::Newline) || at(TokenKind::RightBrace)))
      return;
    if (at(TokenKind::LeftBrace))
      ++braces;
    else if (at(TokenKind::RightBrace))
      --braces;
    take();
  }
}

/// To the next clause of a kernel, its brace, or the next item of the module.
void Parser::recoverInHeader() {
  while (!at(TokenKind::End) && !at(TokenKind::LeftBrace) && !atClause() && !atModuleItem())
    take();
}

/// To an item of the module that begins a line.
void Parser::recoverInModule() {
  auto atLineStart = [&] {
    return position > 0 && tokens[position - 1].kind == TokenKind::Newline;
  };
  while (!at(TokenKind::End) && !(atModuleItem() && atLineStart()))
    take();
}

// --------------------------------------------------------------------------------- comments

std::vector<Comment> Parser::commentsBefore(uint32_t offset) {
  std::vector<Comment> result;
  for (size_t i = firstUnclaimed; i < comments.size() && comments[i].range.begin < offset; ++i) {
    if (!claimed[i])
      result.push_back(std::move(comments[i]));
    claimed[i] = true;
    firstUnclaimed = i + 1;
  }
  return result;
}

/// The comment at the end of the line of the token just taken, if no other token comes before it.
std::optional<Comment> Parser::commentBehind() {
  const uint32_t end = previous.range.end;
  size_t i = firstUnclaimed;
  while (i < comments.size() && (claimed[i] || comments[i].range.begin < end))
    ++i;
  if (i == comments.size() || file.lineOf(comments[i].range.begin) != file.lineOf(end))
    return std::nullopt;
  const Token &following = at(TokenKind::Newline) ? peek(1) : peek();
  if (following.range.begin < comments[i].range.begin)
    return std::nullopt;
  claimed[i] = true;
  return std::move(comments[i]);
}

Trivia Parser::beginUnit() {
  operators = 0;
  Trivia trivia;
  trivia.leading = commentsBefore(peek().range.begin);
  trivia.blankBefore = peek().blankBefore;
  return trivia;
}

/// Comments inside the unit that found no place of their own move before it.
void Parser::endUnit(Trivia &trivia) {
  for (Comment &comment : commentsBefore(previous.range.end)) {
    comment.blankBefore = trivia.leading.empty() && trivia.blankBefore;
    trivia.blankBefore = trivia.blankBefore && !trivia.leading.empty();
    trivia.leading.push_back(std::move(comment));
  }
  if (!trivia.trailing)
    trivia.trailing = commentBehind();
}

// ---------------------------------------------------------------------------------- modules

Module Parser::module() {
  Module result;
  result.range = file.range();
  for (skipNewlines(); !at(TokenKind::End); skipNewlines()) {
    Trivia trivia = beginUnit();
    const Token first = peek();
    std::optional<decltype(TopLevel::node)> node;
    if (at(TokenKind::Const))
      node = constItem();
    else if (at(TokenKind::Fn))
      node = fnItem();
    else if (at(TokenKind::Kernel))
      node = kernelItem();
    else if (at(TokenKind::RightBrace))
      diags.error(DiagnosticKind::UnclosedBracket, peek().range, "`}` closes nothing");
    else
      syntaxError("`kernel`, `fn` or `const`");
    if (node && !at(TokenKind::Newline) && !at(TokenKind::End)) {
      syntaxError("end of line");
      node.reset();
    }
    if (!node) {
      recoverInModule();
      continue;
    }
    const SourceRange range = since(first);
    endUnit(trivia);
    result.items.push_back({range, std::move(trivia), std::move(*node)});
  }
  result.closeComments = commentsBefore(file.range().end);
  return result;
}

std::optional<Const> Parser::constItem() {
  take();
  std::optional<Name> constant = name("a constant");
  if (!constant || !expect(TokenKind::Equal, "the name of a constant"))
    return std::nullopt;
  ExprPtr value = expr();
  if (!value)
    return std::nullopt;
  return Const{std::move(*constant), std::move(value)};
}

std::optional<Fn> Parser::fnItem() {
  take();
  Fn result;
  std::optional<Name> function = name("a function");
  const Token open = peek();
  if (!function || !expect(TokenKind::LeftParen, "the name of a function"))
    return std::nullopt;
  result.name = std::move(*function);
  if (!at(TokenKind::RightParen))
    do {
      std::optional<Name> parameter = name("a parameter");
      if (!parameter)
        return std::nullopt;
      result.params.push_back(std::move(*parameter));
    } while (accept(TokenKind::Comma));
  if (!close(TokenKind::RightParen, open) ||
      !expect(TokenKind::Equal, "the parameters of a function"))
    return std::nullopt;
  result.value = expr();
  return result.value ? std::optional(std::move(result)) : std::nullopt;
}

// ---------------------------------------------------------------------------------- kernels

std::optional<Kernel> Parser::kernelItem() {
  const Token word = take();
  Kernel result;
  bool complete = kernelNames(result);
  result.header = word.range.to(result.name.range);
  complete = complete && args(result);
  if (!complete)
    recoverInHeader();
  while (atClause())
    if (!clause(result)) {
      complete = false;
      recoverInHeader();
    }
  if (!at(TokenKind::LeftBrace)) {
    if (complete)
      syntaxError("a clause or `{`");
    return std::nullopt;
  }
  std::optional<Block> body = block(Level::Kernel, result.header);
  if (!body || !complete)
    return std::nullopt;
  result.body = std::move(*body);
  return result;
}

/// Name, dims and parameters.
bool Parser::kernelNames(Kernel &kernel) {
  std::optional<Name> kernelName = name("a kernel");
  if (!kernelName)
    return false;
  kernel.name = std::move(*kernelName);
  if (const Token open = peek(); accept(TokenKind::LeftBracket)) {
    do {
      std::optional<Dim> next = dim();
      if (!next)
        return false;
      kernel.dims.push_back(std::move(*next));
    } while (accept(TokenKind::Comma));
    if (!close(TokenKind::RightBracket, open))
      return false;
  }
  if (const Token open = peek(); accept(TokenKind::Less)) {
    do {
      std::optional<Param> next = param();
      if (!next)
        return false;
      kernel.params.push_back(std::move(*next));
    } while (accept(TokenKind::Comma));
    if (!close(TokenKind::Greater, open))
      return false;
  }
  return true;
}

std::optional<Dim> Parser::dim() {
  const Token first = peek();
  std::optional<Name> dimName = name("a dim");
  if (!dimName)
    return std::nullopt;
  bool isStatic = false;
  if (accept(TokenKind::Colon)) {
    isStatic = true;
    if (!accept(TokenKind::Static)) {
      syntaxError("`static`");
      return std::nullopt;
    }
  }
  return Dim{since(first), std::move(*dimName), isStatic};
}

std::optional<Param> Parser::param() {
  const Token first = peek();
  std::optional<Name> paramName = name("a parameter");
  if (!paramName || !expect(TokenKind::Equal, "a parameter, which has a default"))
    return std::nullopt;
  ExprPtr value = sumOrType();
  if (!value)
    return std::nullopt;
  return Param{since(first), std::move(*paramName), std::move(value)};
}

bool Parser::args(Kernel &kernel) {
  const Token open = peek();
  if (!expect(TokenKind::LeftParen, "the name, dims and parameters of a kernel"))
    return false;
  bool more = true;
  while (more) {
    Trivia trivia = beginUnit();
    std::optional<Arg> next = arg();
    if (!next)
      return false;
    endUnit(trivia);
    more = accept(TokenKind::Comma);
    if (!more && !close(TokenKind::RightParen, open))
      return false;
    if (!trivia.trailing)
      trivia.trailing = commentBehind();
    next->trivia = std::move(trivia);
    kernel.args.push_back(std::move(*next));
  }
  return true;
}

std::optional<Arg> Parser::arg() {
  const Token first = peek();
  Arg result;
  std::optional<Name> argName = name("an argument");
  if (!argName || !expect(TokenKind::Colon, "the name of an argument"))
    return std::nullopt;
  result.name = std::move(*argName);
  if (!tensorOrScalar(result))
    return std::nullopt;
  if (accept(TokenKind::If)) {
    result.condition = expr();
    if (!result.condition)
      return std::nullopt;
  }
  result.range = since(first);
  return result;
}

bool Parser::tensorOrScalar(Arg &arg) {
  switch (peek().kind) {
  case TokenKind::In:
    arg.direction = Direction::In;
    break;
  case TokenKind::Out:
    arg.direction = Direction::Out;
    break;
  case TokenKind::InOut:
    arg.direction = Direction::InOut;
    break;
  default:
    break;
  }
  if (arg.direction)
    arg.directionRange = take().range;
  std::optional<ElemType> type = elem();
  if (!type)
    return false;
  arg.elem = std::move(*type);
  if (!arg.direction) {
    if (!at(TokenKind::LeftBracket))
      return true;
    syntaxError("the end of a scalar argument")
        .help("a tensor says its direction: `in`, `out` or `inout`");
    return false;
  }
  std::optional<Shape> extents = shape();
  if (!extents)
    return false;
  arg.shape = std::move(*extents);
  if (accept(TokenKind::Strided)) {
    arg.strided = true;
    arg.stridedRange = previous.range;
    if (const Token open = peek(); accept(TokenKind::LeftParen)) {
      arg.alignment = sum();
      if (!arg.alignment || !close(TokenKind::RightParen, open))
        return false;
    }
  }
  return true;
}

bool Parser::atClause() const {
  return at(TokenKind::Where) || at(TokenKind::Grid) || at(TokenKind::Cluster) ||
         at(TokenKind::Resident) || at(TokenKind::Check);
}

bool Parser::clause(Kernel &kernel) {
  Trivia trivia = beginUnit();
  const Token word = take();
  std::optional<decltype(Clause::node)> node = clauseNode(word.kind);
  if (!node)
    return false;
  if (!atClause() && !at(TokenKind::LeftBrace)) {
    syntaxError("a clause or `{`");
    return false;
  }
  const SourceRange range = since(word);
  endUnit(trivia);
  kernel.clauses.push_back({range, word.range, std::move(trivia), std::move(*node)});
  return true;
}

std::optional<decltype(Clause::node)> Parser::clauseNode(TokenKind word) {
  if (word == TokenKind::Grid || word == TokenKind::Cluster) {
    std::optional<std::vector<Axis>> list = axes();
    if (!list)
      return std::nullopt;
    if (word == TokenKind::Grid)
      return Grid{std::move(*list)};
    return Cluster{std::move(*list)};
  }
  if (word == TokenKind::Resident) {
    ExprPtr count = sum();
    if (!count)
      return std::nullopt;
    return Resident{std::move(count)};
  }
  if (word == TokenKind::Where) {
    Where result;
    do {
      ExprPtr condition = expr();
      if (!condition)
        return std::nullopt;
      result.conditions.push_back(std::move(condition));
    } while (accept(TokenKind::Comma));
    return result;
  }
  Check result;
  do {
    std::optional<CheckCase> next = checkCase();
    if (!next)
      return std::nullopt;
    result.cases.push_back(std::move(*next));
  } while (accept(TokenKind::Comma));
  return result;
}

/// `(r: C, c: C)`
std::optional<std::vector<Axis>> Parser::axes() {
  const Token open = peek();
  if (!expect(TokenKind::LeftParen, fmt::format("`{}`", previous.text())))
    return std::nullopt;
  std::vector<Axis> result;
  do {
    std::optional<Axis> next = axis();
    if (!next)
      return std::nullopt;
    result.push_back(std::move(*next));
  } while (accept(TokenKind::Comma));
  if (!close(TokenKind::RightParen, open))
    return std::nullopt;
  return result;
}

std::optional<Axis> Parser::axis() {
  const Token first = peek();
  std::optional<Name> axisName = name("an index");
  if (!axisName || !expect(TokenKind::Colon, "the name of an index"))
    return std::nullopt;
  ExprPtr extent = expr();
  if (!extent)
    return std::nullopt;
  return Axis{since(first), std::move(*axisName), std::move(extent)};
}

std::optional<CheckCase> Parser::checkCase() {
  const Token open = peek();
  if (!expect(TokenKind::LeftParen, fmt::format("`{}`", previous.text())))
    return std::nullopt;
  CheckCase result;
  do {
    std::optional<CheckBinding> next = checkBinding();
    if (!next)
      return std::nullopt;
    result.bindings.push_back(std::move(*next));
  } while (accept(TokenKind::Comma));
  if (!close(TokenKind::RightParen, open))
    return std::nullopt;
  result.range = since(open);
  return result;
}

std::optional<CheckBinding> Parser::checkBinding() {
  const Token first = peek();
  CheckBinding result;
  std::optional<Name> bound = name("a dim, argument or parameter");
  if (!bound || !expect(TokenKind::Equal, "the name of a dim, argument or parameter"))
    return std::nullopt;
  result.name = std::move(*bound);
  if (const Token open = peek(); accept(TokenKind::LeftBracket)) {
    result.isList = true;
    do {
      ExprPtr element = expr();
      if (!element)
        return std::nullopt;
      result.list.push_back(std::move(element));
    } while (accept(TokenKind::Comma));
    if (!close(TokenKind::RightBracket, open))
      return std::nullopt;
  } else if (!(result.value = exprOrType())) {
    return std::nullopt;
  }
  result.range = since(first);
  return result;
}

} // namespace flashqla
