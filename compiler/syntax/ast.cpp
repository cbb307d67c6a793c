#include "compiler/syntax/ast.h"

#include <algorithm>

namespace flashqla::ast {

std::string docText(const Trivia &trivia) {
  std::string text;
  for (const Comment &comment : trivia.leading) {
    std::string_view line = comment.text;
    if (!line.starts_with("///"))
      continue;
    line.remove_prefix(3);
    if (line.starts_with(' '))
      line.remove_prefix(1);
    if (!text.empty())
      text += '\n';
    text += line;
  }
  return text;
}

std::string_view trailingText(const Trivia &trivia) {
  if (!trivia.trailing)
    return {};
  std::string_view text = trivia.trailing->text;
  text.remove_prefix(std::min(text.find_first_not_of('/'), text.size()));
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return text;
}

const Expr &withoutParens(const Expr &expr) {
  const Expr *inner = &expr;
  while (inner->kind == ExprKind::Paren)
    inner = inner->operands[0].get();
  return *inner;
}

bool Role::holdsWarps() const {
  auto isRole = [](const Stmt &stmt) { return std::holds_alternative<Role>(stmt.node); };
  return !body.statements.empty() && std::ranges::all_of(body.statements, isRole);
}

std::string_view scalarTypeName(ScalarType type) {
  constexpr std::string_view names[] = {"bf16", "f16", "f32", "i32", "i64", "bool"};
  return names[static_cast<size_t>(type)];
}

std::string_view spelling(UnaryOp op) { return op == UnaryOp::Negate ? "-" : "!"; }

std::string_view spelling(BinaryOp op) {
  constexpr std::string_view names[] = {
      "+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||"};
  return names[static_cast<size_t>(op)];
}

std::string_view spelling(ReductionKind kind) {
  constexpr std::string_view names[] = {"sum", "max", "min", "scan", "rscan"};
  return names[static_cast<size_t>(kind)];
}

std::string_view spelling(AssignOp op) {
  constexpr std::string_view names[] = {"=", "+=", "-=", "*="};
  return names[static_cast<size_t>(op)];
}

std::string_view spelling(Direction direction) {
  constexpr std::string_view names[] = {"in", "out", "inout"};
  return names[static_cast<size_t>(direction)];
}

} // namespace flashqla::ast
