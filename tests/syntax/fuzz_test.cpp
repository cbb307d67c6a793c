// Mutated kernels: the parser must neither crash nor hang, and whatever it accepts must survive
// formatting – the text is a fixed point, the tree stays the same, no comment is lost.

#include "compiler/support/render.h"
#include "compiler/syntax/dump.h"
#include "compiler/syntax/format.h"
#include "compiler/syntax/lexer.h"
#include "compiler/syntax/parser.h"
#include "tests/file_test.h"

#include <gtest/gtest.h>
#include <random>

using namespace flashqla;

namespace {

constexpr unsigned iterations = 4000;

std::vector<std::string> corpus() {
  std::vector<std::string> texts;
  for (const char *folder : {"samples", "../kernels", "syntax/testdata"})
    for (const auto &path : fq_test::filesBelow(fq_test::testsFolder() / folder, {".tile"}))
      texts.push_back(fq_test::readFile(path));
  return texts;
}

class Mutator {
public:
  explicit Mutator(std::vector<std::string> texts) : texts(std::move(texts)) {
    for (const std::string &text : this->texts)
      for (const auto &[begin, end] : pieces(text))
        pool.push_back(text.substr(begin, end - begin));
  }

  std::string next() {
    std::string text = texts[below(texts.size())];
    const unsigned count = 1 + below(4);
    for (unsigned i = 0; i < count && !text.empty(); ++i)
      text = below(3) == 0 ? mutateBytes(std::move(text)) : mutateTokens(std::move(text));
    return text;
  }

private:
  using Piece = std::pair<size_t, size_t>;

  size_t below(size_t bound) { return random() % bound; }

  /// Tokens as byte ranges.
  static std::vector<Piece> pieces(const std::string &text) {
    const SourceFile file("fuzz", text);
    Diagnostics diags;
    std::vector<Piece> result;
    for (const Token &token : lex(file, diags).tokens)
      if (token.kind != TokenKind::Newline && token.kind != TokenKind::End)
        result.push_back({token.range.begin, token.range.end});
    return result;
  }

  std::string mutateBytes(std::string text) {
    const size_t at = below(text.size());
    switch (below(6)) {
    case 0:
      return text.erase(at, 1 + below(8));
    case 1:
      return text.insert(at, 1, static_cast<char>(random()));
    case 2:
      text[at] = static_cast<char>(random());
      return text;
    case 3:
      return text.substr(0, at);
    case 4:
      return text.insert(at, text.substr(below(text.size()), below(60)));
    default:
      return text.insert(at, 1, "\n\t (){}[]/"[below(10)]);
    }
  }

  std::string mutateTokens(std::string text) {
    const std::vector<Piece> tokens = pieces(text);
    if (tokens.empty())
      return text;
    const auto [begin, end] = tokens[below(tokens.size())];
    switch (below(7)) {
    case 0:
      return text.erase(begin, end - begin);
    case 1:
      return text.replace(begin, end - begin, pool[below(pool.size())]);
    case 2:
      return text.insert(begin, pool[below(pool.size())] + " ");
    case 3:
      return text.insert(begin, "\n");
    case 4:
      return text.insert(begin, "// fuzz\n");
    case 5:
      return text.insert(end, " // fuzz\n\n");
    default:
      return text.insert(end, "  ");
    }
  }

  std::vector<std::string> texts;
  std::vector<std::string> pool;
  std::mt19937_64 random{20240607};
};

size_t countComments(const SourceFile &file) {
  Diagnostics diags;
  return lex(file, diags).comments.size();
}

/// Whether the text was accepted.
bool survives(const std::string &text) {
  const SourceFile file("fuzz", text);
  Diagnostics diags;
  const ast::Module module = parse(file, diags);
  renderText(diags);
  renderJson(diags);
  if (diags.hasErrors())
    return false;

  const std::string canonical = format(module);
  const SourceFile again("again", canonical);
  Diagnostics none;
  const ast::Module reread = parse(again, none);
  EXPECT_FALSE(none.hasErrors()) << renderText(none);
  EXPECT_EQ(canonical, format(reread)) << text;
  EXPECT_EQ(dumpAst(module), dumpAst(reread)) << text;
  EXPECT_EQ(countComments(file), countComments(again)) << text;
  return true;
}

} // namespace

TEST(Fuzz, mutated_kernels_never_crash_and_format_stably) {
  Mutator mutator(corpus());
  unsigned accepted = 0;
  for (unsigned i = 0; i < iterations && !HasFailure(); ++i)
    accepted += survives(mutator.next());
  // Otherwise the mutations have become too coarse to test the formatter.
  EXPECT_GT(accepted, iterations / 20);
}

TEST(Fuzz, deep_and_long_inputs_end_in_a_diagnostic) {
  auto repeat = [](std::string_view piece, unsigned count) {
    std::string text;
    for (unsigned i = 0; i < count; ++i)
      text += piece;
    return text;
  };
  constexpr unsigned many = 100'000;
  const std::string kernel = "kernel k(x: f32)\n  grid (i: 1)\n{\n  warpgroup w regs 32 {\n";
  EXPECT_FALSE(survives("const a = " + repeat("(", many)));
  EXPECT_FALSE(survives("const a = 1" + repeat(" + 1", many)));
  EXPECT_FALSE(survives("const a = 1" + repeat(" ? 1 : 1", many)));
  EXPECT_FALSE(survives("const a = " + repeat("b[", many)));
  EXPECT_FALSE(survives("const a = " + repeat("b[0 +: ", many)));
  EXPECT_FALSE(survives(kernel + repeat("if x {\n", many)));
  EXPECT_FALSE(survives(kernel + repeat("if x { } else ", many)));
  EXPECT_FALSE(survives(repeat("kernel ", many)));
  EXPECT_FALSE(survives(repeat("}", many)));
}
