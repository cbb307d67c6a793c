#include "tests/sim/kernel_checker.h"

#include "compiler/driver/protocol.h"
#include "compiler/passes/pipeline.h"
#include "compiler/syntax/parser.h"
#include "tests/file_test.h"

using namespace flashqla;

namespace fq_test {
namespace {

const std::filesystem::path &root() {
  static const std::filesystem::path folder = testsFolder().parent_path();
  return folder;
}

} // namespace

std::vector<std::string> kernelFiles() {
  std::vector<std::string> files;
  for (const char *folder : {"tests/samples", "kernels"})
    for (const auto &path : filesBelow(root() / folder, {".tile"}))
      files.push_back(path.lexically_relative(root()).string());
  return files;
}

std::string readKernelFile(const std::string &path) { return readFile(root() / path); }

std::vector<std::string> kernelNames(const ast::Module &module) {
  std::vector<std::string> names;
  for (const ast::TopLevel &item : module.items)
    if (const auto *kernel = std::get_if<ast::Kernel>(&item.node))
      names.push_back(kernel->name.text);
  return names;
}

Checker::Checker(mlir::MLIRContext &context, const SourceFile &file) : context(context), ast(parse(file, diags)) {
  frontend::loadDialects(context);
  files.add(file);
}

std::vector<Instance> Checker::instances(const std::string &kernel) {
  std::map<frontend::Bindings, std::vector<frontend::CheckCase>> cases;
  for (frontend::CheckCase &test : frontend::checkCases(ast, kernel, diags))
    cases[test.bindings].push_back(std::move(test));
  std::vector<Instance> made;
  for (auto &[bindings, tests] : cases)
    if (Module module = frontend::instantiate(ast, kernel, bindings, context, diags))
      made.push_back({std::move(module), std::move(tests)});
  return made;
}

bool Checker::rules(Instance &instance) {
  passes::Context pass{files, diags};
  return passes::checkAndPlan(instance.kernel(), pass);
}

bool Checker::lower(Instance &instance) {
  passes::Context pass{files, diags};
  return passes::lowerKernel(instance.kernel(), pass);
}

bool Checker::simulate(Instance &instance) {
  return driver::checkProtocol(instance.kernel(), instance.cases, files, diags, {});
}

Reporter Checker::check(const std::string &kernel, bool lowered) {
  if (diags.hasErrors())
    return Reporter::Frontend;
  std::vector<Instance> all = instances(kernel);
  if (diags.hasErrors())
    return Reporter::Frontend;
  for (Instance &instance : all)
    if (!rules(instance))
      return Reporter::Rules;
  for (Instance &instance : all)
    if (!simulate(instance) || (lowered && (!lower(instance) || !simulate(instance))))
      return Reporter::Simulator;
  return Reporter::Nobody;
}

} // namespace fq_test
