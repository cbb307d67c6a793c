// The physical lines of canonical text: empty lines and the columns of trailing comments.
//
// A trailing comment starts at column 51, further right where the code is longer, further left
// where the comment would not fit. Comments of adjacent lines stand below each other if that keeps
// all of them on the page.
#pragma once

#include "compiler/syntax/ast.h"

#include <optional>
#include <string>
#include <vector>

namespace flashqla {

class Page {
public:
  void line(std::string code, const std::optional<ast::Comment> &comment = std::nullopt);

  /// An empty line, unless the page or a block has just begun or one is there already.
  void blank();

  /// What was printed last opens a block.
  void opened() { blockStart = lines.size(); }

  std::string text() const;

private:
  struct PhysicalLine {
    std::string code; ///< ASCII if a comment follows, so that bytes are columns
    std::string comment;
  };

  size_t commonColumn(size_t begin, size_t end) const;
  static size_t column(size_t code, size_t comment);

  std::vector<PhysicalLine> lines;
  size_t blockStart = 0;
};

} // namespace flashqla
