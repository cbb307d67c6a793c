#include "compiler/support/source.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace flashqla {

std::string_view SourceRange::text() const {
  return file ? file->text().substr(begin, end - begin) : std::string_view{};
}

SourceRange SourceRange::to(SourceRange other) const {
  if (!file)
    return other;
  if (!other.file)
    return *this;
  assert(file == other.file && "a range lies in one file");
  return {file, std::min(begin, other.begin), std::max(end, other.end)};
}

SourceFile::SourceFile(std::string name, std::string text)
    : fileName(std::move(name)), contents(std::move(text)) {
  assert(contents.size() < std::numeric_limits<uint32_t>::max() && "offsets have 32 bits");
  lineStarts.push_back(0);
  for (size_t i = 0; i < contents.size(); ++i)
    if (contents[i] == '\n')
      lineStarts.push_back(static_cast<uint32_t>(i + 1));
}

std::string_view SourceFile::line(uint32_t number) const {
  uint32_t begin = lineStarts[number - 1];
  uint32_t end =
      number < lineStarts.size() ? lineStarts[number] - 1 : static_cast<uint32_t>(contents.size());
  if (end > begin && contents[end - 1] == '\r')
    --end;
  return text().substr(begin, end - begin);
}

uint32_t SourceFile::lineOf(uint32_t offset) const {
  auto next = std::upper_bound(lineStarts.begin(), lineStarts.end(), offset);
  return static_cast<uint32_t>(next - lineStarts.begin());
}

LineColumn SourceFile::position(uint32_t offset) const {
  offset = std::min(offset, static_cast<uint32_t>(contents.size()));
  LineColumn result{lineOf(offset), 1};
  for (uint32_t at = lineBegin(result.line); at < offset; at += codePointLength(contents, at))
    ++result.column;
  return result;
}

std::optional<uint32_t> SourceFile::offset(LineColumn position) const {
  if (position.line == 0 || position.line > lineCount())
    return std::nullopt;
  uint32_t at = lineBegin(position.line);
  const uint32_t end = at + static_cast<uint32_t>(line(position.line).size());
  for (uint32_t column = 1; column < position.column && at < end; ++column)
    at += codePointLength(contents, at);
  return std::min(at, end);
}

// ------------------------------------------------------------------------------------ UTF-8

namespace {

bool isContinuation(std::string_view text, size_t index) {
  return index < text.size() && (static_cast<unsigned char>(text[index]) & 0xC0) == 0x80;
}

/// Length that the first byte announces; 0 for a byte that starts no sequence.
unsigned announcedLength(unsigned char first) {
  if (first < 0x80)
    return 1;
  if (first >= 0xC2 && first < 0xE0)
    return 2;
  if (first >= 0xE0 && first < 0xF0)
    return 3;
  if (first >= 0xF0 && first < 0xF5)
    return 4;
  return 0;
}

} // namespace

bool isUtf8At(std::string_view text, size_t index) {
  const auto first = static_cast<unsigned char>(text[index]);
  const unsigned length = announcedLength(first);
  for (unsigned i = 1; i < length; ++i)
    if (!isContinuation(text, index + i))
      return false;
  if (length < 3)
    return length != 0;
  // Neither overlong forms, nor surrogates, nor anything above U+10FFFF.
  const auto second = static_cast<unsigned char>(text[index + 1]);
  return !(first == 0xE0 && second < 0xA0) && !(first == 0xED && second >= 0xA0) &&
         !(first == 0xF0 && second < 0x90) && !(first == 0xF4 && second >= 0x90);
}

unsigned codePointLength(std::string_view text, size_t index) {
  return isUtf8At(text, index) ? announcedLength(static_cast<unsigned char>(text[index])) : 1;
}

unsigned displayWidth(std::string_view text) {
  unsigned width = 0;
  for (size_t at = 0; at < text.size(); at += codePointLength(text, at)) {
    const auto first = static_cast<unsigned char>(text[at]);
    // U+0300 … U+036F, the combining diacritical marks, are CC 80 … CD AF.
    const bool combining =
        at + 1 < text.size() &&
        (first == 0xCC || (first == 0xCD && static_cast<unsigned char>(text[at + 1]) < 0xB0));
    width += combining ? 0 : 1;
  }
  return width;
}

} // namespace flashqla
