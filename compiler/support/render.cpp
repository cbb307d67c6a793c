#include "compiler/support/render.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace flashqla {
namespace {

constexpr std::string_view replacement = "\uFFFD";
constexpr unsigned tabStop = 4;

/// A source line as it is shown: tabs expanded, what cannot be shown replaced.
struct ShownLine {
  std::string text;
  std::vector<uint32_t> columns; ///< display column of each byte of the source, and of its end
};

ShownLine showLine(std::string_view source) {
  ShownLine line;
  line.columns.resize(source.size() + 1);
  uint32_t column = 0;
  for (size_t at = 0; at < source.size();) {
    const unsigned length = codePointLength(source, at);
    std::fill_n(line.columns.begin() + at, length, column);
    std::string piece(source.substr(at, length));
    if (piece == "\t")
      piece.assign(tabStop - column % tabStop, ' ');
    else if (!isUtf8At(source, at) || static_cast<unsigned char>(piece[0]) < ' ' || piece == "\x7F")
      piece = replacement;
    line.text += piece;
    column += displayWidth(piece);
    at += length;
  }
  line.columns[source.size()] = column;
  return line;
}

/// A label with the columns that it takes on its (first) line.
struct Mark {
  uint32_t begin;
  uint32_t end;
  bool primary;
  std::string_view text;
};

class TextRenderer {
public:
  explicit TextRenderer(const RenderOptions &options) : options(options) {}

  std::string render(const Diagnostic &diagnostic) {
    header(diagnostic);
    if (diagnostic.range)
      addMark(diagnostic.range, true, diagnostic.primary);
    for (const Label &label : diagnostic.labels)
      if (label.range)
        addMark(label.range, false, label.text);
    // The file of the primary range comes first and needs no line that names it.
    if (diagnostic.range)
      file(*diagnostic.range.file, false);
    for (const SourceFile *other : fileOrder)
      if (other != diagnostic.range.file)
        file(*other, true);
    for (const Note &note : diagnostic.notes)
      trailer("note", note.range ? fmt::format("{}: {}", place(note.range), note.text) : note.text);
    if (!diagnostic.help.empty())
      trailer("help", diagnostic.help);
    return std::move(out);
  }

private:
  static std::string place(SourceRange range) {
    const LineColumn position = range.file->position(range.begin);
    return fmt::format("{}:{}:{}", range.file->name(), position.line, position.column);
  }

  std::string paint(std::string_view escape, std::string_view text) const {
    return options.colors ? fmt::format("\x1b[{}m{}\x1b[0m", escape, text) : std::string(text);
  }

  std::string_view severityColor() const {
    switch (severity) {
    case Severity::Error:
      return "1;31";
    case Severity::Warning:
      return "1;35";
    case Severity::Remark:
      return "1;34";
    }
    __builtin_unreachable();
  }

  void header(const Diagnostic &diagnostic) {
    severity = diagnostic.severity;
    if (diagnostic.range)
      out += paint("1", place(diagnostic.range) + ":") + " ";
    out += paint(severityColor(), fmt::format("{}:", severityName(severity)));
    out += fmt::format(" {} [{}]\n", paint("1", diagnostic.message),
                       diagnosticInfo(diagnostic.kind).name);
  }

  void addMark(SourceRange range, bool primary, std::string_view text) {
    const SourceFile &source = *range.file;
    const uint32_t number = source.lineOf(range.begin);
    const std::string_view line = source.line(number);
    const ShownLine shown = showLine(line);
    // A range of several lines is marked on its first one, up to its last visible character.
    const auto last = static_cast<uint32_t>(line.find_last_not_of(" \t") + 1);
    const uint32_t begin =
        std::min(range.begin - source.lineBegin(number), static_cast<uint32_t>(line.size()));
    uint32_t end = range.end - source.lineBegin(number);
    if (end > line.size())
      end = std::max(begin, last);
    const uint32_t beginColumn = shown.columns[begin];
    const uint32_t endColumn = std::max(shown.columns[end], beginColumn + 1);
    if (!marks.contains(&source))
      fileOrder.push_back(&source);
    marks[&source][number].push_back({beginColumn, endColumn, primary, text});
  }

  void file(const SourceFile &source, bool named) {
    bool first = true;
    for (auto &[number, lineMarks] : marks[&source]) {
      if (first && named)
        out += fmt::format("  in {}:{}\n", source.name(), number);
      first = false;
      out += paint("34", fmt::format("{:5} |", number));
      const std::string text = showLine(source.line(number)).text;
      out += text.empty() ? "\n" : " " + text + "\n";
      std::ranges::stable_sort(lineMarks, {}, &Mark::begin);
      underlines(lineMarks);
    }
  }

