#include "tests/docs/markdown.h"

#include "tests/file_test.h"

#include <algorithm>

namespace fq_test {

std::vector<FencedBlock> fencedBlocks(std::string_view markdown) {
  constexpr std::string_view fence = "```";
  std::vector<FencedBlock> blocks;
  bool open = false;
  size_t number = 1;
  for (size_t at = 0; at < markdown.size(); ++number) {
    const size_t end = std::min(markdown.find('\n', at), markdown.size());
    const std::string_view line = markdown.substr(at, end - at);
    if (line.starts_with(fence)) {
      if (open) {
        blocks.back().length = at - blocks.back().begin;
        blocks.back().text = markdown.substr(blocks.back().begin, blocks.back().length);
      } else {
        blocks.push_back({std::string(line.substr(fence.size())), "", number, end + 1, 0});
      }
      open = !open;
    }
    at = end + 1;
  }
  return blocks;
}

std::string prose(std::string_view markdown) {
  std::string outside, result;
  size_t at = 0;
  for (const FencedBlock &block : fencedBlocks(markdown)) {
    outside += markdown.substr(at, block.begin - at);
    at = block.begin + block.length;
  }
  outside += markdown.substr(at);
  bool code = false;
  for (const char c : outside) {
    code ^= c == '`';
    if (!code)
      result += c;
  }
  return result;
}

std::vector<std::filesystem::path> documents() {
  const std::filesystem::path root = testsFolder().parent_path();
  std::vector<std::filesystem::path> paths = filesBelow(root / "docs", {".md"});
  paths.push_back(root / "README.md");
  return paths;
}

} // namespace fq_test
