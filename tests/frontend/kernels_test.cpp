// Every kernel of the tree lowers at each of its `check` bindings; the IR verifies, and its text,
// with and without locations, reads back as itself.

#include "compiler/frontend/frontend.h"
#include "compiler/ir/location.h"
#include "compiler/support/render.h"
#include "compiler/syntax/parser.h"
#include "tests/file_test.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace flashqla;

namespace {

std::string printed(mlir::ModuleOp module, bool locations) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  mlir::OpPrintingFlags flags;
  if (locations)
    flags.enableDebugInfo(true, /*prettyForm=*/false);
  module->print(stream, flags);
  return text;
}

void expectReadsBack(mlir::ModuleOp module, bool locations) {
  const std::string text = printed(module, locations);
  auto again = mlir::parseSourceString<mlir::ModuleOp>(text, module.getContext());
  ASSERT_TRUE(again) << text;
  EXPECT_EQ(printed(*again, locations), text);
}

/// Every op that the author wrote has a place in the file.
void expectLocations(mlir::ModuleOp module, const SourceFile &file) {
  SourceFiles files;
  files.add(file);
  module->walk([&](mlir::Operation *op) {
    if (!op->hasTrait<mlir::OpTrait::IsTerminator>()) {
      EXPECT_TRUE(files.range(op)) << op->getName().getStringRef().str();
    }
  });
}

void expectLowers(const std::filesystem::path &path) {
  SCOPED_TRACE(path.string());
  const SourceFile file(path.string(), fq_test::readFile(path));
  Diagnostics diags;
  const ast::Module module = parse(file, diags);
  ASSERT_FALSE(diags.hasErrors()) << renderText(diags);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  frontend::loadDialects(context);
  EXPECT_TRUE(frontend::checkModule(module, context, diags)) << renderText(diags);
  for (const ast::TopLevel &item : module.items) {
    const auto *kernel = std::get_if<ast::Kernel>(&item.node);
    if (!kernel)
      continue;
    SCOPED_TRACE(kernel->name.text);
    const auto cases = frontend::checkCases(module, kernel->name.text, diags);
    EXPECT_FALSE(cases.empty()) << "no `check`";
    for (const frontend::CheckCase &read : cases) {
      auto lowered =
          frontend::instantiate(module, kernel->name.text, read.bindings, context, diags);
      ASSERT_TRUE(lowered) << renderText(diags);
      EXPECT_TRUE(mlir::succeeded(mlir::verify(*lowered)));
      expectReadsBack(*lowered, false);
      expectReadsBack(*lowered, true);
      expectLocations(*lowered, file);
    }
  }
}

} // namespace

TEST(Kernels, samples_lower_at_their_check_bindings) {
  for (const auto &path : fq_test::filesBelow(fq_test::testsFolder() / "samples", {".tile"}))
    expectLowers(path);
}

TEST(Kernels, shipped_kernels_lower_at_their_check_bindings) {
  for (const auto &path : fq_test::filesBelow(fq_test::testsFolder() / "../kernels", {".tile"}))
    expectLowers(path);
}
