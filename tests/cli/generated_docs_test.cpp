// Documentation that is written by a program is up to date. FQ_UPDATE=1 writes it.
#include "compiler/support/diagnostics.h"
#include "tests/file_test.h"

#include <gtest/gtest.h>

using namespace flashqla;

TEST(GeneratedDocs, diagnostics) {
  const auto path = fq_test::testsFolder().parent_path() / "docs/diagnostics.md";
  const std::string found = diagnosticsMarkdown(), committed = fq_test::readFile(path);
  if (found == committed)
    return;
  if (fq_test::updating())
    fq_test::writeFile(path, found);
  else
    FAIL() << path.string() << " is stale\n" << fq_test::difference(committed, found);
}
