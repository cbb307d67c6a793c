// Mutated kernels: the frontend must not crash, it says something about whatever it refuses, and
// what it lowers verifies.

#include "compiler/frontend/frontend.h"
#include "compiler/support/render.h"
#include "compiler/syntax/lexer.h"
#include "compiler/syntax/parser.h"
#include "tests/file_test.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

#include <gtest/gtest.h>
#include <random>

using namespace flashqla;

namespace {

std::vector<std::string> corpus() {
  std::vector<std::string> texts;
  for (const char *folder : {"samples", "../kernels", "frontend/testdata"})
    for (const auto &path : fq_test::filesBelow(fq_test::testsFolder() / folder, {".tile"})) {
      const std::string text = fq_test::readFile(path);
      texts.push_back(text.substr(0, text.find("// CHECK:")));
    }
  return texts;
}

/// Exchanges words and numbers of a kernel for others of the same kernel, so that most results
/// still parse.
class Mutator {
public:
  explicit Mutator(std::vector<std::string> texts) : texts(std::move(texts)) {}

  std::string next() {
    std::string text = texts[below(texts.size())];
    for (size_t count = 1 + below(3); count != 0; --count)
      mutate(text);
    return text;
  }

private:
  size_t below(size_t bound) { return random() % bound; }

  void mutate(std::string &text) {
    const SourceFile file("fuzz", text);
    Diagnostics diags;
    const LexedFile lexed = lex(file, diags);
    if (lexed.tokens.size() < 3)
      return;
    const Token &first = lexed.tokens[below(lexed.tokens.size() - 1)];
    const Token *other = &lexed.tokens[below(lexed.tokens.size() - 1)];
    for (int tries = 0; tries < 50 && other->kind != first.kind; ++tries)
      other = &lexed.tokens[below(lexed.tokens.size() - 1)];
    const size_t length = first.range.end - first.range.begin;
    if (below(6) == 0) { // a line
      const uint32_t line = file.lineOf(first.range.begin);
      text.erase(file.lineBegin(line), file.line(line).size());
    } else {
      text.replace(first.range.begin, length, std::string(other->range.text()));
    }
  }

  std::vector<std::string> texts;
  std::mt19937_64 random{20240611};
};

/// Whether the text was accepted.
bool survives(const std::string &text, mlir::MLIRContext &context) {
  const SourceFile file("fuzz", text);
  Diagnostics diags;
  const ast::Module module = parse(file, diags);
  if (diags.hasErrors())
    return false;
  const bool good = frontend::checkModule(module, context, diags);
  EXPECT_EQ(good, !diags.hasErrors());
  renderText(diags);
  if (!good)
    return false;
  for (const ast::TopLevel &item : module.items)
    if (const auto *kernel = std::get_if<ast::Kernel>(&item.node))
      for (const auto &read : frontend::checkCases(module, kernel->name.text, diags)) {
        auto lowered =
            frontend::instantiate(module, kernel->name.text, read.bindings, context, diags);
        EXPECT_TRUE(lowered) << text;
        EXPECT_TRUE(lowered && mlir::succeeded(mlir::verify(*lowered))) << text;
      }
  return true;
}

} // namespace

TEST(Fuzz, mutated_kernels_are_refused_with_a_message_or_verify) {
  constexpr unsigned iterations = 1500;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  frontend::loadDialects(context);
  Mutator mutator(corpus());
  unsigned accepted = 0;
  for (unsigned i = 0; i < iterations && !testing::Test::HasFailure(); ++i)
    accepted += survives(mutator.next(), context);
  // Otherwise the mutations have become too coarse to reach the lowering.
  EXPECT_GT(accepted, iterations / 50);
}
