// Golden files of the passes.
//
//   // RUN: check [NAME=VALUE…]         diagnostics of every kernel of the file, at its `check`
//   cases or, with bindings
//                                       or without cases, once
//   // RUN: plan KERNEL [NAME=VALUE…]   the planned IR of one kernel: layouts, addresses
//   // RUN: lower KERNEL [NAME=VALUE…]  the lowered IR of one kernel
//   // RUN: emit KERNEL [NAME=VALUE…]   what printing one kernel as CUDA has to say, without the
//   text

#include "compiler/codegen/emit_kernel.h"
#include "compiler/frontend/frontend.h"
#include "compiler/passes/pipeline.h"
#include "compiler/support/render.h"
#include "compiler/syntax/parser.h"
#include "tests/file_test.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

#include <fmt/format.h>

using namespace flashqla;

namespace {

/// A parsed file and what is said about it.
struct Session {
  explicit Session(const fq_test::Input &input)
      : file(input.name, input.text), module(parse(file, diags)) {
    files.add(file);
    frontend::loadDialects(context);
  }

  SourceFile file;
  Diagnostics diags;
  ast::Module module;
  SourceFiles files;
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
};

enum class Stage { Planned, Lowered, Emitted };

/// The IR of a kernel after a stage; empty after an error.
std::string compile(Session &session, std::string_view kernel, const frontend::Bindings &bindings,
                    Stage stage) {
  auto module =
      frontend::instantiate(session.module, kernel, bindings, session.context, session.diags);
  if (!module)
    return "";
  passes::Context context{session.files, session.diags};
  auto op = *module->getBody()->getOps<tile::KernelOp>().begin();
  if (!passes::checkAndPlan(op, context) ||
      (stage != Stage::Planned && !passes::lowerKernel(op, context)))
    return "";
  if (mlir::failed(mlir::verify(*module)))
    return "the IR does not verify\n";
  if (stage == Stage::Emitted)
    return codegen::emitKernel(op, session.files, session.diags) ? "emitted\n" : "";
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  return text + "\n";
}

void check(Session &session, const frontend::Bindings &bindings) {
  for (const ast::TopLevel &item : session.module.items) {
    const auto *kernel = std::get_if<ast::Kernel>(&item.node);
    if (!kernel)
      continue;
    auto cases = frontend::checkCases(session.module, kernel->name.text, session.diags);
    if (!bindings.empty() || cases.empty()) {
      compile(session, kernel->name.text, bindings, Stage::Planned);
      continue;
    }
    for (const frontend::CheckCase &read : cases)
      compile(session, kernel->name.text, read.bindings, Stage::Planned);
  }
}

std::string run(const fq_test::Input &input) {
  Session session(input);
  const std::string &verb = input.args.front();
  frontend::Bindings bindings;
  for (const std::string &word : input.args)
    if (const size_t equals = word.find('='); equals != std::string::npos) {
      auto value = frontend::parseConstant(std::string_view(word).substr(equals + 1));
      if (!value)
        return fmt::format("`{}` is no binding\n", word);
      bindings[word.substr(0, equals)] = *value;
    }
  if (verb != "check" && input.args.size() < 2)
    return fmt::format("{} needs the name of a kernel\n", verb);
  std::string out;
  if (!session.diags.hasErrors()) {
    if (verb == "check")
      check(session, bindings);
    else if (verb == "plan")
      out = compile(session, input.args[1], bindings, Stage::Planned);
    else if (verb == "lower")
      out = compile(session, input.args[1], bindings, Stage::Lowered);
    else if (verb == "emit")
      out = compile(session, input.args[1], bindings, Stage::Emitted);
    else
      return fmt::format("unknown verb {}\n", verb);
  }
  return out + renderText(session.diags, {.errorLimit = 0});
}

} // namespace

int main(int argc, char **argv) {
  return fq_test::main(argc, argv, "passes", "passes/testdata", run);
}
