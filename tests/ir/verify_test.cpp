// Golden files of the verifier: `// RUN: verify` expects exactly the errors that the text announces
// by
// `// expected-error {{…}}`, `// RUN: print` prints what the text reads as. And each sentence of
// the verifier is expected somewhere.

#include "compiler/ir/tile.h"
#include "tests/file_test.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <regex>

using namespace flashqla;

namespace {

/// Parses the pieces between lines of `// -----` and compares errors with what they announce.
std::string verify(const fq_test::Input &input) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<tile::TileDialect>();
  context.printOpOnDiagnostic(false);
  std::string unexpected;
  size_t begin = 0, pieces = 0;
  while (begin < input.text.size()) {
    const size_t end = std::min(input.text.find("// -----\n", begin), input.text.size());
    llvm::SourceMgr sources;
    // Blank lines in front keep the line numbers of the whole file.
    const auto line = std::count(input.text.begin(), input.text.begin() + begin, '\n');
    const std::string text = std::string(line, '\n') + input.text.substr(begin, end - begin);
    sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, input.name),
                               llvm::SMLoc());
    llvm::raw_string_ostream out(unexpected);
    mlir::SourceMgrDiagnosticVerifierHandler handler(sources, &context, out);
    mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
    if (mlir::failed(handler.verify()))
      out << "in the piece that begins at line " << line + 1 << "\n";
    begin = end + sizeof("// -----\n") - 1;
    ++pieces;
  }
  return unexpected.empty() ? fmt::format("{} pieces as expected\n", pieces) : unexpected;
}

std::string run(const fq_test::Input &input) {
  if (input.args.front() == "verify")
    return verify(input);
  return fmt::format("unknown verb {}\n", input.args.front());
}

std::string verifierSource() {
  return fq_test::readFile(fq_test::testsFolder() / "../compiler/ir/verify.cpp");
}

} // namespace

/// The literal parts of each message of compiler/ir/verify.cpp stand in one `expected-error`.
TEST(Ir, every_sentence_of_the_verifier_is_expected) {
  static const std::regex error("emitOpError\\(([^;]*);"), literal("\"([^\"]*)\"");
  std::string expected;
  for (const auto &path : fq_test::filesBelow(fq_test::testsFolder() / "ir/testdata", {".mlir"}))
    expected += fq_test::readFile(path);
  const std::string source = verifierSource();
  size_t sentences = 0;
  for (auto at = std::sregex_iterator(source.begin(), source.end(), error);
       at != std::sregex_iterator(); ++at) {
    const std::string call = at->str(1);
    for (auto part = std::sregex_iterator(call.begin(), call.end(), literal);
         part != std::sregex_iterator(); ++part)
      EXPECT_TRUE(expected.contains(part->str(1))) << "no test expects `" << part->str(1) << "`";
    ++sentences;
  }
  EXPECT_GT(sentences, 15u);
}

int main(int argc, char **argv) { return fq_test::main(argc, argv, "ir", "ir/testdata", run); }
