#include "tests/file_test.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace fq_test {

namespace {

constexpr std::string_view runMark = "// RUN:", checkMark = "// CHECK:";

/// What main() learned about this run.
struct Session {
  std::string program;
  bool update = false;
};

Session &session() {
  static Session instance;
  return instance;
}

std::vector<std::string> words(std::string_view line) {
  std::istringstream stream{std::string(line)};
  std::vector<std::string> result;
  for (std::string word; stream >> word;)
    result.push_back(word);
  return result;
}

/// Offset of the first line that begins with the mark.
size_t findLine(std::string_view text, std::string_view mark) {
  if (text.starts_with(mark))
    return 0;
  const size_t at = text.find("\n" + std::string(mark));
  return at == std::string_view::npos ? at : at + 1;
}

std::string asChecks(std::string_view output) {
  std::string result;
  std::istringstream stream{std::string(output)};
  for (std::string line; std::getline(stream, line);)
    result += fmt::format("{}{}{}\n", checkMark, line.empty() ? "" : " ", line);
  return result;
}

class GoldenFile : public testing::Test {
public:
  GoldenFile(std::filesystem::path path, Verb verb)
      : path(std::move(path)), verb(std::move(verb)) {}

  void TestBody() override {
    const std::string text = readFile(path);
    const size_t run = findLine(text, runMark);
    ASSERT_NE(run, std::string::npos) << path << " has no line that begins with " << runMark;
    const size_t checks = std::min(findLine(text, checkMark), text.size());
    const size_t runBegin = run + runMark.size();
    Input input{path.filename().string(), path, text.substr(0, checks),
                words(std::string_view(text).substr(runBegin, text.find('\n', run) - runBegin))};
    ASSERT_FALSE(input.args.empty()) << path << " names no verb to run";

    const std::string found = asChecks(verb(input)), expected = text.substr(checks);
    if (found == expected)
      return;
    if (updating()) {
      const bool lineOpen = !input.text.empty() && input.text.back() != '\n';
      writeFile(path, input.text + (lineOpen ? "\n" : "") + found);
      return;
    }
    FAIL() << path.string() << "\n" << difference(expected, found);
  }

private:
  std::filesystem::path path;
  Verb verb;
};

} // namespace

std::filesystem::path testsFolder() { return FQ_TESTS_FOLDER; }

bool updating() { return session().update; }

std::vector<std::filesystem::path> filesBelow(const std::filesystem::path &folder,
                                              const std::vector<std::string_view> &extensions) {
  std::vector<std::filesystem::path> result;
  if (!std::filesystem::exists(folder))
    return result;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file() &&
        std::ranges::find(extensions, entry.path().extension().string()) != extensions.end())
      result.push_back(entry.path());
  std::ranges::sort(result);
  return result;
}

std::string readFile(const std::filesystem::path &path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

void writeFile(const std::filesystem::path &path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string rerunCommand() {
  const testing::TestInfo *test = testing::UnitTest::GetInstance()->current_test_info();
  return fmt::format("{} --gtest_filter={}.{}", session().program, test->test_suite_name(),
                     test->name());
}

std::string difference(std::string_view expected, std::string_view found) {
  std::istringstream left{std::string(expected)}, right{std::string(found)};
  std::string expectedLine, foundLine;
  for (unsigned number = 1;; ++number) {
    const bool more = static_cast<bool>(std::getline(left, expectedLine));
    const bool moreFound = static_cast<bool>(std::getline(right, foundLine));
    if (!more && !moreFound)
      return "";
    if (more && moreFound && expectedLine == foundLine)
      continue;
    return fmt::format("line {}\n  expected: {}\n  found:    {}\n\nall that was found:\n{}\n"
                       "run it alone:  {}\naccept it:     FQ_UPDATE=1 {}\n",
                       number, more ? expectedLine : "(nothing)",
                       moreFound ? foundLine : "(nothing)", found, rerunCommand(), rerunCommand());
  }
}

void registerFiles(std::string suite, const std::string &folder, const Verb &verb) {
  for (const std::filesystem::path &path : filesBelow(testsFolder() / folder, {".tile", ".mlir"}))
    testing::RegisterTest(suite.c_str(), path.stem().c_str(), nullptr, nullptr, path.c_str(), 1,
                          [=]() -> testing::Test * { return new GoldenFile(path, verb); });
}

int main(int argc, char **argv, std::string suite, const std::string &folder, const Verb &verb) {
  testing::InitGoogleTest(&argc, argv);
  const char *update = std::getenv("FQ_UPDATE");
  session() = {argv[0], update != nullptr && std::string_view(update) == "1"};
  if (!folder.empty())
    registerFiles(std::move(suite), folder, verb);
  return RUN_ALL_TESTS();
}

} // namespace fq_test
