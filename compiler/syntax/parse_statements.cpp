#include "compiler/syntax/parser_impl.h"

#include <fmt/format.h>

namespace flashqla {

using namespace ast;

// ----------------------------------------------------------------------------------- blocks

/// `{ … }`; `owner` is what a message about a missing brace points at.
std::optional<Block> Parser::block(Level level, const SourceRange &owner) {
  const Token open = peek();
  if (at(TokenKind::LeftBrace) && !enter())
    return std::nullopt; // before the brace, so that recovery steps over the whole block
  if (!expect(TokenKind::LeftBrace, fmt::format("`{}`", previous.text())))
    return std::nullopt;
  Block result;
  result.openComment = commentBehind();
  for (skipNewlines(); !at(TokenKind::RightBrace); skipNewlines()) {
    if (at(TokenKind::End) || (atModuleItem() && !atIndentedConst())) {
      if (!unclosedReported)
        diags.error(DiagnosticKind::UnclosedBracket, foundRange(), "a block is not closed")
            .primary("`}` is missing")
            .label(owner, "the block of this");
      unclosedReported = true;
      leave();
      return std::nullopt;
    }
    statement(result, level);
  }
  result.closeComments = commentsBefore(peek().range.begin);
  take();
  result.range = since(open);
  leave();
  return result;
}

void Parser::statement(Block &block, Level level) {
  Trivia trivia = beginUnit();
  const Token first = peek();
  const bool allowed = checkLevel(level);
  std::optional<StmtNode> node = statementNode(level);
  if (node && !at(TokenKind::Newline) && !at(TokenKind::RightBrace) && !at(TokenKind::End)) {
    syntaxError("end of line");
    node.reset();
  }
  if (!node)
    recoverInBlock();
  if (!node || !allowed)
    return;
  const SourceRange range = since(first);
  endUnit(trivia);
  block.statements.push_back({range, std::move(trivia), std::move(*node)});
}

/// Whether the statement that begins here may stand in a block of this level; reports it if not.
bool Parser::checkLevel(Level level) {
  const TokenKind kind = peek().kind;
  const bool declares =
      kind == TokenKind::Shared || kind == TokenKind::Barrier || kind == TokenKind::Warpgroup;
  const bool works =
      kind == TokenKind::Var || kind == TokenKind::Frag || kind == TokenKind::For ||
      kind == TokenKind::Wait || kind == TokenKind::Arrive || kind == TokenKind::Await ||
      kind == TokenKind::Copy || kind == TokenKind::Wgmma || kind == TokenKind::Map ||
      kind == TokenKind::Sync || kind == TokenKind::Assert || kind == TokenKind::Identifier;
  auto misplaced = [&](std::string_view where) {
    const std::string what =
        kind == TokenKind::Identifier ? "an assignment" : fmt::format("`{}`", peek().text());
    diags.error(DiagnosticKind::MisplacedStatement, peek().range,
                fmt::format("{} stands in {}", what, where));
    return false;
  };
  if (declares && level != Level::Kernel)
    return misplaced("the body of a kernel");
  if (kind == TokenKind::Warp && level != Level::Warps)
    return misplaced("a warpgroup that has no statements of its own");
  switch (level) {
  case Level::Kernel:
    return !works || misplaced("a role");
  case Level::Warps:
    if (works || kind == TokenKind::Let || kind == TokenKind::If)
      return misplaced("a role: this warpgroup consists of warps");
    return true;
  case Level::Map:
    if ((works && kind != TokenKind::Identifier) || kind == TokenKind::If)
      return misplaced("a role; a `map` holds `let` and assignments");
    return true;
  case Level::Work:
    return true;
  }
  __builtin_unreachable();
}

namespace {

/// A part that was read, as a statement; nothing stays nothing.
template <typename Node> std::optional<StmtNode> asStatement(std::optional<Node> node) {
  if (!node)
    return std::nullopt;
  return StmtNode(std::move(*node));
}

} // namespace

std::optional<StmtNode> Parser::statementNode(Level level) {
  switch (peek().kind) {
  case TokenKind::Let: {
    take();
    std::optional<std::vector<Binding>> list = bindings();
    return list ? std::optional<StmtNode>(Let{std::move(*list)}) : std::nullopt;
  }
  case TokenKind::Var: {
    take();
    std::optional<std::vector<Binding>> list = bindings();
    return list ? std::optional<StmtNode>(Var{std::move(*list)}) : std::nullopt;
  }
  case TokenKind::Wait: {
    take();
    std::optional<BarrierRef> ref = barrierRef("a barrier");
    return ref ? std::optional<StmtNode>(Wait{std::move(*ref)}) : std::nullopt;
  }
  case TokenKind::Arrive: {
    take();
    std::optional<BarrierRef> ref = barrierRef("a barrier");
    return ref ? std::optional<StmtNode>(Arrive{std::move(*ref)}) : std::nullopt;
  }
  case TokenKind::Frag:
    return asStatement(frag());
  case TokenKind::Shared:
    return asStatement(shared());
  case TokenKind::Barrier:
    return asStatement(barrier());
  case TokenKind::Warpgroup:
    return asStatement(role(RoleKind::Warpgroup));
  case TokenKind::Warp:
    return asStatement(role(RoleKind::Warp));
  case TokenKind::For:
    return asStatement(forLoop());
  case TokenKind::If:
    return asStatement(ifChain(level));
  case TokenKind::Await:
    return asStatement(await());
  case TokenKind::Copy:
    return asStatement(copy());
  case TokenKind::Wgmma:
    return asStatement(wgmma());
  case TokenKind::Map:
    return asStatement(map());
  case TokenKind::Identifier:
    return asStatement(assign(level == Level::Map));
  case TokenKind::Sync:
    take();
    return Sync{};
  case TokenKind::Assert: {
    take();
    ExprPtr condition = expr();
    return condition ? std::optional<StmtNode>(Assert{std::move(condition)}) : std::nullopt;
  }
  case TokenKind::Else:
    strayElse(level);
    return std::nullopt;
  case TokenKind::Const:
    diags.error(DiagnosticKind::MisplacedStatement, peek().range, "`const` stands outside kernels")
        .help("`let` names a value here");
    take();
    return std::nullopt;
  case TokenKind::Reserved:
    name("anything");
    return std::nullopt;
  default:
    syntaxError("a statement");
    return std::nullopt;
  }
}

// ----------------------------------------------------------------------------- declarations

std::optional<std::vector<Binding>> Parser::bindings() {
  std::vector<Binding> result;
  do {
    const Token first = peek();
    std::optional<Name> bound = name("a value");
    if (!bound || !expect(TokenKind::Equal, "the name of a value"))
      return std::nullopt;
    ExprPtr value = expr();
    if (!value)
      return std::nullopt;
    result.push_back({since(first), std::move(*bound), std::move(value)});
  } while (accept(TokenKind::Comma));
  return result;
}

/// The colon between the name of a tile and its type.
bool Parser::expectType(std::string_view what) {
  const std::string after = fmt::format("the name of {}", what);
  if (!at(TokenKind::Comma))
    return expect(TokenKind::Colon, after);
  syntaxError(fmt::format("`:` after {}", after))
      .help("each has its own type: `a: bf16[64, 64], b: bf16[64, 64]`");
  return false;
}

std::optional<Frag> Parser::frag() {
  take();
  Frag result;
  do {
    const Token first = peek();
    FragDecl decl;
    std::optional<Name> fragment = name("a fragment");
    if (!fragment || !expectType("a fragment"))
      return std::nullopt;
    decl.name = std::move(*fragment);
    std::optional<ElemType> type = elem();
    std::optional<Shape> extents = type ? shape() : std::nullopt;
    if (!extents)
      return std::nullopt;
    decl.elem = std::move(*type);
    decl.shape = std::move(*extents);
    if (accept(TokenKind::Equal)) {
      decl.init = expr();
      if (!decl.init)
        return std::nullopt;
    }
    decl.range = since(first);
    result.decls.push_back(std::move(decl));
  } while (accept(TokenKind::Comma));
  return result;
}

std::optional<Shared> Parser::shared() {
  take();
  Shared result;
  do {
    const Token first = peek();
    SharedDecl decl;
    std::optional<Name> tile = name("a shared tile");
    if (!tile || !expectType("a shared tile"))
      return std::nullopt;
    decl.name = std::move(*tile);
    std::optional<ElemType> type = elem();
    std::optional<Shape> extents = type ? shape() : std::nullopt;
    if (!extents)
      return std::nullopt;
    decl.elem = std::move(*type);
    if (at(TokenKind::LeftBracket)) {
      decl.ring = std::move(extents);
      extents = shape();
      if (!extents)
        return std::nullopt;
    }
    decl.shape = std::move(*extents);
    decl.range = since(first);
    result.decls.push_back(std::move(decl));
  } while (accept(TokenKind::Comma));
  return result;
}

std::optional<Barrier> Parser::barrier() {
  take();
  Barrier result;
  std::optional<Name> barrierName = name("a barrier");
  if (!barrierName || !optionalBracket(result.slots) ||
      !expect(TokenKind::Colon, "the name of a barrier"))
    return std::nullopt;
  result.name = std::move(*barrierName);
  std::optional<std::vector<Who>> arrivers = whoList();
  if (!arrivers || !expect(TokenKind::RightArrow, "the roles that arrive"))
    return std::nullopt;
  std::optional<std::vector<Who>> waiters = whoList();
  if (!waiters)
    return std::nullopt;
  result.arrivers = std::move(*arrivers);
  result.waiters = std::move(*waiters);
  return result;
}

std::optional<std::vector<Who>> Parser::whoList() {
  std::vector<Who> result;
  do {
    const Token first = peek();
    Who who;
    std::optional<Name> roleName = name("a role");
    if (!roleName || !optionalBracket(who.instance))
      return std::nullopt;
    who.name = std::move(*roleName);
    who.range = since(first);
    result.push_back(std::move(who));
  } while (accept(TokenKind::Comma));
  return result;
}

std::optional<Role> Parser::role(RoleKind kind) {
  const Token first = take();
  Role result;
  result.kind = kind;
  const bool complete = roleHeader(result) || (skipToBrace(), false);
  result.header = since(first);
  if (!complete && !at(TokenKind::LeftBrace))
    return std::nullopt;
  size_t ahead = 1;
  while (peek(ahead).kind == TokenKind::Newline)
    ++ahead;
  const bool warps = kind == RoleKind::Warpgroup && peek(ahead).kind == TokenKind::Warp;
  std::optional<Block> body = block(warps ? Level::Warps : Level::Work, result.header);
  if (!body || !complete)
    return std::nullopt;
  result.body = std::move(*body);
  return result;
}

bool Parser::roleHeader(Role &role) {
  std::optional<Name> roleName = name("a role");
  if (!roleName || !optionalBracket(role.count))
    return false;
  role.name = std::move(*roleName);
  if (!role.count && accept(TokenKind::Each)) {
    role.each = name("an index");
    if (!role.each || !expect(TokenKind::In, "the index of a role") ||
        !range(role.lower, role.upper))
      return false;
  }
  if (role.kind == RoleKind::Warpgroup) {
    if (!expect(TokenKind::Regs, "the name of a warpgroup"))
      return false;
    role.regs = sum();
    return role.regs != nullptr;
  }
  return true;
}

// ------------------------------------------------------------------------------ control flow

/// After a mistake in a header: to its brace, so that the block can be read. False if the line has
/// none.
bool Parser::skipToBrace() {
  while (!at(TokenKind::Newline) && !at(TokenKind::End) && !at(TokenKind::LeftBrace) &&
         !at(TokenKind::RightBrace))
    take();
  return at(TokenKind::LeftBrace);
}

std::optional<For> Parser::forLoop() {
  const Token first = take();
  For result;
  const bool complete = forHeader(result) || (skipToBrace(), false);
  result.header = since(first);
  if (!complete && !at(TokenKind::LeftBrace))
    return std::nullopt;
  std::optional<Block> body = block(Level::Work, result.header);
  if (!body || !complete)
    return std::nullopt;
  result.body = std::move(*body);
  return result;
}

bool Parser::forHeader(For &loop) {
  if (at(TokenKind::LeftParen)) {
    syntaxError("the name of an index").help("`for i in 0 .. n {`, without parentheses");
    return false;
  }
  std::optional<Name> index = name("an index");
  if (!index || !expect(TokenKind::In, "the index of a loop") || !range(loop.lower, loop.upper))
    return false;
  loop.index = std::move(*index);
  if (accept(TokenKind::Step)) {
    loop.step = sum();
    if (!loop.step)
      return false;
  }
  loop.unroll = accept(TokenKind::Unroll);
  return true;
}

std::optional<If> Parser::ifChain(Level level) {
  If result;
  bool complete = true, conditional = true;
  while (conditional) {
    const Token first = take();
    IfArm arm;
    conditional = first.kind == TokenKind::If || accept(TokenKind::If);
    if (conditional && !(arm.condition = expr())) {
      complete = false;
      if (!skipToBrace())
        return std::nullopt;
    }
    arm.header = since(first);
    std::optional<Block> body = block(level, arm.header);
    if (!body)
      return std::nullopt;
    arm.body = std::move(*body);
    result.arms.push_back(std::move(arm));
    if (!at(TokenKind::Else))
      break;
  }
  return complete ? std::optional(std::move(result)) : std::nullopt;
}

/// `else` at the start of a line. Its block is read for the mistakes in it.
bool Parser::strayElse(Level level) {
  diags
      .error(DiagnosticKind::ElsePlacement, peek().range,
             "`else` belongs on the line of the `}` before it")
      .help("`} else`");
  return ifChain(level).has_value();
}

// ------------------------------------------------------------------- barriers, copies, products

std::optional<BarrierRef> Parser::barrierRef(std::string_view what) {
  const Token first = peek();
  BarrierRef result;
  std::optional<Name> barrierName = name(what);
  if (!barrierName || !optionalBracket(result.generation))
    return std::nullopt;
  result.name = std::move(*barrierName);
  result.range = since(first);
  return result;
}

/// `.tma`, `.async`, or nothing.
std::optional<CopyKind> Parser::copyKind() {
  if (!accept(TokenKind::Dot))
    return CopyKind::Plain;
  if (accept(TokenKind::Tma))
    return CopyKind::Tma;
  if (accept(TokenKind::Async))
    return CopyKind::Async;
  syntaxError("`tma` or `async`");
  return std::nullopt;
}

std::optional<Await> Parser::await() {
  take();
  Await result;
  if (accept(TokenKind::Wgmma)) {
    result.kind = Await::Kind::Wgmma;
  } else if (accept(TokenKind::Copy)) {
    result.kind = Await::Kind::Copy;
    if (!at(TokenKind::Dot)) {
      syntaxError("`.tma` or `.async`").help("a plain `copy` is complete when it ends");
      return std::nullopt;
    }
    const std::optional<CopyKind> kind = copyKind();
    if (!kind)
      return std::nullopt;
    result.copy = *kind;
  } else {
    result.target = reference(false);
    return result.target ? std::optional(std::move(result)) : std::nullopt;
  }
  if (!at(TokenKind::Newline) && !at(TokenKind::RightBrace) && !at(TokenKind::End)) {
    result.keep = sum();
    if (!result.keep)
      return std::nullopt;
  }
  return result;
}

std::optional<Copy> Parser::copy() {
  take();
  Copy result;
  const std::optional<CopyKind> kind = copyKind();
  if (!kind)
    return std::nullopt;
  result.kind = *kind;
  result.destination = reference(true);
  if (!result.destination || !expect(TokenKind::LeftArrow, "the destination of a copy"))
    return std::nullopt;
  result.source = operand();
  if (!result.source)
    return std::nullopt;
  if (accept(TokenKind::FatArrow)) {
    result.completes = barrierRef("a barrier");
    if (!result.completes)
      return std::nullopt;
  }
  return result;
}

std::optional<AssignOp> Parser::assignOp() {
  if (accept(TokenKind::Equal))
    return AssignOp::Set;
  if (accept(TokenKind::PlusEqual))
    return AssignOp::Add;
  if (accept(TokenKind::MinusEqual))
    return AssignOp::Sub;
  if (accept(TokenKind::StarEqual))
    return AssignOp::Mul;
  return std::nullopt;
}

std::optional<Wgmma> Parser::wgmma() {
  take();
  Wgmma result;
  result.target = reference(false);
  if (!result.target)
    return std::nullopt;
  const std::optional<AssignOp> op = at(TokenKind::StarEqual) ? std::nullopt : assignOp();
  if (!op) {
    syntaxError("`=`, `+=` or `-=`");
    return std::nullopt;
  }
  result.op = *op;
  result.opRange = previous.range;
  result.a = operand();
  if (!result.a || !expect(TokenKind::At, "the first factor"))
    return std::nullopt;
  result.b = operand();
  return result.b ? std::optional(std::move(result)) : std::nullopt;
}

// ---------------------------------------------------------------------------- elementwise work

std::optional<Map> Parser::map() {
  take();
  Map result;
  if (at(TokenKind::LeftParen)) {
    std::optional<std::vector<Axis>> domain = axes();
    if (!domain)
      return std::nullopt;
    result.domain = std::move(*domain);
    if (at(TokenKind::LeftBrace)) {
      std::optional<Block> body = block(Level::Map, previous.range);
      if (!body)
        return std::nullopt;
      result.braced = true;
      result.body = std::move(*body);
      return result;
    }
  }
  const Token first = peek();
  std::optional<Assign> point = assign(true);
  if (!point)
    return std::nullopt;
  result.body.range = since(first);
  result.body.statements.push_back({since(first), {}, std::move(*point)});
  return result;
}

std::optional<Assign> Parser::assign(bool inMap) {
  Assign result;
  result.target = reference(false);
  if (!result.target)
    return std::nullopt;
  const std::optional<AssignOp> op = assignOp();
  if (!op) {
    syntaxError("`=`, `+=`, `-=` or `*=`");
    return std::nullopt;
  }
  result.op = *op;
  result.opRange = previous.range;
  result.value = expr();
  if (!result.value)
    return std::nullopt;
  if (inMap && accept(TokenKind::Where)) {
    result.where = expr();
    if (!result.where)
      return std::nullopt;
  } else if (!inMap && accept(TokenKind::Using)) {
    result.scratch = name("a shared tile");
    if (!result.scratch)
      return std::nullopt;
  }
  return result;
}

} // namespace flashqla
