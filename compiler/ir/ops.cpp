/// Behaviour of the ops that is more than their definition: integer ranges and memory effects.
#include "compiler/ir/tile.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "compiler/ir/TileOps.cpp.inc"

namespace flashqla::tile {
namespace {

ConstantIntRanges signedRange(int64_t lowest, int64_t highest) {
  return ConstantIntRanges::fromSigned(APInt(64, lowest, /*isSigned=*/true), APInt(64, highest, /*isSigned=*/true));
}
constexpr int64_t int32Lowest = INT32_MIN, int32Highest = INT32_MAX;

} // namespace

FragmentLayout LayoutAttr::layout() const {
  SmallVector<int64_t> shape(getShape());
  std::vector<int64_t> extents(shape.begin(), shape.end());
  FragmentLayout whole = getKind() == LayoutKind::Accumulator
                             ? FragmentLayout::accumulator(shape[0], shape[1], getWarps())
                             : FragmentLayout::vector(extents, getWarps(), getPiece());
  return whole.keep(std::vector<int>(getKeep().begin(), getKeep().end()));
}

FragmentLayout layoutOf(FragOp frag) { return frag.getLayoutAttr().layout(); }

SharedLayout layoutOf(SharedOp shared) {
  ArrayRef<int64_t> shape = shared.getType().getShape();
  Swizzle swizzle = shared.getSwizzle().value_or(Swizzle::None);
  int64_t bytes = swizzle == Swizzle::None ? 0 : 16 << static_cast<int64_t>(swizzle);
  return SharedLayout({shape.begin(), shape.end()}, elementBytes(shared.getType().getElementType()), bytes);
}

int64_t elementBytes(Type type) { return std::max<int64_t>(type.getIntOrFloatBitWidth() / 8, 1); }

void DimOp::inferResultRanges(ArrayRef<ConstantIntRanges>, SetIntRangeFn setResultRange) {
  setResultRange(getResult(), signedRange(0, int32Highest));
}

void AxisOp::inferResultRanges(ArrayRef<ConstantIntRanges>, SetIntRangeFn setResultRange) {
  setResultRange(getResult(), signedRange(0, int32Highest - 1));
}

void MapOp::inferResultRanges(ArrayRef<ConstantIntRanges>, SetIntRangeFn setResultRange) {
  for (auto [extent, argument] : llvm::zip_equal(getDomain(), getBody().getArguments()))
    setResultRange(argument, signedRange(0, extent - 1));
}

void LoadOp::inferResultRanges(ArrayRef<ConstantIntRanges>, SetIntRangeFn setResultRange) {
  if (!getResult().getType().isInteger(64))
    return;
  bool narrow = elementType(getSource()).isInteger(32);
  setResultRange(getResult(), narrow ? signedRange(int32Lowest, int32Highest) : signedRange(INT64_MIN, INT64_MAX));
}

/// Reads of `in` tensors have no effect, so that equal ones merge; but they are not speculatable, because an index may
/// be out of range where the program does not evaluate it.
void LoadOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  if (auto argument = getSource().getDefiningOp<ArgumentOp>(); argument && argument.getAccess() == Access::In)
    return;
  effects.emplace_back(MemoryEffects::Read::get());
}

void ReduceOp::inferResultRanges(ArrayRef<ConstantIntRanges> operands, SetIntRangeFn setResultRange) {
  int64_t lowest = operands[0].smin().getSExtValue(), highest = operands[1].smax().getSExtValue();
  setResultRange(getBody().getArgument(0), signedRange(lowest, std::max(lowest, highest - 1)));
  if (!getResult().getType().isInteger(64))
    return;
  // A count over at most 2^31 terms of 0 or 1 is the everyday case; anything else is not narrowed.
  auto yielded = cast<YieldOp>(getBody().front().getTerminator()).getValue();
  auto extend = yielded.getDefiningOp<arith::ExtUIOp>();
  bool counts = extend && extend.getIn().getType().isInteger(1);
  if (auto select = yielded.getDefiningOp<arith::SelectOp>())
    counts = matchPattern(select.getTrueValue(), m_One()) && matchPattern(select.getFalseValue(), m_Zero());
  if (getKind() == ReduceKind::Sum && counts && highest - lowest <= int32Highest && highest >= lowest)
    setResultRange(getResult(), signedRange(0, highest - lowest));
  else
    setResultRange(getResult(), signedRange(INT64_MIN, INT64_MAX));
}

} // namespace flashqla::tile
