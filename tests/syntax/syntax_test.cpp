// Golden files of lexer, parser and formatter.
//
//   // RUN: fmt      canonical text, or the diagnostics; also checks that formatting again changes
//   nothing
//   // RUN: check    the diagnostics alone
//   // RUN: json     the diagnostics, one object a line
//   // RUN: tokens   the token dump
//   // RUN: ast      the tree

#include "compiler/support/render.h"
#include "compiler/syntax/dump.h"
#include "compiler/syntax/format.h"
#include "compiler/syntax/lexer.h"
#include "compiler/syntax/parser.h"
#include "tests/file_test.h"

#include <fmt/format.h>

using namespace flashqla;

namespace {

std::string formatted(const ast::Module &module) {
  const std::string text = format(module);
  const SourceFile again("again", text);
  Diagnostics diags;
  const ast::Module reread = parse(again, diags);
  if (diags.hasErrors())
    return "the formatted text does not parse\n" + renderText(diags) + text;
  if (format(reread) != text)
    return "formatting again changes the text\n" + text + "again:\n" + format(reread);
  if (dumpAst(reread) != dumpAst(module))
    return "formatting changes the tree\n" + text;
  return text;
}

std::string run(const fq_test::Input &input) {
  const SourceFile file(input.name, input.text);
  Diagnostics diags;
  const std::string &verb = input.args.front();
  std::string out;
  if (verb == "tokens") {
    out = dumpTokens(file, diags);
  } else {
    const ast::Module module = parse(file, diags);
    if (verb == "json")
      return renderJson(diags);
    if (verb == "ast" && !diags.hasErrors())
      out = dumpAst(module);
    else if (verb == "fmt" && !diags.hasErrors())
      out = formatted(module);
    else if (verb != "check" && verb != "ast" && verb != "fmt")
      return fmt::format("unknown verb {}\n", verb);
  }
  return out + renderText(diags, {.errorLimit = 0});
}

} // namespace

int main(int argc, char **argv) {
  return fq_test::main(argc, argv, "syntax", "syntax/testdata", run);
}
