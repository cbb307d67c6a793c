// Golden files of the frontend.
//
//   // RUN: check                       the diagnostics of the whole module
//   // RUN: lower KERNEL [NAME=VALUE…]  the IR of one instantiation, or the diagnostics
//   // RUN: locations KERNEL            the same with locations
//   // RUN: cases KERNEL                the kernel's `check` cases

#include "compiler/frontend/frontend.h"
#include "compiler/support/render.h"
#include "compiler/syntax/parser.h"
#include "tests/file_test.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace flashqla;

namespace {

std::string printed(mlir::ModuleOp module, bool locations) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  mlir::OpPrintingFlags flags;
  if (locations)
    flags.enableDebugInfo(true, /*prettyForm=*/true);
  module->print(stream, flags);
  return text + "\n";
}

std::string lower(const ast::Module &module, const fq_test::Input &input, Diagnostics &diags) {
  frontend::Bindings bindings;
  for (size_t i = 2; i < input.args.size(); ++i) {
    const std::string &binding = input.args[i];
    const size_t equals = binding.find('=');
    auto value = frontend::parseConstant(std::string_view(binding).substr(equals + 1));
    if (equals == std::string::npos || !value)
      return fmt::format("`{}` is no binding\n", binding);
    bindings[binding.substr(0, equals)] = *value;
  }
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  frontend::loadDialects(context);
  auto lowered = frontend::instantiate(module, input.args[1], bindings, context, diags);
  if (!lowered)
    return "";
  if (mlir::failed(mlir::verify(*lowered)))
    return "the IR does not verify\n";
  return printed(*lowered, input.args.front() == "locations");
}

std::string caseText(const frontend::CheckCase &read) {
  std::string text = "case";
  for (const auto &[name, value] : read.bindings)
    text += fmt::format(" {}={}", name, frontend::constantText(value));
  text += "\n";
  for (const auto &[name, value] : read.dims)
    text += fmt::format("  dim {} = {}\n", name, value);
  for (const auto &[name, value] : read.scalars)
    text += fmt::format("  scalar {} = {}\n", name, frontend::constantText(value));
  for (const auto &[name, values] : read.tables)
    text += fmt::format("  table {} = {}\n", name, values);
  return text;
}

std::string run(const fq_test::Input &input) {
  const SourceFile file(input.name, input.text);
  Diagnostics diags;
  const ast::Module module = parse(file, diags);
  const std::string &verb = input.args.front();
  std::string out;
  if (diags.hasErrors()) {
    out = "";
  } else if (verb == "check") {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    frontend::loadDialects(context);
    frontend::checkModule(module, context, diags);
  } else if (verb == "lower" || verb == "locations") {
    out = lower(module, input, diags);
  } else if (verb == "cases") {
    for (const frontend::CheckCase &read : frontend::checkCases(module, input.args[1], diags))
      out += caseText(read);
  } else {
    return fmt::format("unknown verb {}\n", verb);
  }
  return out + renderText(diags, {.errorLimit = 0});
}

} // namespace

int main(int argc, char **argv) {
  return fq_test::main(argc, argv, "frontend", "frontend/testdata", run);
}
