// The parser's class, shared by parser.cpp (modules, kernels), parse_statements.cpp and
// parse_expressions.cpp.
//
// A parse function that fails has reported why and returns nothing; its caller passes the failure
// on until a place that can recover: a statement, a clause, an item of the module.
#pragma once

#include "compiler/syntax/lexer.h"
#include "compiler/syntax/parser.h"

#include <concepts>

namespace flashqla {

class Parser {
public:
  Parser(const SourceFile &file, Diagnostics &diags);
  ast::Module module();

private:
  /// Which statements may stand in a block.
  enum class Level { Kernel, Warps, Work, Map };

  // Tokens.
  const Token &peek(size_t ahead = 0) const;
  bool at(TokenKind kind) const { return peek().kind == kind; }
  bool atModuleItem() const;
  bool atIndentedConst() const;
  const Token &take();
  bool accept(TokenKind kind);
  bool expect(TokenKind kind, std::string_view after);
  bool close(TokenKind kind, const Token &open);
  void skipNewlines();
  SourceRange since(const Token &first) const { return first.range.to(previous.range); }
  std::optional<ast::Name> name(std::string_view what);

  // Mistakes.
  std::string found() const;
  SourceRange foundRange() const;
  DiagnosticBuilder syntaxError(std::string_view expected);
  bool enter(); ///< one level deeper; false (and reported) at the limit
  void leave() { --depth; }
  bool countOperator();
  void recoverInBlock();
  void recoverInHeader();
  void recoverInModule();

  // Comments.
  ast::Trivia beginUnit();
  void endUnit(ast::Trivia &trivia);
  std::vector<ast::Comment> commentsBefore(uint32_t offset);
  std::optional<ast::Comment> commentBehind();

  // Modules and kernels (parser.cpp).
  std::optional<ast::Const> constItem();
  std::optional<ast::Fn> fnItem();
  std::optional<ast::Kernel> kernelItem();
  bool kernelNames(ast::Kernel &kernel);
  std::optional<ast::Dim> dim();
  std::optional<ast::Param> param();
  bool args(ast::Kernel &kernel);
  std::optional<ast::Arg> arg();
  bool tensorOrScalar(ast::Arg &arg);
  bool atClause() const;
  bool clause(ast::Kernel &kernel);
  std::optional<decltype(ast::Clause::node)> clauseNode(TokenKind word);
  std::optional<ast::Axis> axis();
  std::optional<std::vector<ast::Axis>> axes();
  std::optional<ast::CheckCase> checkCase();
  std::optional<ast::CheckBinding> checkBinding();

  // Statements (parse_statements.cpp).
  std::optional<ast::Block> block(Level level, const SourceRange &owner);
  void statement(ast::Block &block, Level level);
  bool checkLevel(Level level);
  std::optional<ast::StmtNode> statementNode(Level level);
  std::optional<std::vector<ast::Binding>> bindings();
  bool expectType(std::string_view what);
  std::optional<ast::Frag> frag();
  std::optional<ast::Shared> shared();
  std::optional<ast::Barrier> barrier();
  std::optional<std::vector<ast::Who>> whoList();
  std::optional<ast::Role> role(ast::RoleKind kind);
  bool roleHeader(ast::Role &role);
  std::optional<ast::For> forLoop();
  bool forHeader(ast::For &loop);
  std::optional<ast::If> ifChain(Level level);
  bool strayElse(Level level);
  std::optional<ast::BarrierRef> barrierRef(std::string_view what);
  std::optional<ast::Await> await();
  std::optional<ast::CopyKind> copyKind();
  std::optional<ast::Copy> copy();
  std::optional<ast::Wgmma> wgmma();
  std::optional<ast::Map> map();
  std::optional<ast::Assign> assign(bool inMap);
  std::optional<ast::AssignOp> assignOp();
  bool skipToBrace();

  // Expressions (parse_expressions.cpp).
  ast::ExprPtr expr();
  ast::ExprPtr binary(unsigned level);
  ast::ExprPtr sum();
  ast::ExprPtr unary();
  ast::ExprPtr primary();
  ast::ExprPtr primaryUnguarded();
  ast::ExprPtr number();
  ast::ExprPtr callOrReference();
  ast::ExprPtr call();
  ast::ExprPtr reduction();
  ast::ExprPtr reference(bool transposable);
  ast::ExprPtr operand();
  ast::ExprPtr sumOrType();
  ast::ExprPtr exprOrType();
  bool optionalBracket(ast::ExprPtr &value);
  std::optional<ast::Bracket> bracket();
  std::optional<ast::Index> index();
  std::optional<ast::ElemType> elem();
  std::optional<ast::Shape> shape();
  bool range(ast::ExprPtr &lower, ast::ExprPtr &upper);
  bool atConversion() const;
  ast::ExprPtr make(ast::ExprKind kind, const Token &first) const;

  const SourceFile &file;
  Diagnostics &diags;
  std::vector<Token> tokens;
  std::vector<ast::Comment> comments;
  std::vector<bool> claimed; // of `comments`
  size_t firstUnclaimed = 0;
  size_t position = 0;
  Token previous; // the last one taken that is no newline
  unsigned depth = 0;
  unsigned operators = 0;        // in the statement at hand
  bool unclosedReported = false; // one missing brace is enough to report
};

} // namespace flashqla
