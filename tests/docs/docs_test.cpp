// What the documentation shows is true. What stands behind a fence decides:
//
//   ```tile                     a whole module; it passes all static checks
//   ```tile kernels/gemm.tile   that file, word for word; ```cpp FILE likewise
//   ```tile part                statements or items of a kernel; they parse
//   ```diff kernels/gemm.tile   a change of that file. The block behind it holds the first thing
//   that
//                               the compiler says about it; FQ_UPDATE=1 rewrites that block.

#include "compiler/driver/compile.h"
#include "compiler/support/render.h"
#include "compiler/syntax/parser.h"
#include "tests/docs/markdown.h"
#include "tests/file_test.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <optional>

using namespace flashqla;
using fq_test::FencedBlock;

namespace {

const std::filesystem::path root = fq_test::testsFolder().parent_path();

std::string diagnosticsOf(const std::string &name, const std::string &text) {
  driver::Session session{Environment()};
  session.check(name, text);
  return renderText(session.diagnostics());
}

std::string firstDiagnosticOf(const std::string &name, const std::string &text) {
  driver::Session session{Environment()};
  session.check(name, text);
  const std::vector<const Diagnostic *> found = session.diagnostics().sorted();
  return found.empty() ? "" : renderText(*found.front());
}

bool parses(const std::string &text) {
  Diagnostics diags;
  const SourceFile file("part.tile", text);
  parse(file, diags);
  return !diags.hasErrors();
}

/// Whether the text may stand in a module, in the body of a kernel, in a role, or in a header.
bool isPart(const std::string &text) {
  const std::string kernel = "kernel k(x: in f32[8]) grid (i: 1) {\n";
  return parses(text) || parses(kernel + text + "\n}") ||
         parses(kernel + "warpgroup w regs 128 {\n" + text + "\n}\n}") ||
         parses("kernel k(x: in f32[8])\n" + text + "\n{}");
}

/// The text with the lines that the change takes away replaced by those that it adds. A change is
/// one or more runs of `-` lines, each followed by its `+` lines.
std::optional<std::string> changed(std::string text, std::string_view change) {
  std::string removed, added;
  auto apply = [&] {
    if (removed.empty())
      return added.empty();
    const size_t at = text.find(removed);
    if (at == std::string::npos || text.find(removed, at + 1) != std::string::npos)
      return false;
    text.replace(at, removed.size(), added);
    removed.clear();
    added.clear();
    return true;
  };
  for (size_t at = 0; at < change.size();) {
    const size_t end = std::min(change.find('\n', at), change.size());
    const std::string line = std::string(change.substr(at + 1, end - at - 1)) + "\n";
    if (change[at] == '-' && !added.empty() && !apply())
      return std::nullopt;
    if (change[at] != '-' && change[at] != '+')
      return std::nullopt;
    (change[at] == '-' ? removed : added) += line;
    at = end + 1;
  }
  return apply() ? std::optional(text) : std::nullopt;
}

/// Checks one document; returns its text with the expected output brought up to date.
std::string check(const std::filesystem::path &path) {
  const std::string document = fq_test::readFile(path);
  const std::vector<FencedBlock> blocks = fq_test::fencedBlocks(document);
  std::string updated = document;
  ptrdiff_t shift = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const FencedBlock &block = blocks[i];
    const size_t space = block.info.find(' ');
    const std::string kind = block.info.substr(0, space);
    const std::string what = space == std::string::npos ? "" : block.info.substr(space + 1);
    SCOPED_TRACE(fmt::format("{}:{}", path.string(), block.line));
    if (kind == "tile" && what.empty()) {
      EXPECT_EQ(diagnosticsOf(path.filename().string(), block.text), "");
    } else if (kind == "tile" && what == "part") {
      EXPECT_TRUE(isPart(block.text)) << block.text;
    } else if (kind == "tile" || (kind == "cpp" && !what.empty())) {
      EXPECT_EQ(fq_test::readFile(root / what), block.text);
    } else if (kind == "diff") {
      const auto text = changed(fq_test::readFile(root / what), block.text);
      EXPECT_TRUE(text && i + 1 < blocks.size()) << "a change of " << what << " that fits nowhere";
      if (!text || i + 1 == blocks.size())
        continue;
      const std::string found =
          firstDiagnosticOf(std::filesystem::path(what).filename().string(), *text);
      const FencedBlock &expected = blocks[i + 1];
      if (!fq_test::updating()) {
        EXPECT_EQ(found, expected.text);
      }
      updated.replace(expected.begin + shift, expected.length, found);
      shift += static_cast<ptrdiff_t>(found.size()) - static_cast<ptrdiff_t>(expected.length);
    }
  }
  return updated;
}

} // namespace

TEST(Docs, examples_are_true) {
  for (const auto &path : fq_test::documents()) {
    const std::string updated = check(path);
    if (fq_test::updating() && updated != fq_test::readFile(path))
      fq_test::writeFile(path, updated);
  }
}

/// Links between the pages lead somewhere.
TEST(Docs, links_have_targets) {
  for (const auto &path : fq_test::documents()) {
    const std::string text = fq_test::prose(fq_test::readFile(path));
    for (size_t at = text.find("]("); at != std::string::npos; at = text.find("](", at + 2)) {
      std::string target = text.substr(at + 2, text.find(')', at) - at - 2);
      target = target.substr(0, target.find('#'));
      if (!target.empty() && !target.starts_with("http")) {
        EXPECT_TRUE(std::filesystem::exists(path.parent_path() / target))
            << path.string() << " links to " << target;
      }
    }
  }
}

int main(int argc, char **argv) { return fq_test::main(argc, argv, "docs", "", nullptr); }
