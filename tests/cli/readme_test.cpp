// The commands that README.md shows are ones that flashqlac understands.
#include "tests/cli/cli_harness.h"
#include "tests/docs/markdown.h"
#include "tests/file_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

using namespace flashqla;
using namespace flashqla::testing;

namespace {

/// The words of each line that begins with `flashqlac`, up to a comment.
std::vector<std::vector<std::string>> commands(const std::string &readme) {
  std::vector<std::vector<std::string>> result;
  for (const fq_test::FencedBlock &block : fq_test::fencedBlocks(readme)) {
    std::istringstream lines(block.text);
    for (std::string line; block.info == "sh" && std::getline(lines, line);) {
      std::istringstream words(line.substr(0, line.find(" #")));
      std::vector<std::string> args;
      for (std::string word; words >> word;)
        args.push_back(word);
      if (!args.empty() && args.front() == "flashqlac")
        result.emplace_back(args.begin() + 1, args.end());
    }
  }
  return result;
}

} // namespace

TEST(Readme, its_commands_are_understood) {
  const std::filesystem::path root = fq_test::testsFolder().parent_path();
  const auto shown = commands(fq_test::readFile(root / "README.md"));
  EXPECT_GE(shown.size(), 10u);
  TemporaryFolder folder;
  std::filesystem::copy(root / "kernels", "kernels", std::filesystem::copy_options::recursive);
  CliSettings settings;
  settings.environment.cacheDir = "cache";
  for (const std::vector<std::string> &args : shown) {
    const CliResult result = runCli(args, "", settings);
    std::string command;
    for (const std::string &arg : args)
      command += " " + arg;
    // Inputs and a GPU are not there; everything else is.
    const bool simulated = std::ranges::find(args, "sim") != args.end();
    const bool onGpu = std::ranges::find(args, "gpu") != args.end();
    const bool needsMore = onGpu || (args.front() == "run" && !simulated) ||
                           result.all.find("[nvrtc-missing]") < result.all.size();
    EXPECT_EQ(result.status, needsMore ? cli::Failed : cli::Done) << command << "\n" << result.all;
  }
}
