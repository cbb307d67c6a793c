/// What a session keeps, for the files that implement it.
#pragma once

#include "compiler/driver/compile.h"
#include "compiler/ir/location.h"

#include "mlir/IR/MLIRContext.h"

namespace flashqla::driver {

struct Session::State {
  explicit State(const Environment &environment) : environment(environment) {}

  Environment environment;
  std::vector<std::unique_ptr<SourceFile>> files;
  SourceFiles byName;
  Diagnostics diags;
  std::unique_ptr<mlir::MLIRContext> context;

  const SourceFile &add(const std::string &name, std::string text) {
    files.push_back(std::make_unique<SourceFile>(name, std::move(text)));
    byName.add(*files.back());
    return *files.back();
  }
  mlir::MLIRContext &mlir() {
    if (!context) {
      // Kernels are small and several sessions run side by side: threads of one context would only get in the way.
      context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
      frontend::loadDialects(*context);
    }
    return *context;
  }
};

std::vector<const ast::Kernel *> kernelsOf(const ast::Module &module);

/// The kernel of that name, or the only one where the name is empty. Error: kernel-missing.
Expected<std::string> chooseKernel(const ast::Module &module, const std::string &file, const std::string &wanted);

} // namespace flashqla::driver