  void row(std::string_view text, std::string_view color) {
    out += fmt::format("{} {}\n", paint("34", "      |"), paint(color, text));
  }

  /// All underlines in one row with the text of the rightmost beside it; below, one row for each
  /// other text, from right to left, with bars down to those that still follow.
  void underlines(const std::vector<Mark> &lineMarks) {
    std::string line;
    bool anyPrimary = false;
    for (bool primary : {false, true}) // carets win where ranges overlap
      for (const Mark &mark : lineMarks)
        if (mark.primary == primary) {
          line.resize(std::max<size_t>(line.size(), mark.end), ' ');
          std::fill(line.begin() + mark.begin, line.begin() + mark.end, primary ? '^' : '-');
          anyPrimary |= primary;
        }
    std::vector<const Mark *> texts;
    for (const Mark &mark : lineMarks)
      if (!mark.text.empty())
        texts.push_back(&mark);
    if (!texts.empty() && texts.back() == &lineMarks.back()) {
      line += fmt::format(" {}", texts.back()->text);
      texts.pop_back();
    }
    const std::string_view color = anyPrimary ? severityColor() : "34";
    row(line, color);
    while (!texts.empty()) {
      const Mark &mark = *texts.back();
      texts.pop_back();
      std::string below(mark.begin, ' ');
      for (const Mark *left : texts)
        if (left->begin < mark.begin)
          below[left->begin] = '|';
      row(below + std::string(mark.text), color);
    }
  }

  void trailer(std::string_view word, std::string_view text) {
    out += fmt::format("  {} ", paint("1", fmt::format("{}:", word)));
    for (char c : text) {
      out += c;
      if (c == '\n')
        out.append(10, ' ');
    }
    out += '\n';
  }

  const RenderOptions &options;
  Severity severity = Severity::Error;
  std::map<const SourceFile *, std::map<uint32_t, std::vector<Mark>>> marks;
  std::vector<const SourceFile *>
      fileOrder; // `marks` is ordered by address, which no output may show
  std::string out;
};

} // namespace

std::string renderText(const Diagnostic &diagnostic, const RenderOptions &options) {
  return TextRenderer(options).render(diagnostic);
}

std::string renderText(const Diagnostics &diagnostics, const RenderOptions &options) {
  std::string out;
  size_t shownErrors = 0, hiddenErrors = 0;
  for (const Diagnostic *diagnostic : diagnostics.sorted()) {
    if (diagnostic->severity == Severity::Error) {
      if (options.errorLimit != 0 && shownErrors == options.errorLimit) {
        ++hiddenErrors;
        continue;
      }
      ++shownErrors;
    }
    if (!out.empty())
      out += '\n';
    out += renderText(*diagnostic, options);
  }
  if (hiddenErrors != 0)
    out += fmt::format("\n{} more error{} not shown\n", hiddenErrors, hiddenErrors == 1 ? "" : "s");
  return out;
}

// ------------------------------------------------------------------------------------- JSON

namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (size_t at = 0; at < text.size(); at += codePointLength(text, at)) {
    const char c = text[at];
    if (!isUtf8At(text, at))
      out += replacement;
    else if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (c == '\n')
      out += "\\n";
    else if (static_cast<unsigned char>(c) < ' ')
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += text.substr(at, codePointLength(text, at));
  }
  return out + "\"";
}

std::string placeJson(SourceRange range) {
  if (!range)
    return "";
  const LineColumn begin = range.file->position(range.begin);
  const LineColumn end = range.file->position(range.end);
  return fmt::format(R"("file":{},"line":{},"column":{},"endLine":{},"endColumn":{},)",
                     quoted(range.file->name()), begin.line, begin.column, end.line, end.column);
}

/// Label and Note alike: a place and a text.
template <typename Texts> std::string textsJson(const Texts &texts) {
  std::string out = "[";
  for (const auto &text : texts)
    out += fmt::format("{}{{{}\"text\":{}}}", out.size() > 1 ? "," : "", placeJson(text.range),
                       quoted(text.text));
  return out + "]";
}

} // namespace

std::string renderJson(const Diagnostic &diagnostic) {
  return fmt::format(
      R"({{{}"severity":"{}","kind":"{}","message":{},"primary":{},)"
      R"("labels":{},"notes":{},"help":{}}})",
      placeJson(diagnostic.range), severityName(diagnostic.severity),
      diagnosticInfo(diagnostic.kind).name, quoted(diagnostic.message), quoted(diagnostic.primary),
      textsJson(diagnostic.labels), textsJson(diagnostic.notes), quoted(diagnostic.help));
}

std::string renderJson(const Diagnostics &diagnostics) {
  std::string out;
  for (const Diagnostic *diagnostic : diagnostics.sorted())
    out += renderJson(*diagnostic) + "\n";
  return out;
}

} // namespace flashqla
