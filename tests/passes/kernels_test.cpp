// The static checks on every kernel of the tree: nothing is said about them as they are, and each
// `sync` that is deleted is missed.

#include "compiler/frontend/frontend.h"
#include "compiler/passes/pipeline.h"
#include "compiler/support/render.h"
#include "compiler/syntax/parser.h"
#include "tests/file_test.h"

#include "mlir/IR/MLIRContext.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

using namespace flashqla;

namespace {

std::vector<std::filesystem::path> kernelFiles() {
  std::vector<std::filesystem::path> files;
  for (const char *folder : {"samples", "../kernels"})
    for (const auto &path : fq_test::filesBelow(fq_test::testsFolder() / folder, {".tile"}))
      files.push_back(path);
  return files;
}

/// Runs the checks at every `check` case of every kernel.
void checkAll(const SourceFile &file, Diagnostics &diags) {
  const ast::Module module = parse(file, diags);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  frontend::loadDialects(context);
  SourceFiles files;
  files.add(file);
  passes::Context passContext{files, diags};
  for (const ast::TopLevel &item : module.items)
    if (const auto *kernel = std::get_if<ast::Kernel>(&item.node))
      for (const frontend::CheckCase &read : frontend::checkCases(module, kernel->name.text, diags))
        if (auto lowered =
                frontend::instantiate(module, kernel->name.text, read.bindings, context, diags))
          passes::checkAndPlan(*lowered->getBody()->getOps<tile::KernelOp>().begin(), passContext);
}

bool reports(const Diagnostics &diags, DiagnosticKind kind) {
  return std::ranges::any_of(diags.all(),
                             [&](const Diagnostic &diagnostic) { return diagnostic.kind == kind; });
}

/// Remarks are opinions.
bool onlyRemarks(const Diagnostics &diags) {
  return std::ranges::all_of(diags.all(), [](const Diagnostic &diagnostic) {
    return diagnostic.severity == Severity::Remark;
  });
}

} // namespace

TEST(PassesKernels, nothing_is_reported) {
  for (const auto &path : kernelFiles()) {
    const SourceFile file(path.filename().string(), fq_test::readFile(path));
    Diagnostics diags;
    checkAll(file, diags);
    EXPECT_TRUE(onlyRemarks(diags)) << renderText(diags);
  }
}

/// The kernels without one line that begins with a word, and what is said about each.
template <class Callback> unsigned forEachDeleted(std::string_view word, Callback callback) {
  unsigned count = 0;
  for (const auto &path : kernelFiles()) {
    const SourceFile whole(path.filename().string(), fq_test::readFile(path));
    for (uint32_t line = 1; line <= whole.lineCount(); ++line) {
      const std::string_view text = whole.line(line);
      const size_t first = text.find_first_not_of(' ');
      const size_t end = first + word.size();
      if (first == std::string_view::npos || !text.substr(first).starts_with(word) ||
          (text.size() > end && text[end] != ' '))
        continue;
      ++count;
      std::string mutated(whole.text());
      mutated.erase(whole.lineBegin(line) + first, text.size() - first);
      const SourceFile file(whole.name(), mutated);
      Diagnostics diags;
      checkAll(file, diags);
      callback(std::string(text.substr(first)), fmt::format("{}:{}", whole.name(), line), diags);
    }
  }
  return count;
}

TEST(PassesKernels, every_deleted_sync_is_reported) {
  const unsigned syncs = forEachDeleted("sync", [](const std::string &, const std::string &place,
                                                   const Diagnostics &diags) {
    EXPECT_TRUE(reports(diags, DiagnosticKind::MissingSync)) << place << " without its `sync`:\n"
                                                             << renderText(diags);
  });
  EXPECT_GT(syncs, 15u); // otherwise the search no longer finds them
}

/// Lines that can go without an error, as `file: statement`.
std::vector<std::string> unnoticed(std::string_view word, unsigned atLeast) {
  std::vector<std::string> lines;
  const unsigned count = forEachDeleted(
      word, [&](const std::string &text, const std::string &place, const Diagnostics &diags) {
        const std::string statement =
            text.substr(0, text.find_last_not_of(' ', text.find("//") - 1) + 1);
        if (!diags.hasErrors())
          lines.push_back(fmt::format("{}: {}", place.substr(0, place.find(':')), statement));
      });
  EXPECT_GT(count, atLeast);
  return lines;
}

using Lines = std::vector<std::string>;

// Generations of the ping-pong kernel are products of two unknowns: nothing is proved about them,
// nor reported.
TEST(PassesKernels, every_deleted_await_is_reported) {
  EXPECT_EQ(unnoticed("await", 30), Lines({"gemm_pingpong.tile: await wgmma 1"}));
}

// What these wait for is written and read by threads of two roles: a matter of whole protocols, not
// of one role.
TEST(PassesKernels, deleted_waits_are_reported_where_one_role_shows_them) {
  EXPECT_EQ(
      unnoticed("wait", 30),
      Lines({"gdn_gradient.tile: wait dot_free[e - 2]", "gdn_gradient.tile: wait dot_free[e - 2]",
             "gemm_pingpong.tile: wait full[g]", "gemm_pingpong.tile: wait full[g + k]",
             "simple_gla.tile: wait gate_full[i]", "simple_gla.tile: wait gate_full[i]"}));
}

// One of two arrivals of `relay` is left each time.
TEST(PassesKernels, deleted_arrivals_are_reported_where_a_role_has_one) {
  EXPECT_EQ(unnoticed("arrive", 30), Lines({"gemm_pingpong.tile: arrive empty[j*kt + k]",
                                            "gemm_pingpong.tile: arrive empty[(j + 1)*kt + k]"}));
}
