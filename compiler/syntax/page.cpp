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
      const size_t column = together != 0 ? together : ownColumn(lines[i]);
      out += lines[i].code + std::string(column - lines[i].code.size(), ' ');
      out += lines[i].comment + "\n";
    }
  }
  return out;
}

/// The column at which the comments of adjacent lines all fit; 0 if there is none.
size_t Page::commonColumn(size_t begin, size_t end) const {
  size_t column = commentColumn, widest = 0;
  for (size_t i = begin; i < end; ++i) {
    column = std::max(column, lines[i].code.size() + 2);
    widest = std::max<size_t>(widest, displayWidth(lines[i].comment));
  }
  return column + widest <= formatWidth ? column : 0;
}

size_t Page::ownColumn(const PhysicalLine &line) {
  const size_t width = displayWidth(line.comment);
  const size_t fitting = width < formatWidth ? formatWidth - width : 0;
  return std::max(line.code.size() + 2, std::min(commentColumn, fitting));
}

} // namespace flashqla
