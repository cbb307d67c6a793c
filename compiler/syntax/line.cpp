#include "compiler/syntax/line.h"

#include <utility>

namespace flashqla {

using namespace ast;

namespace {

/// Depth of a break inside one more bracket; the levels between are for operators.
constexpr unsigned bracketDepth = 10;

unsigned operatorDepth(BinaryOp op) {
  switch (op) {
  case BinaryOp::Or:
    return 3;
  case BinaryOp::And:
    return 4;
  case BinaryOp::Eq:
  case BinaryOp::Ne:
  case BinaryOp::Lt:
  case BinaryOp::Le:
  case BinaryOp::Gt:
  case BinaryOp::Ge:
    return 5;
  case BinaryOp::Add:
  case BinaryOp::Sub:
    return 6;
  case BinaryOp::Mul:
  case BinaryOp::Div:
  case BinaryOp::Mod:
    return 7;
  }
  __builtin_unreachable();
}

bool isProduct(const Expr &expr) {
  return expr.kind == ExprKind::Binary && operatorDepth(expr.binary) == 7;
}

bool isSum(const Expr &expr) {
  return expr.kind == ExprKind::Binary && operatorDepth(expr.binary) == 6;
}

/// Whether a factor stays readable without blanks around it.
bool isShort(const Expr &expr, bool parensToo) {
  if (isProduct(expr))
    return isShort(*expr.operands[0], parensToo) && isShort(*expr.operands[1], parensToo);
  return expr.kind == ExprKind::Integer || expr.isBareName() ||
         (parensToo && expr.kind == ExprKind::Paren);
}

} // namespace

std::vector<std::string> Line::wrap(size_t indent, size_t continuation) const {
  std::vector<std::string> pieces;
  size_t begin = 0, column = indent;
  auto next = breaks.begin();
  while (column + text.size() - begin > formatWidth) {
    // The outermost break that fits, of those the last; where none fits, the first one at all.
    auto best = breaks.end();
    for (auto it = next; it != breaks.end(); ++it) {
      const bool fits = column + it->offset - begin <= formatWidth;
      if (best == breaks.end() || (fits && it->depth <= best->depth))
        best = it;
      if (!fits)
        break;
    }
    if (best == breaks.end())
      break;
    pieces.push_back(std::string(column, ' ') + text.substr(begin, best->offset - begin));
    begin = best->offset + 1;
    column = continuation + best->depth / bracketDepth;
    next = best + 1;
  }
  pieces.push_back(std::string(column, ' ') + text.substr(begin));
  return pieces;
}

void ExprWriter::write(const Expr &expr, unsigned depth) {
  switch (expr.kind) {
  case ExprKind::Integer:
  case ExprKind::Float:
    line << expr.literal;
    return;
  case ExprKind::Bool:
    line << (expr.boolean ? "true" : "false");
    return;
  case ExprKind::Inf:
    line << "inf";
    return;
  case ExprKind::Type:
    line << expr.elem.name.text;
    return;
  case ExprKind::Reference:
    reference(expr, depth);
    return;
  case ExprKind::Call:
    line << expr.name.text << "(";
    list(expr.operands, depth);
    line << ")";
    return;
  case ExprKind::Unary:
    line << spelling(expr.unary);
    write(*expr.operands[0], depth);
    return;
  case ExprKind::Binary:
    binary(expr, depth);
    return;
  case ExprKind::Ternary:
    write(*expr.operands[0], depth);
    line << " ?";
    line.space(depth + 2);
    write(*expr.operands[1], depth);
    line << " :";
    line.space(depth + 2);
    write(*expr.operands[2], depth);
    return;
  case ExprKind::Reduction:
    reduction(expr, depth);
    return;
  case ExprKind::Paren:
    line << "(";
    inner(*expr.operands[0], depth);
    line << ")";
    return;
  }
}

/// An expression inside one more bracket.
void ExprWriter::inner(const Expr &expr, unsigned depth) {
  const bool outerTerm = std::exchange(term, false);
  write(expr, depth + bracketDepth);
  term = outerTerm;
}

void ExprWriter::binary(const Expr &expr, unsigned depth) {
  const bool outerTerm = std::exchange(term, isSum(expr));
  const bool tight =
      isProduct(expr) && (brackets != 0 || outerTerm) && isShort(expr, brackets != 0);
  if (isProduct(expr))
    term = outerTerm; // the factors of a term are written like the term
  write(*expr.operands[0], depth);
  if (tight) {
    line << spelling(expr.binary);
  } else {
    line << " " << spelling(expr.binary);
    line.space(depth + operatorDepth(expr.binary));
  }
  write(*expr.operands[1], depth);
  term = outerTerm;
}

void ExprWriter::reduction(const Expr &expr, unsigned depth) {
  line << spelling(expr.reduction) << "[" << expr.name.text;
  if (expr.lower) {
    line << " in ";
    inner(*expr.lower, depth);
    line << " .. ";
    inner(*expr.upper, depth);
  }
  line << "](";
  inner(*expr.operands[0], depth);
  line << ")";
}

void ExprWriter::reference(const Expr &expr, unsigned depth) {
  line << expr.name.text;
  ++brackets;
  for (const Bracket &bracket : expr.brackets) {
    line << "[";
    for (const Index &item : bracket.indices) {
      if (&item != &bracket.indices.front()) {
        line << ",";
        line.space(depth + bracketDepth);
      }
      index(item, depth);
    }
    line << "]";
  }
  --brackets;
  if (expr.transposed)
    line << ".T";
}

void ExprWriter::index(const Index &index, unsigned depth) {
  if (index.kind == Index::Kind::All) {
    line << ":";
    return;
  }
  inner(*index.begin, depth);
  if (index.kind == Index::Kind::Point)
    return;
  line << " +: ";
  inner(*index.extent, depth);
  if (index.limit) {
    line << " until ";
    inner(*index.limit, depth);
  }
}

void ExprWriter::list(const std::vector<ExprPtr> &list, unsigned depth) {
  for (const ExprPtr &item : list) {
    if (&item != &list.front()) {
      line << ",";
      line.space(depth + bracketDepth);
    }
    inner(*item, depth);
  }
}

void ExprWriter::shape(const Shape &shape) {
  ++brackets;
  line << "[";
  list(shape.extents, 0);
  line << "]";
  --brackets;
}

void ExprWriter::optionalBracket(const ExprPtr &value) {
  if (!value)
    return;
  ++brackets;
  line << "[";
  inner(*value, 0);
  line << "]";
  --brackets;
}

void ExprWriter::axes(const std::vector<Axis> &axes) {
  line << "(";
  for (const Axis &axis : axes) {
    if (&axis != &axes.front()) {
      line << ",";
      line.space(bracketDepth);
    }
    line << axis.name.text << ": ";
    inner(*axis.extent, 0);
  }
  line << ")";
}

void ExprWriter::checkCase(const CheckCase &check) {
  line << "(";
  for (const CheckBinding &binding : check.bindings) {
    if (&binding != &check.bindings.front()) {
      line << ",";
      line.space(bracketDepth);
    }
    line << binding.name.text << " = ";
    if (binding.isList) {
      line << "[";
      list(binding.list, bracketDepth);
      line << "]";
    } else {
      inner(*binding.value, 0);
    }
  }
  line << ")";
}

} // namespace flashqla
