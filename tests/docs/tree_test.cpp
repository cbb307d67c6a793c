// docs/architecture.md has a line for every file of the tree, and no line for any other. Under a
// heading "### `folder`" each item of the list begins with the files that it is about:
//
//   * `lexer.h` `lexer.cpp`: text → tokens

#include "tests/file_test.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>
#include <sstream>

namespace {

using Path = std::filesystem::path;

const Path root = fq_test::testsFolder().parent_path();

std::set<std::string> mentioned() {
  std::istringstream lines(fq_test::readFile(root / "docs/architecture.md"));
  std::set<std::string> files;
  std::string folder;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("### `"))
      folder = line.substr(5, line.find('`', 5) - 5);
    else if (line.starts_with("#"))
      folder.clear();
    if (folder.empty() || !line.starts_with("* `"))
      continue;
    for (size_t at = 2; at < line.size() && line[at] == '`';) {
      const size_t end = line.find('`', at + 1);
      const std::string name = line.substr(at + 1, end - at - 1);
      EXPECT_TRUE(files.insert(folder + "/" + name).second) << folder << "/" << name << " twice";
      at = end + (line[end + 1] == ' ' ? 2 : 1);
    }
  }
  return files;
}

/// Golden files are data; a line for their folder is enough.
bool isSource(const Path &path) {
  static const std::set<std::string> extensions = {".cpp", ".h",    ".td",  ".def", ".cuh",  ".in",
                                                   ".csv", ".tile", ".txt", ".sh",  ".cmake"};
  const bool golden = std::ranges::any_of(
      path, [](const Path &part) { return part == "testdata" || part == "samples"; });
  return !golden && extensions.contains(path.extension().string());
}

std::set<std::string> present() {
  std::set<std::string> files;
  for (const char *folder : {"cmake", "compiler", "kernels", "runtime", "tests", "tools"})
    for (const auto &entry : std::filesystem::recursive_directory_iterator(root / folder))
      if (entry.is_regular_file() && isSource(entry.path()))
        files.insert(std::filesystem::relative(entry.path(), root).string());
  return files;
}

} // namespace

TEST(Architecture, mentions_every_file_and_no_other) {
  const std::set<std::string> described = mentioned(), found = present();
  for (const std::string &file : found)
    EXPECT_TRUE(described.contains(file)) << file << " has no line in docs/architecture.md";
  for (const std::string &file : described)
    EXPECT_TRUE(found.contains(file)) << "docs/architecture.md describes " << file;
}
