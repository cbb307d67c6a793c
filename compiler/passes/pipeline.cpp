#include "compiler/passes/pipeline.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace flashqla::passes {
namespace {

bool simplify(ModuleOp module) {
  PassManager manager(module.getContext());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  return succeeded(manager.run(module));
}

} // namespace

bool checkAndPlan(tile::KernelOp kernel, Context &context) {
  auto module = kernel->getParentOfType<ModuleOp>();
  return simplify(module)                  // scalars only: handles have effects
         && assignLayouts(kernel, context) // from uses
         && planShared(kernel, context);   // needs swizzles
}

bool lowerKernel(tile::KernelOp kernel, Context &context) {
  auto module = kernel->getParentOfType<ModuleOp>();
  bool ok = insertFences(kernel, context)     // needs to see copies and products
            && lowerProducts(kernel, context) // needs generations no longer, but surface awaits
            && lowerRings(kernel, context)    //
            && lowerCopies(kernel, context)   // needs slots
            && simplify(module);
  if (ok)
    module->setAttr("tile.stage", StringAttr::get(module.getContext(), "lowered"));
  return ok;
}

} // namespace flashqla::passes
