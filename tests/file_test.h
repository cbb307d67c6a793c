// Golden files on GoogleTest: every file of a folder is a test, and holds its own expected output.
//
//   // RUN: check
//   kernel k(x: in f32[8]
//   // CHECK: k.tile:2:22: error: …
//   // CHECK:    2 | kernel k(x: in f32[8]
//
// The RUN line – the first one of the file – is a verb and its flags; the test binary supplies the
// function that executes them. What the verb reads is the text up to the first CHECK line; what it
// prints is compared with the CHECK lines. A test binary is
//
//   std::string run(const fq_test::Input &input) { … }
//   int main(int argc, char **argv) { return fq_test::main(argc, argv, "syntax", "syntax/testdata",
//   run); }
//
// and may hold ordinary TESTs as well. FQ_UPDATE=1 rewrites the CHECK lines instead of comparing.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fq_test {

struct Input {
  std::string name;              ///< file name without its folder, as messages should show it
  std::filesystem::path path;    ///< the whole path, for verbs that read neighbours
  std::string text;              ///< up to the first CHECK line
  std::vector<std::string> args; ///< the words of the RUN line, the verb first
};

/// What the verb prints; `unknown verb …` for one that it does not know.
using Verb = std::function<std::string(const Input &)>;

/// The folder tests/ of the source tree.
std::filesystem::path testsFolder();

/// Whether FQ_UPDATE=1 asked to rewrite expected output. Known once main() runs.
bool updating();

/// The files below a folder with one of these extensions, sorted.
std::vector<std::filesystem::path> filesBelow(const std::filesystem::path &folder,
                                              const std::vector<std::string_view> &extensions);

std::string readFile(const std::filesystem::path &path);
void writeFile(const std::filesystem::path &path, std::string_view text);

/// Where two texts first differ, as `line N: expected … / found …`, and how to run the current test
/// again.
std::string difference(std::string_view expected, std::string_view found);

/// The command that runs the current test alone.
std::string rerunCommand();

/// Registers `suite.<stem>` for every `.tile` and `.mlir` file below tests/`folder`. Called before
/// RUN_ALL_TESTS.
void registerFiles(std::string suite, const std::string &folder, const Verb &verb);

/// InitGoogleTest, registerFiles, RUN_ALL_TESTS. For a binary without golden files of its own
/// `folder` is empty.
int main(int argc, char **argv, std::string suite, const std::string &folder, const Verb &verb);

} // namespace fq_test
