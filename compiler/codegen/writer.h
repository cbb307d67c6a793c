/// Text with indentation, line by line.
///
///     Writer out;
///     out.open("if ({})", condition);   // if (…) {
///     out.line("x = {};", value);
///     out.close();                      // }
#pragma once

#include <fmt/format.h>
#include <string>

namespace flashqla::codegen {

class Writer {
public:
  template <class... Args> void line(fmt::format_string<Args...> format, Args &&...args) {
    raw(fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args> void open(fmt::format_string<Args...> format, Args &&...args) {
    raw(fmt::format(format, std::forward<Args>(args)...) + " {");
    ++depth;
  }
  /// A block without a head.
  void open() {
    raw("{");
    ++depth;
  }
  void close(std::string_view tail = "") {
    --depth;
    raw(fmt::format("}}{}", tail));
  }
  /// `} else {`
  void orElse() {
    --depth;
    raw("} else {");
    ++depth;
  }
  /// A line that starts in the first column: `#line`, `#pragma`.
  void directive(const std::string &text) { buffer += text + "\n"; }
  void raw(const std::string &text) {
    buffer.append(2 * depth, ' ');
    buffer += text;
    buffer += '\n';
  }
  void append(const std::string &text) { buffer += text; }
  size_t size() const { return buffer.size(); }
  std::string take() { return std::move(buffer); }

private:
  std::string buffer;
  size_t depth = 0;
};

} // namespace flashqla::codegen
