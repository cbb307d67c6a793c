/// Rules that one op can check by itself. Each message names both sides. User errors are diagnosed earlier, by the
/// frontend; a verifier error is a bug of the compiler or of hand-written IR.
#include "compiler/ir/tile.h"

using namespace mlir;

namespace flashqla::tile {

Type elementType(Value addressable) {
  Type type = addressable.getType();
  if (auto tensor = dyn_cast<TensorType>(type))
    return tensor.getElementType();
  if (auto shared = dyn_cast<SharedType>(type))
    return shared.getElementType();
  if (auto frag = dyn_cast<FragType>(type))
    return frag.getElementType();
  return cast<ViewType>(type).getElementType();
}

ArrayRef<int64_t> extents(Value addressable) {
  Type type = addressable.getType();
  if (auto shared = dyn_cast<SharedType>(type))
    return shared.getShape();
  if (auto frag = dyn_cast<FragType>(type))
    return frag.getShape();
  return cast<ViewType>(type).getShape();
}

int64_t rank(Value addressable) {
  if (auto tensor = dyn_cast<TensorType>(addressable.getType()))
    return tensor.getRank();
  return extents(addressable).size();
}

Operation *declaration(Value addressable) {
  Operation *op = addressable.getDefiningOp();
  if (auto view = dyn_cast<ViewOp>(op))
    return declaration(view.getBase());
  if (auto slot = dyn_cast<SlotOp>(op))
    return declaration(slot.getRing());
  return op;
}

Space space(Value addressable) {
  Type type = addressable.getType();
  if (isa<TensorType>(type))
    return Space::Global;
  if (isa<SharedType>(type))
    return Space::Shared;
  if (isa<FragType>(type))
    return Space::Register;
  return cast<ViewType>(type).getSpace();
}

LogicalResult KernelOp::verify() {
  for (int64_t regs : getWarpgroupRegs())
    if (regs % 8 != 0 || regs < 24 || regs > 256)
      return emitOpError("register budget ") << regs << " is not a multiple of 8 from 24 to 256";
  if (getResident() < 1)
    return emitOpError("promises ") << getResident() << " CTAs per SM";
  return success();
}

LogicalResult RoleOp::verify() {
  if (warps() != 1 && (warps() % 4 != 0 || getFirstWarp() % 4 != 0))
    return emitOpError("has warps ") << getFirstWarp() << " .. " << getLastWarp()
                                     << ": a role is one warp or whole warpgroups";
  return success();
}

LogicalResult ArgumentOp::verify() {
  if (static_cast<int64_t>(getExtents().size()) != getType().getRank())
    return emitOpError("has ") << getExtents().size() << " extents, its type rank " << getType().getRank();
  return success();
}

LogicalResult ViewOp::verify() {
  int64_t baseRank = rank(getBase());
  if (static_cast<int64_t>(getOffsets().size()) != baseRank || static_cast<int64_t>(getSizes().size()) != baseRank)
    return emitOpError("has ") << getOffsets().size() << " offsets and " << getSizes().size() << " sizes, its base "
                               << baseRank << " dimensions";
  SmallVector<int64_t> kept;
  for (int64_t size : getSizes())
    if (size != 0)
      kept.push_back(size);
  if (llvm::ArrayRef<int64_t>(kept) != getType().getShape())
    return emitOpError("ranges over other extents than its type");
  if (getUntil() && !getUntilDim())
    return emitOpError("has a limit but no `until_dim`");
  if (getType().getElementType() != elementType(getBase()) || getType().getSpace() != space(getBase()))
    return emitOpError("differs from its base in element type or space");
  return success();
}

LogicalResult AwaitOp::verify() {
  bool named = getKind() == AwaitKind::Fragment || getKind() == AwaitKind::Tile || getKind() == AwaitKind::Tensor;
  if (named != static_cast<bool>(getTarget()))
    return emitOpError(named ? "needs a target" : "takes no target");
  return success();
}

LogicalResult CopyOp::verify() {
  if (extents(getTarget()) != extents(getSource()))
    return emitOpError("has windows of different extents");
  if (getBarrier() && !(getKind() == CopyKind::Tma && space(getTarget()) == Space::Shared))
    return emitOpError("completes on a barrier, which only a bulk load does");
  return success();
}

LogicalResult WgmmaOp::verify() {
  auto matrix = [](Value value, bool transposed) -> std::pair<int64_t, int64_t> {
    ArrayRef<int64_t> shape = extents(value);
    return transposed ? std::pair{shape[1], shape[0]} : std::pair{shape[0], shape[1]};
  };
  for (Value operand : {getTarget(), getA(), getB()})
    if (rank(operand) != 2)
      return emitOpError("has an operand of rank ") << rank(operand) << ", not 2";
  auto [m, n] = matrix(getTarget(), false);
  auto [am, ak] = matrix(getA(), getTransposeA());
  auto [bk, bn] = matrix(getB(), getTransposeB());
  if (m != am || n != bn || ak != bk)
    return emitOpError("shapes do not multiply: [") << am << ", " << ak << "] @ [" << bk << ", " << bn << "] into ["
                                                    << m << ", " << n << "]";
  if (space(getB()) != Space::Shared || space(getA()) == Space::Global || space(getTarget()) != Space::Register)
    return emitOpError("takes A from shared memory or registers, B from shared memory, the target in registers");
  return success();
}

LogicalResult MapOp::verify() {
  if (getDomain().size() != getBody().getNumArguments() || getDomain().size() != getNames().size())
    return emitOpError("has ") << getDomain().size() << " extents, " << getNames().size() << " names and "
                               << getBody().getNumArguments() << " coordinates";
  return success();
}

LogicalResult LoadOp::verify() {
  if (static_cast<int64_t>(getIndices().size()) != rank(getSource()))
    return emitOpError("has ") << getIndices().size() << " indices for rank " << rank(getSource());
  Type element = elementType(getSource());
  bool widened = element.isInteger(32) && getResult().getType().isInteger(64);
  if (element != getResult().getType() && !widened)
    return emitOpError("reads ") << element << " as " << getResult().getType();
  return success();
}

LogicalResult StoreOp::verify() {
  if (static_cast<int64_t>(getIndices().size()) != rank(getTarget()))
    return emitOpError("has ") << getIndices().size() << " indices for rank " << rank(getTarget());
  Type element = elementType(getTarget());
  bool narrowed = element.isInteger(32) && getValue().getType().isInteger(64);
  if (element != getValue().getType() && !narrowed)
    return emitOpError("writes ") << getValue().getType() << " to " << element;
  if (!(*this)->getParentOfType<MapOp>())
    return emitOpError("stands outside a map");
  return success();
}

LogicalResult InverseOp::verify() {
  for (Value operand : {getTarget(), getSource()})
    if (extents(operand) != ArrayRef<int64_t>{64, 64} || !elementType(operand).isF32())
      return emitOpError("takes 64 x 64 f32 fragments, not ") << operand.getType();
  return success();
}

} // namespace flashqla::tile
