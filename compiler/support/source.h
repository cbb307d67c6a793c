// Source text and positions in it.
//
// A SourceFile owns the bytes of one `.tile` file and knows where its lines begin. A SourceRange
// names a piece of it by byte offsets; it is two pointers wide, copied freely, and valid as long as
// the file lives. Lines and columns are computed only when something is shown:
//
//   SourceFile file("gemm.tile", text);
//   SourceRange range{&file, 10, 14};
//   range.text();                            // the four bytes
//   file.position(range.begin);              // {line, column}, both counted from 1
//
// A column counts code points (`Σ` is one column, a tab is one column). Where a caret must stand
// under a character on a terminal, render.h asks for display widths instead.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flashqla {

class SourceFile;

/// Line and column, both from 1; columns count code points.
struct LineColumn {
  uint32_t line = 1;
  uint32_t column = 1;

  bool operator==(const LineColumn &) const = default;
};

/// A half-open byte range [begin, end) of a file. Without a file it names no place (a launch error,
/// say).
struct SourceRange {
  const SourceFile *file = nullptr;
  uint32_t begin = 0;
  uint32_t end = 0;

  explicit operator bool() const { return file != nullptr; }
  bool operator==(const SourceRange &) const = default;

  /// The bytes of the range; empty without a file.
  std::string_view text() const;

  /// The smallest range that holds both; an absent one does not count. Both lie in one file.
  SourceRange to(SourceRange other) const;

  /// The empty range just behind this one, where something is missing.
  SourceRange after() const { return {file, end, end}; }
};

class SourceFile {
public:
  SourceFile(std::string name, std::string text);
  SourceFile(const SourceFile &) = delete; // ranges point to it
  SourceFile &operator=(const SourceFile &) = delete;

  /// As given by the user: a path, or a name such as `<stdin>`.
  const std::string &name() const { return fileName; }
  std::string_view text() const { return contents; }

  uint32_t lineCount() const { return static_cast<uint32_t>(lineStarts.size()); }

  /// Text of a line (from 1) without its line end; a carriage return before the newline is not part
  /// of it.
  std::string_view line(uint32_t number) const;

  /// Byte offset at which a line (from 1) begins.
  uint32_t lineBegin(uint32_t number) const { return lineStarts[number - 1]; }

  /// Line and column of a byte offset; offsets past the end mean the end.
  LineColumn position(uint32_t offset) const;

  /// The line (from 1) that a byte offset lies in.
  uint32_t lineOf(uint32_t offset) const;

  /// Byte offset of a line and column; nothing where the file has no such line. Columns past the
  /// end of the line mean its end.
  std::optional<uint32_t> offset(LineColumn position) const;

  /// All of the text.
  SourceRange range() const { return {this, 0, static_cast<uint32_t>(contents.size())}; }

private:
  std::string fileName;
  std::string contents;
  std::vector<uint32_t> lineStarts;
};

/// Length in bytes of the code point that starts at text[index]; 1 for a byte that is not UTF-8, so
/// that callers always advance.
unsigned codePointLength(std::string_view text, size_t index);

/// Whether the bytes at text[index] are one well-formed UTF-8 sequence.
bool isUtf8At(std::string_view text, size_t index);

/// Columns that a text without tabs takes on a terminal: code points less combining marks.
unsigned displayWidth(std::string_view text);

} // namespace flashqla
