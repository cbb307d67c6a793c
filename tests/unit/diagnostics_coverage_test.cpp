// Every kind of diagnostic is shown by a golden file: some tests/**/fail_* has `[its-name]` in its
// expected output. What a launch says is shown by the runtime's tests; what NVRTC's log says differs
// between its versions.

#include "compiler/support/diagnostics.h"
#include "tests/file_test.h"

#include <gtest/gtest.h>
#include <set>

using namespace flashqla;

namespace {

std::string goldenOutput() {
  std::string text;
  for (const auto &path : fq_test::filesBelow(fq_test::testsFolder(), {".tile", ".mlir"}))
    if (path.filename().string().starts_with("fail_"))
      text += fq_test::readFile(path);
  return text;
}

/// Kinds that the runtime reports; the compiler only explains them.
bool isReportedAtLaunch(DiagnosticKind kind) { return kind == DiagnosticKind::LaunchWhere; }

/// Kinds that pass on what NVRTC says.
bool isFromTheAssembler(DiagnosticKind kind) {
  return kind == DiagnosticKind::AssemblerSlow || kind == DiagnosticKind::RegisterSpill ||
         kind == DiagnosticKind::CudaError;
}

} // namespace

TEST(Diagnostics, every_kind_has_a_golden_file) {
  const std::string golden = goldenOutput();
  const std::string launches =
      fq_test::readFile(fq_test::testsFolder() / "unit/runtime_launch_test.cpp");
  for (const DiagnosticInfo &info : allDiagnostics()) {
    const std::string shown = "[" + std::string(info.name) + "]";
    if (isReportedAtLaunch(info.kind)) {
      EXPECT_TRUE(launches.contains(shown)) << info.name << " needs a test of a launch";
    } else if (!isFromTheAssembler(info.kind)) {
      EXPECT_TRUE(golden.contains(shown + "\n")) << info.name << " needs a fail_*.tile";
    }
  }
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
