#include "compiler/syntax/lexer.h"

#include <algorithm>
#include <fmt/format.h>

namespace flashqla {
namespace {

struct Spelling {
  std::string_view text;
  TokenKind kind;
};

constexpr Spelling words[] = {
#define FQ_TYPE(Name, spelling) {spelling, TokenKind::Name},
#define FQ_KEYWORD(Name, spelling) {spelling, TokenKind::Name},
#define FQ_RESERVED(spelling) {spelling, TokenKind::Reserved},
#include "compiler/syntax/tokens.def"
};

constexpr Spelling punctuation[] = {
#define FQ_PUNCTUATION(Name, spelling) {spelling, TokenKind::Name},
#include "compiler/syntax/tokens.def"
};

/// A newline after it does not end the statement.
bool waitsForMore(TokenKind kind) {
  switch (kind) {
#define FQ_CONTINUED(Name, spelling) case TokenKind::Name:
#include "compiler/syntax/tokens.def"
    return true;
  default:
    return false;
  }
}

bool startsStatement(TokenKind kind) {
  switch (kind) {
#define FQ_STARTER(Name, spelling) case TokenKind::Name:
#include "compiler/syntax/tokens.def"
    return true;
  default:
    return false;
  }
}

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isHexDigit(char c) { return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool isWordStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isWordPart(char c) { return isWordStart(c) || isDigit(c); }

class Lexer {
public:
  Lexer(const SourceFile &file, Diagnostics &diags)
      : file(file), diags(diags), text(file.text()), at(text.starts_with("\xEF\xBB\xBF") ? 3 : 0) {}

  LexedFile run() {
    for (skipBlanks(); at < text.size(); skipBlanks())
      next();
    add(TokenKind::End, text.size());
    return std::move(result);
  }

private:
  char peek(size_t ahead = 0) const { return at + ahead < text.size() ? text[at + ahead] : '\0'; }

  SourceRange range(size_t begin, size_t end) const {
    return {&file, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
  }

  void skipBlanks() {
    for (; at < text.size(); ++at) {
      if (text[at] == '\n')
        ++newlines;
      else if (text[at] != ' ' && text[at] != '\t' && text[at] != '\r')
        return;
    }
  }

  void next() {
    if (peek() == '/' && peek(1) == '/')
      comment();
    else if (isWordStart(peek()))
      word();
    else if (isDigit(peek()))
      number();
    else if (!symbol())
      unknown();
  }

  /// The newlines since the last token and whether an empty line is among them.
  bool takeBlank() {
    const bool blank = newlines > 1;
    pendingNewline |= newlines != 0;
    newlines = 0;
    return blank;
  }

  void add(TokenKind kind, size_t end) {
    const bool blank = takeBlank();
    const bool lineStart = pendingNewline;
    pendingNewline = false;
    if (lineStart && startsStatement(kind)) {
      // Nothing inside brackets or a kernel's header begins like this: something before was left
      // open.
      brackets = 0;
      if (kind == TokenKind::Const || kind == TokenKind::Fn || kind == TokenKind::Kernel)
        header = false;
    }
    if (kind == TokenKind::LeftBrace || kind == TokenKind::RightBrace || kind == TokenKind::End)
      brackets = 0;
    if (lineStart && newlineCounts(kind))
      result.tokens.push_back(
          {TokenKind::Newline, range(lastEnd(), std::min(lastEnd() + 1, text.size())), false});
    result.tokens.push_back({kind, range(at, end), blank});
    at = end;
    if (kind == TokenKind::Kernel)
      header = true;
    else if (kind == TokenKind::LeftBrace)
      header = false;
    else if (kind == TokenKind::LeftParen || kind == TokenKind::LeftBracket)
      ++brackets;
    else if ((kind == TokenKind::RightParen || kind == TokenKind::RightBracket) && brackets > 0)
      --brackets;
  }

  size_t lastEnd() const { return result.tokens.empty() ? 0 : result.tokens.back().range.end; }

  bool newlineCounts(TokenKind following) const {
    if (result.tokens.empty())
      return false;
    if (startsStatement(following))
      return true;
    return brackets == 0 && !header && following != TokenKind::Where &&
           !waitsForMore(result.tokens.back().kind);
  }

  void comment() {
    const bool blank = takeBlank();
    const size_t begin = at;
    while (at < text.size() && text[at] != '\n') {
      if (!isUtf8At(text, at)) {
        encoding();
        continue;
      }
      at += codePointLength(text, at);
    }
    size_t end = at;
    while (text[end - 1] == ' ' || text[end - 1] == '\t' || text[end - 1] == '\r')
      --end;
    result.comments.push_back(
        {std::string(text.substr(begin, end - begin)), range(begin, end), blank});
  }

  void word() {
    size_t end = at;
    while (end < text.size() && isWordPart(text[end]))
      ++end;
    const std::string_view spelled = text.substr(at, end - at);
    const auto *known = std::ranges::find(words, spelled, &Spelling::text);
    add(known == std::end(words) ? TokenKind::Identifier : known->kind, end);
  }

  template <typename Predicate> size_t skip(size_t from, Predicate predicate) const {
    while (from < text.size() && predicate(text[from]))
      ++from;
    return from;
  }

  void number() {
    size_t end;
    bool real = false, wellFormed = true;
    if (peek() == '0' && peek(1) == 'x') {
      end = skip(at + 2, isHexDigit);
      wellFormed = end > at + 2;
    } else {
      end = skip(at, isDigit);
      // `0..n` is a range, not the number `0.`
      if (end < text.size() && text[end] == '.' && text.substr(end, 2) != "..") {
        const size_t fraction = end + 1;
        end = skip(fraction, isDigit);
        real = true;
        wellFormed = end > fraction;
      }
      if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
        size_t exponent = end + 1;
        if (exponent < text.size() && (text[exponent] == '-' || text[exponent] == '+'))
          ++exponent;
        end = skip(exponent, isDigit);
        real = true;
        wellFormed = wellFormed && end > exponent;
      }
    }
    const size_t tail = skip(end, isWordPart);
    if (!wellFormed || tail > end) {
      diags
          .error(DiagnosticKind::NumberSyntax, range(at, tail),
                 fmt::format("`{}` is not a number", text.substr(at, tail - at)))
          .primary("numbers are written `64`, `0x40`, `1.5`, `1e-6`");
    }
    add(real ? TokenKind::Float : TokenKind::Integer, tail);
  }

  bool symbol() {
    const Spelling *longest = nullptr;
    for (const Spelling &candidate : punctuation)
      if (text.substr(at).starts_with(candidate.text) &&
          (!longest || candidate.text.size() > longest->text.size()))
        longest = &candidate;
    if (longest)
      add(longest->kind, at + longest->text.size());
    return longest != nullptr;
  }

  void encoding() {
    size_t end = at;
    while (end < text.size() && !isUtf8At(text, end))
      ++end;
    diags.error(DiagnosticKind::TextEncoding, range(at, end), "the file is not UTF-8 here");
    at = end;
  }

  void unknown() {
    if (!isUtf8At(text, at)) {
      encoding();
      return;
    }
    const size_t length = codePointLength(text, at);
    const std::string_view character = text.substr(at, length);
    auto report = [&](std::string message) {
      return diags.error(DiagnosticKind::UnknownCharacter, range(at, at + length),
                         std::move(message));
    };
    if (character == ";") {
      report("there are no semicolons").help("a statement ends with its line");
      pendingNewline = true; // what follows is read as the next statement
    } else if (character == "#") {
      report("`#` starts nothing").help("comments start with `//`");
      at = std::min(text.find('\n', at), text.size()); // the rest is a comment, too
      return;
    } else if (length > 1)
      report(fmt::format("`{}` may stand in comments only", character));
    else if (character[0] > ' ' && character[0] < '\x7F')
      report(fmt::format("`{}` starts nothing", character));
    else
      report(fmt::format("control character {:#04x}", static_cast<unsigned>(character[0])));
    at += length;
  }

  const SourceFile &file;
  Diagnostics &diags;
  std::string_view text;
  size_t at;
  unsigned newlines = 0;       // since the last token or comment
  bool pendingNewline = false; // since the last token
  unsigned brackets = 0;       // open `(` and `[`
  bool header = false;         // between `kernel` and `{`
  LexedFile result;
};

} // namespace

bool isWord(TokenKind kind) {
  return kind == TokenKind::Reserved ||
         std::ranges::find(words, kind, &Spelling::kind) != std::end(words);
}

std::string_view tokenName(TokenKind kind) {
  switch (kind) {
  case TokenKind::End:
    return "end of file";
  case TokenKind::Newline:
    return "end of line";
  case TokenKind::Identifier:
    return "a name";
  case TokenKind::Integer:
  case TokenKind::Float:
    return "a number";
  case TokenKind::Reserved:
    return "a reserved word";
#define FQ_TYPE(Name, spelling)                                                                    \
  case TokenKind::Name:                                                                            \
    return spelling;
#define FQ_KEYWORD(Name, spelling)                                                                 \
  case TokenKind::Name:                                                                            \
    return spelling;
#define FQ_PUNCTUATION(Name, spelling)                                                             \
  case TokenKind::Name:                                                                            \
    return spelling;
#include "compiler/syntax/tokens.def"
  }
  __builtin_unreachable();
}

LexedFile lex(const SourceFile &file, Diagnostics &diags) { return Lexer(file, diags).run(); }

std::string dumpTokens(const SourceFile &file, Diagnostics &diags) {
  std::string out;
  for (const Token &token : lex(file, diags).tokens) {
    const LineColumn position = file.position(token.range.begin);
    const bool spelled = token.kind != TokenKind::Newline && token.kind != TokenKind::End;
    out += fmt::format("{}:{} {}", position.line, position.column, tokenName(token.kind));
    if (spelled && token.text() != tokenName(token.kind))
      out += fmt::format(" {}", token.text());
    out += '\n';
  }
  return out;
}

} // namespace flashqla
