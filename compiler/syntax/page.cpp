#include "compiler/syntax/page.h"

#include "compiler/support/source.h"
#include "compiler/syntax/line.h"

#include <algorithm>

namespace flashqla {

namespace {

constexpr size_t commentColumn = 51;

} // namespace

void Page::line(std::string code, const std::optional<ast::Comment> &comment) {
  lines.push_back({std::move(code), comment ? comment->text : std::string()});
}

void Page::blank() {
  if (lines.size() != blockStart && !lines.back().code.empty())
    lines.push_back({});
}

std::string Page::text() const {
  std::string out;
  for (size_t i = 0; i < lines.size();) {
    size_t end = i;
    while (end < lines.size() && !lines[end].comment.empty())
      ++end;
    if (end == i) {
      out += lines[i++].code + "\n";
      continue;
    }
    const size_t together = commonColumn(i, end);
    for (; i < end; ++i) {
      const size_t code = lines[i].code.size();
      const size_t at = together != 0 ? together : column(code, displayWidth(lines[i].comment));
      out += lines[i].code + std::string(at - code, ' ');
      out += lines[i].comment + "\n";
    }
  }
  return out;
}

/// The column at which the comments of adjacent lines all fit; 0 if there is none.
size_t Page::commonColumn(size_t begin, size_t end) const {
  size_t code = 0, comment = 0;
  for (size_t i = begin; i < end; ++i) {
    code = std::max(code, lines[i].code.size());
    comment = std::max<size_t>(comment, displayWidth(lines[i].comment));
  }
  return code + 2 + comment <= formatWidth ? column(code, comment) : 0;
}

/// The usual column, or what the widths of code and comment leave.
size_t Page::column(size_t code, size_t comment) {
  const size_t fitting = comment < formatWidth ? formatWidth - comment : 0;
  return std::max(code + 2, std::min(commentColumn, fitting));
}

} // namespace flashqla
