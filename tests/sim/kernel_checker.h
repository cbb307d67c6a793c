// The kernels of the tree, and what the frontend, the static rules and the simulator say of them or of changes to them.
//
//   Checker checker(context, file);
//   for (Instance &instance : checker.instances("gemm_nt"))      // one for each set of bindings in its `check` cases
//     checker.rules(instance) && checker.simulate(instance);
#pragma once

#include "compiler/frontend/frontend.h"
#include "compiler/ir/location.h"
#include "compiler/ir/tile.h"

namespace fq_test {

using Module = mlir::OwningOpRef<mlir::ModuleOp>;

/// Paths relative to the source tree.
std::vector<std::string> kernelFiles();
std::string readKernelFile(const std::string &path);
std::vector<std::string> kernelNames(const flashqla::ast::Module &module);

/// A kernel for one set of bindings.
struct Instance {
  Module module;
  std::vector<flashqla::frontend::CheckCase> cases;

  flashqla::tile::KernelOp kernel() { return *module->getOps<flashqla::tile::KernelOp>().begin(); }
};

enum class Reporter { Nobody, Frontend, Rules, Simulator };

class Checker {
public:
  Checker(mlir::MLIRContext &context, const flashqla::SourceFile &file);

  std::vector<Instance> instances(const std::string &kernel);
  bool rules(Instance &instance);
  bool lower(Instance &instance);
  bool simulate(Instance &instance);
  /// Who is the first to report an error in a kernel.
  Reporter check(const std::string &kernel, bool lowered = false);

  mlir::MLIRContext &context;
  flashqla::Diagnostics diags;
  flashqla::SourceFiles files;
  flashqla::ast::Module ast;
};

} // namespace fq_test
