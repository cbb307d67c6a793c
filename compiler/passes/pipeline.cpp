#include "compiler/passes/pipeline.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace flashqla::passes {
namespace {

/// select(c, round(x), round(y)) → round(select(c, x, y)), also for a constant arm: a store then rounds once.
struct RoundAfterSelect : OpRewritePattern<arith::SelectOp> {
  using OpRewritePattern::OpRewritePattern;

  /// The value before it was rounded, exactly representable constants included; null if there is none.
  static Value wide(Value value, PatternRewriter &rewriter) {
    if (auto round = value.getDefiningOp<arith::TruncFOp>())
      return round.getIn().getType().isF32() ? round.getIn() : Value();
    APFloat constant(0.0f);
    if (!matchPattern(value, m_ConstantFloat(&constant)))
      return {};
    bool lossy = false;
    constant.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &lossy);
    return arith::ConstantOp::create(rewriter, value.getLoc(), rewriter.getF32FloatAttr(constant.convertToFloat()));
  }

  LogicalResult matchAndRewrite(arith::SelectOp select, PatternRewriter &rewriter) const override {
    Type type = select.getType();
    if (!type.isBF16() && !type.isF16())
      return rewriter.notifyMatchFailure(select, "no 16-bit floats");
    if (!select.getTrueValue().getDefiningOp<arith::TruncFOp>() && !select.getFalseValue().getDefiningOp<arith::TruncFOp>())
      return rewriter.notifyMatchFailure(select, "neither arm is rounded here");
    Value whenTrue = wide(select.getTrueValue(), rewriter), whenFalse = wide(select.getFalseValue(), rewriter);
    if (!whenTrue || !whenFalse)
      return rewriter.notifyMatchFailure(select, "an arm is not rounded here");
    Value chosen = arith::SelectOp::create(rewriter, select.getLoc(), select.getCondition(), whenTrue, whenFalse);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(select, type, chosen);
    return success();
  }
};

bool simplify(ModuleOp module) {
  RewritePatternSet patterns(module.getContext());
  patterns.add<RoundAfterSelect>(module.getContext());
  if (failed(applyPatternsGreedily(module, std::move(patterns))))
    return false;
  PassManager manager(module.getContext());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  return succeeded(manager.run(module));
}

/// All of them, so that one compile reports what each has to say.
bool checkProtocol(tile::KernelOp kernel, Context &context) {
  bool barriers = checkBarriers(kernel, context), sync = checkSync(kernel, context);
  bool async = checkAsync(kernel, context), release = checkRelease(kernel, context);
  return barriers && sync && async && release;
}

} // namespace

bool checkAndPlan(tile::KernelOp kernel, Context &context) {
  auto module = kernel->getParentOfType<ModuleOp>();
  return simplify(module)                  // scalars only: handles have effects
         && checkProtocol(kernel, context) // what the author wrote, before anything is derived from it
         && assignLayouts(kernel, context) // from uses
         && checkStructure(kernel, context) // needs layouts
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
