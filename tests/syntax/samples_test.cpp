// Every kernel of the tree, shipped ones and samples, is stored in canonical form.

#include "compiler/support/render.h"
#include "compiler/syntax/format.h"
#include "compiler/syntax/parser.h"
#include "tests/file_test.h"

#include <gtest/gtest.h>

using namespace flashqla;

namespace {

void expectCanonical(const std::filesystem::path &path) {
  const std::string text = fq_test::readFile(path);
  const SourceFile file(path.string(), text);
  Diagnostics diags;
  const ast::Module module = parse(file, diags);
  ASSERT_FALSE(diags.hasErrors()) << renderText(diags);
  const std::string canonical = format(module);
  if (canonical == text)
    return;
  if (fq_test::updating())
    fq_test::writeFile(path, canonical);
  else
    ADD_FAILURE() << path.string() << "\n" << fq_test::difference(canonical, text);
}

} // namespace

TEST(Samples, are_canonical) {
  const auto files = fq_test::filesBelow(fq_test::testsFolder() / "samples", {".tile"});
  ASSERT_FALSE(files.empty());
  for (const auto &path : files)
    expectCanonical(path);
}

TEST(Samples, shipped_kernels_are_canonical) {
  const auto files = fq_test::filesBelow(fq_test::testsFolder() / "../kernels", {".tile"});
  ASSERT_FALSE(files.empty());
  for (const auto &path : files)
    expectCanonical(path);
}
