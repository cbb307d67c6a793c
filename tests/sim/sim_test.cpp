// Golden files of the simulator.
//
//   // RUN: check [redundant]        all that `flashqlac check` says about the file
//   // RUN: simulate [NAME=VALUE…]   (.mlir) findings in a kernel given as IR, at these dims

#include "compiler/driver/compile.h"
#include "compiler/frontend/frontend.h"
#include "compiler/sim/report.h"
#include "compiler/support/render.h"
#include "tests/file_test.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <fmt/format.h>

using namespace flashqla;

namespace {

std::string check(const fq_test::Input &input) {
  driver::Session session(Environment{});
  const bool redundant = input.args.size() > 1 && input.args[1] == "redundant";
  const bool clean = session.check(input.name, input.text, redundant);
  return renderText(session.diagnostics()) + (clean ? "no mistakes\n" : "");
}

std::string simulate(const fq_test::Input &input) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  frontend::loadDialects(context);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(input.text, mlir::ParserConfig(&context), input.name);
  if (!module)
    return "the IR does not parse\n";
  sim::SimLaunch launch;
  launch.values = false;
  for (const std::string &word : input.args)
    if (const size_t equals = word.find('='); equals != std::string::npos)
      launch.dims[word.substr(0, equals)] = std::stoll(word.substr(equals + 1));
  const sim::DecodedKernel kernel = sim::decode(*module->getOps<tile::KernelOp>().begin());
  Expected<sim::SimResult> result = sim::simulate(kernel.program, launch);
  if (!result)
    return result.error().text() + "\n";
  const SourceFile file(input.name, input.text);
  SourceFiles files;
  files.add(file);
  Diagnostics diags;
  sim::report(*result, kernel, "in this test", files, diags);
  return diags.all().empty() ? "no mistakes\n" : renderText(diags);
}

std::string run(const fq_test::Input &input) {
  if (input.args.front() == "check")
    return check(input);
  if (input.args.front() == "simulate")
    return simulate(input);
  return fmt::format("unknown verb {}\n", input.args.front());
}

} // namespace

int main(int argc, char **argv) { return fq_test::main(argc, argv, "sim", "sim/testdata", run); }
