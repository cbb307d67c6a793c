/// tile-opt: mlir-opt with the tile dialect and its passes, for looking at one pass at a time.
///
///     flashqlac compile k.tile --emit=tile -o k.mlir
///     tile-opt k.mlir --tile-assign-layouts --tile-plan-shared --tile-lower-rings
///
/// Mistakes of the author are printed without source lines: the `.tile` text is not at hand here.
#include "compiler/passes/pipeline.h"
#include "compiler/support/render.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

using namespace flashqla;

namespace {

using KernelFunction = bool (*)(tile::KernelOp, passes::Context &);

/// One of the compiler's functions on a kernel, as a pass.
class KernelPass : public mlir::PassWrapper<KernelPass, mlir::OperationPass<mlir::ModuleOp>> {
public:
  KernelPass(llvm::StringRef argument, llvm::StringRef description, KernelFunction function)
      : argument(argument), description(description), function(function) {}
  llvm::StringRef getArgument() const final { return argument; }
  llvm::StringRef getDescription() const final { return description; }

  void runOnOperation() final {
    SourceFiles files;
    Diagnostics diags;
    passes::Context context{files, diags};
    llvm::SmallVector<tile::KernelOp> kernels(getOperation().getOps<tile::KernelOp>());
    for (tile::KernelOp kernel : kernels)
      if (!function(kernel, context))
        signalPassFailure();
    llvm::errs() << renderText(diags);
  }

private:
  llvm::StringRef argument, description;
  KernelFunction function;
};

void registerKernelPass(llvm::StringRef argument, llvm::StringRef description, KernelFunction function) {
  mlir::registerPass([=] { return std::make_unique<KernelPass>(argument, description, function); });
}

} // namespace

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<tile::TileDialect, mlir::arith::ArithDialect, mlir::math::MathDialect, mlir::scf::SCFDialect>();
  mlir::registerTransformsPasses();
  registerKernelPass("tile-assign-layouts", "swizzles of shared tiles, layouts of fragments", passes::assignLayouts);
  registerKernelPass("tile-plan-shared", "addresses in shared memory, arrival counts", passes::planShared);
  registerKernelPass("tile-check-and-plan", "all checks and plans of the surface stage", passes::checkAndPlan);
  registerKernelPass("tile-insert-fences", "fences between generic writes and the async proxy", passes::insertFences);
  registerKernelPass("tile-lower-products", "packed operands, counted awaits", passes::lowerProducts);
  registerKernelPass("tile-lower-rings", "generations as slots and parities", passes::lowerRings);
  registerKernelPass("tile-lower-copies", "tensor maps, boxes, byte counts", passes::lowerCopies);
  registerKernelPass("tile-lower", "all of the lowering", passes::lowerKernel);
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "tile-opt\n", registry));
}
