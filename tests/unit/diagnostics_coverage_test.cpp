// Every kind of diagnostic is shown by a golden file: some tests/**/fail_* has `[its-name]` in its
// expected output. diagnostics_uncovered.txt lists the kinds that have none yet; it may only
// shrink.

#include "compiler/support/diagnostics.h"
#include "tests/file_test.h"

#include <gtest/gtest.h>
#include <set>
#include <sstream>

using namespace flashqla;

namespace {

std::string goldenOutput() {
  std::string text;
  for (const auto &path : fq_test::filesBelow(fq_test::testsFolder(), {".tile", ".mlir"}))
    if (path.filename().string().starts_with("fail_"))
      text += fq_test::readFile(path);
  return text;
}

std::set<std::string> uncovered() {
  std::istringstream lines(
      fq_test::readFile(fq_test::testsFolder() / "unit/diagnostics_uncovered.txt"));
  std::set<std::string> names;
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && line[0] != '#')
      names.insert(line);
  return names;
}

} // namespace

TEST(Diagnostics, every_kind_has_a_golden_file) {
  const std::string output = goldenOutput();
  std::set<std::string> excused = uncovered();
  for (const DiagnosticInfo &info : allDiagnostics()) {
    const bool covered = output.find("[" + std::string(info.name) + "]\n") != std::string::npos;
    const bool listed = excused.erase(std::string(info.name)) != 0;
    EXPECT_TRUE(covered || listed) << info.name << " needs a fail_*.tile that shows it";
    EXPECT_FALSE(covered && listed)
        << info.name << " is covered: take it off unit/diagnostics_uncovered.txt";
  }
  for (const std::string &name : excused)
    ADD_FAILURE() << name << " in unit/diagnostics_uncovered.txt is no kind of diagnostic";
}

TEST(Diagnostics, names_are_kebab_case_and_unique) {
  std::set<std::string_view> names;
  for (const DiagnosticInfo &info : allDiagnostics()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_EQ(info.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"),
              std::string_view::npos)
        << info.name;
    EXPECT_TRUE(info.explanation.ends_with('.')) << info.name;
    EXPECT_EQ(diagnosticNamed(info.name), info.kind);
    EXPECT_EQ(diagnosticInfo(info.kind).name, info.name);
  }
  EXPECT_EQ(diagnosticNamed("no-such-kind"), std::nullopt);
}
