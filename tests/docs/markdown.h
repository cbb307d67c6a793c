// The fenced blocks of a Markdown file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fq_test {

struct FencedBlock {
  std::string info;     ///< what stands behind the opening fence: "tile", "diff kernels/gemm.tile"
  std::string text;     ///< the lines between the fences
  size_t line;          ///< of the opening fence, from 1
  size_t begin, length; ///< of the text in the file
};

/// Blocks fenced by three backquotes at the start of a line.
std::vector<FencedBlock> fencedBlocks(std::string_view markdown);

/// The text outside fenced blocks and `code`.
std::string prose(std::string_view markdown);

/// README.md and every page below docs/.
std::vector<std::filesystem::path> documents();

} // namespace fq_test
