// The static checks on every kernel of the tree: nothing is said about them as they are, and each
// `sync` that is deleted is missed.

#include "compiler/frontend/frontend.h"
#include "compiler/passes/pipeline.h"
#include "compiler/support/render.h"
#include "compiler/syntax/parser.h"
#include "tests/file_test.h"

#include "mlir/IR/MLIRContext.h"

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

TEST(PassesKernels, every_deleted_sync_is_reported) {
  unsigned syncs = 0;
  for (const auto &path : kernelFiles()) {
    const SourceFile whole(path.filename().string(), fq_test::readFile(path));
    for (uint32_t line = 1; line <= whole.lineCount(); ++line) {
      const std::string_view text = whole.line(line);
      const size_t first = text.find_first_not_of(' ');
      if (first == std::string_view::npos || !text.substr(first).starts_with("sync") ||
          (text.size() > first + 4 && text[first + 4] != ' '))
        continue;
      ++syncs;
      std::string mutated(whole.text());
      mutated.replace(whole.lineBegin(line) + first, 4, "");
      const SourceFile file(whole.name(), mutated);
      Diagnostics diags;
      checkAll(file, diags);
      EXPECT_TRUE(reports(diags, DiagnosticKind::MissingSync))
          << whole.name() << ":" << line << " without its `sync`:\n"
          << renderText(diags);
    }
  }
  EXPECT_GT(syncs, 15u); // otherwise the search above no longer finds them
}
