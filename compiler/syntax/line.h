// One logical line of canonical text and where it may be broken.
//
// The formatter writes a statement or clause into a Line as if lines had no end, and marks the
// places where the grammar allows a newline with how deep they are nested. wrap() then breaks a
// line that is too long, at the outermost places that help.
#pragma once

#include "compiler/syntax/ast.h"

#include <string>
#include <string_view>
#include <vector>

namespace flashqla {

constexpr size_t formatWidth = 100;

class Line {
public:
  Line &operator<<(std::string_view piece) {
    text += piece;
    return *this;
  }

  /// A blank that may become a newline. Smaller `depth` breaks first.
  void space(unsigned depth) {
    breaks.push_back({text.size(), depth});
    text += ' ';
  }

  const std::string &flat() const { return text; }

  /// The line in pieces with their indentation, none wider than formatWidth if possible: the first
  /// at column `indent`, the others at column `continuation` plus one for every bracket that is
  /// open at the break.
  std::vector<std::string> wrap(size_t indent, size_t continuation) const;

private:
  struct Break {
    size_t offset;
    unsigned depth;
  };
  std::string text;
  std::vector<Break> breaks;
};

/// Writes a list with commas, at which the line may be broken first of all.
template <typename Items, typename Write>
void commaList(Line &line, const Items &items, Write write) {
  for (const auto &item : items) {
    if (&item != &items.front()) {
      line << ",";
      line.space(0);
    }
    write(item);
  }
}

/// Writes expressions in canonical form: blanks around binary operators, but none in a product of
/// names and numbers that is a term of a sum or stands in an index (`t0 + i*C`, `x[2*k]`).
class ExprWriter {
public:
  explicit ExprWriter(Line &line) : line(line) {}

  void expr(const ast::Expr &expr) { write(expr, 0); }
  void shape(const ast::Shape &shape);
  /// `[value]`, or nothing for a null.
  void optionalBracket(const ast::ExprPtr &value);
  /// `(r: C, c: C)`
  void axes(const std::vector<ast::Axis> &axes);
  void checkCase(const ast::CheckCase &check);

private:
  void write(const ast::Expr &expr, unsigned depth);
  void inner(const ast::Expr &expr, unsigned depth);
  void binary(const ast::Expr &expr, unsigned depth);
  void reduction(const ast::Expr &expr, unsigned depth);
  void reference(const ast::Expr &expr, unsigned depth);
  void index(const ast::Index &index, unsigned depth);
  void list(const std::vector<ast::ExprPtr> &list, unsigned depth);

  Line &line;
  unsigned brackets = 0; ///< open `[`
  bool term = false;     ///< what is written now is a term of a sum
};

/// A statement without braces.
void writeSimple(Line &line, const ast::Stmt &stmt);

/// What stands before a brace.
void writeHead(Line &line, const ast::IfArm &arm, bool first);
void writeHead(Line &line, const ast::For &loop);
void writeHead(Line &line, const ast::Role &role);

} // namespace flashqla
