#include "compiler/sim/decoder.h"

using namespace mlir;
using namespace flashqla::tile;

namespace flashqla::sim {

DecodedKernel decode(KernelOp kernel) { return Decoder(kernel).run(); }

Where Decoder::place(Operation *op) {
  auto [found, fresh] = wheres.try_emplace(op, static_cast<Where>(result.places.size()));
  if (fresh)
    result.places.push_back(op);
  return found->second;
}

Reg Decoder::newReg(bool real, bool lane) {
  int32_t &count = lane ? (real ? map->reals : map->ints) : (real ? program.reals : program.ints);
  return {count++, real, lane};
}

Reg Decoder::reg(Value value) {
  if (!value)
    return {};
  auto found = registers.find(value);
  assert(found != registers.end() && "values are decoded before their uses");
  return found->second;
}

Element Decoder::element(Type type) {
  if (type.isBF16())
    return Element::BF16;
  if (type.isF16())
    return Element::F16;
  if (type.isF32())
    return Element::F32;
  if (type.isInteger(1))
    return Element::Bool;
  return type.isInteger(32) ? Element::I32 : Element::I64;
}

Step &Decoder::step(StepKind kind, Operation &op) {
  steps->emplace_back();
  steps->back().kind = kind;
  steps->back().where = place(&op);
  return steps->back();
}

DecodedKernel Decoder::run() {
  program.kernel = kernel.getSymName().str();
  auto stage = kernel->getParentOp()->getAttrOfType<StringAttr>("tile.stage");
  program.lowered = stage && stage.getValue() == "lowered";
  for (auto axis : kernel.getGrid().getAsRange<DictionaryAttr>())
    program.grid.push_back({axis.getAs<StringAttr>("name").str(), axis.getAs<StringAttr>("extent").str()});
  if (auto maps = kernel->getAttrOfType<ArrayAttr>("tensor_maps"))
    for (auto recipe : maps.getAsRange<DictionaryAttr>()) {
      ArrayRef<int64_t> dims = recipe.getAs<DenseI64ArrayAttr>("dims"), boxes = recipe.getAs<DenseI64ArrayAttr>("boxes");
      program.boxes.push_back({dims.vec(), boxes.vec(), recipe.getAs<BoolAttr>("ragged").getValue()});
    }
  steps = &program.prologue;
  Block &body = kernel.getBody().front();
  for (Operation &op : body)
    if (!isa<RoleOp>(op))
      declare(op);
  step(StepKind::End, *kernel);
  for (auto role : body.getOps<RoleOp>()) // barriers name roles by their place in the kernel
    decodeRole(role);
  return std::move(result);
}

void Decoder::declare(Operation &op) {
  if (auto argument = dyn_cast<ArgumentOp>(op)) {
    TensorObject tensor{argument.getName().str(), element(argument.getType().getElementType()),
                        argument.getAccess() != tile::Access::Out, argument.getAccess() != tile::Access::In, {}};
    for (Value extent : argument.getExtents())
      tensor.extents.push_back(reg(extent));
    objects[&op] = program.tensors.size();
    program.tensors.push_back(std::move(tensor));
  } else if (auto shared = dyn_cast<SharedOp>(op)) {
    SharedType type = shared.getType();
    SharedObject object{shared.getName().str(), type.getSlots(), type.getShape().vec(), element(type.getElementType()),
                        type.getShape().back(), 0};
    if (shared.getSwizzle()) {
      SharedLayout layout = layoutOf(shared);
      object.panelBytes = layout.panelBytes();
      if (layout.swizzleBytes())
        object.panelColumns = layout.panelColumns();
    }
    objects[&op] = program.shared.size();
    program.shared.push_back(std::move(object));
  } else if (auto barrier = dyn_cast<BarrierOp>(op)) {
    BarrierObject object{barrier.getName().str(), barrier.getType().getSlots(), {}, place(&op)};
    for (auto name : barrier.getArrivers().getAsRange<StringAttr>()) {
      uint32_t index = 0;
      for (auto role : kernel.getBody().front().getOps<RoleOp>()) {
        if (role.getName() == name.getValue())
          object.arrivers.push_back(index);
        ++index;
      }
    }
    objects[&op] = program.barriers.size();
    program.barriers.push_back(std::move(object));
  } else if (isa<DimOp, AxisOp, ScalarOp>(op)) {
    Value value = op.getResult(0);
    define(value, false);
    auto kind = isa<DimOp>(op) ? LaunchValue::Dim : isa<AxisOp>(op) ? LaunchValue::Axis : LaunchValue::Scalar;
    program.launchValues.push_back({op.getAttrOfType<StringAttr>("name").str(), reg(value), kind});
  } else {
    decodeOp(op);
  }
}

void Decoder::decodeRole(RoleOp role) {
  program.roles.push_back({role.getName().str(), role.warps(), {}});
  size_t index = program.roles.size() - 1;
  steps = &program.roles[index].steps;
  decodeBlock(role.getBody().front());
  step(StepKind::End, *role);
}

void Decoder::decodeBlock(Block &block) {
  for (Operation &op : block)
    decodeOp(op);
}

void Decoder::decodeOp(Operation &op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    decodeFor(loop);
  else if (auto branch = dyn_cast<scf::IfOp>(op))
    decodeIf(branch);
  else if (!isa<scf::YieldOp>(op))
    decodeStep(op);
}

void Decoder::decodeFor(scf::ForOp loop) {
  program.steeredByData |= dependsOnData(loop.getLowerBound()) || dependsOnData(loop.getUpperBound()) ||
                           dependsOnData(loop.getStep());
  define(loop.getInductionVar(), false);
  Step &enter = step(StepKind::Move, *loop);
  for (auto [argument, init, value] : llvm::zip_equal(loop.getRegionIterArgs(), loop.getInitArgs(), loop.getResults())) {
    define(argument, false);
    registers[value] = reg(argument);
    enter.moves.push_back({reg(argument), reg(init)});
  }
  enter.moves.push_back({reg(loop.getInductionVar()), reg(loop.getLowerBound())});
  const int32_t head = static_cast<int32_t>(steps->size());
  Step &test = step(StepKind::LoopTest, *loop); // condition: counter and bound
  test.moves.push_back({reg(loop.getInductionVar()), reg(loop.getUpperBound())});
  decodeBlock(*loop.getBody());
  Step &next = step(StepKind::Move, *loop);
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  for (auto [argument, value] : llvm::zip_equal(loop.getRegionIterArgs(), yield.getOperands()))
    next.moves.push_back({reg(argument), reg(value)});
  Step &advance = step(StepKind::Scalar, *loop);
  advance.scalar = {LaneOp::AddI, reg(loop.getInductionVar()), reg(loop.getInductionVar()), reg(loop.getStep()), {}, 0, 0};
  step(StepKind::Jump, *loop).target = head;
  (*steps)[head].target = static_cast<int32_t>(steps->size());
}

void Decoder::decodeIf(scf::IfOp branch) {
  program.steeredByData |= dependsOnData(branch.getCondition());
  for (Value value : branch.getResults())
    define(value, false);
  auto yields = [&](Region &region) {
    auto yield = dyn_cast<scf::YieldOp>(region.front().getTerminator());
    if (!yield || yield.getNumOperands() == 0)
      return;
    Step &move = step(StepKind::Move, *branch);
    for (auto [result, value] : llvm::zip_equal(branch.getResults(), yield.getOperands()))
      move.moves.push_back({reg(result), reg(value)});
  };
  const size_t test = steps->size();
  step(StepKind::JumpUnless, *branch).condition = reg(branch.getCondition());
  decodeBlock(branch.getThenRegion().front());
  yields(branch.getThenRegion());
  if (branch.getElseRegion().empty()) {
    (*steps)[test].target = static_cast<int32_t>(steps->size());
    return;
  }
  const size_t skip = steps->size();
  step(StepKind::Jump, *branch);
  (*steps)[test].target = static_cast<int32_t>(steps->size());
  decodeBlock(branch.getElseRegion().front());
  yields(branch.getElseRegion());
  (*steps)[skip].target = static_cast<int32_t>(steps->size());
}

bool Decoder::decodeBarrierUse(Operation &op) {
  auto use = [&](StepKind kind, Value barrier, Value base, uint64_t offset, Value slot) -> Step & {
    Step &made = step(kind, op);
    made.barrier = objects[barrier.getDefiningOp()];
    made.generation = generation(base, offset);
    made.slot = reg(slot);
    return made;
  };
  if (auto wait = dyn_cast<WaitOp>(op))
    use(StepKind::Wait, wait.getBarrier(), wait.getGeneration(), wait.getOffset(), {});
  else if (auto arrive = dyn_cast<ArriveOp>(op))
    use(StepKind::Arrive, arrive.getBarrier(), arrive.getGeneration(), arrive.getOffset(), {});
  else if (auto wait = dyn_cast<WaitParityOp>(op))
    use(StepKind::Wait, wait.getBarrier(), wait.getGeneration(), wait.getOffset(), wait.getSlot()).parity =
        reg(wait.getParity());
  else if (auto arrive = dyn_cast<ArriveSlotOp>(op)) {
    Step &made = use(StepKind::Arrive, arrive.getBarrier(), arrive.getGeneration(), arrive.getOffset(), arrive.getSlot());
    made.guard = reg(arrive.getGuard());
    made.bytes = arrive.getTxBytes();
  } else if (auto expect = dyn_cast<ExpectTxOp>(op))
    use(StepKind::Announce, expect.getBarrier(), expect.getGeneration(), expect.getOffset(), expect.getSlot()).bytes =
        expect.getBytes();
  else
    return false;
  return true;
}

bool Decoder::decodeAwait(Operation &op) {
  if (auto wait = dyn_cast<WaitGroupOp>(op)) {
    step(StepKind::AwaitProducts, op).keep = wait.getKeep();
  } else if (auto wait = dyn_cast<WaitStoresOp>(op)) {
    Step &made = step(StepKind::AwaitStores, op);
    made.keep = wait.getKeep();
    made.read = wait.getRead();
  } else if (auto await = dyn_cast<AwaitOp>(op)) {
    switch (await.getKind()) {
    case AwaitKind::Fragment:
      step(StepKind::AwaitFragment, op).to = reference(await.getTarget());
      break;
    case AwaitKind::Tile:
      step(StepKind::AwaitTile, op).from = reference(await.getTarget());
      break;
    case AwaitKind::Tensor:
      step(StepKind::AwaitStores, op);
      break;
    case AwaitKind::Wgmma:
      step(StepKind::AwaitProducts, op).keep = await.getKeep();
      break;
    case AwaitKind::CopyTma:
      step(StepKind::AwaitStores, op).keep = await.getKeep();
      break;
    case AwaitKind::CopyAsync:
      step(StepKind::AwaitCopies, op).keep = await.getKeep();
      break;
    }
  } else {
    return false;
  }
  return true;
}

void Decoder::decodeStep(Operation &op) {
  std::vector<LaneInstr> scalars;
  if (isa<ViewOp, SlotOp>(op) || decodeBarrierUse(op) || decodeAwait(op) || decodeBulk(op))
    return;
  if (decodeScalar(op, scalars)) {
    for (LaneInstr &scalar : scalars)
      step(StepKind::Scalar, op).scalar = scalar;
  } else if (isa<SyncOp>(op)) {
    step(StepKind::Sync, op);
  } else if (auto fence = dyn_cast<FenceProxyOp>(op)) {
    step(StepKind::Fence, op).tensors = fence.getGlobal();
  } else if (auto frag = dyn_cast<FragOp>(op)) {
    objects[&op] = program.fragments.size();
    program.fragments.push_back({frag.getName().str(), frag.getType().getShape().vec(),
                                 element(frag.getType().getElementType())});
    step(StepKind::DeclareFragment, op).to = reference(frag.getResult());
  } else if (auto copy = dyn_cast<CopyOp>(op)) {
    decodeCopy(copy);
  } else if (isa<WgmmaOp, WgmmaGroupOp>(op)) {
    decodeProduct(op);
  } else if (auto map = dyn_cast<MapOp>(op)) {
    decodeMap(map);
  } else if (isa<LoadOp, ReduceOp>(op)) {
    decodeUniform(op);
  } else if (auto inverse = dyn_cast<InverseOp>(op)) {
    Step &made = step(StepKind::Inverse, op);
    made.to = reference(inverse.getTarget());
    made.from = reference(inverse.getSource());
    made.other = reference(inverse.getScratch());
  } else if (auto assertion = dyn_cast<AssertOp>(op)) {
    Step &made = step(StepKind::Assert, op);
    made.condition = reg(assertion.getCondition());
    made.text = assertion.getMessage().str();
  } else if (isa<CommitStoresOp>(op)) {
    step(StepKind::CommitStores, op);
  } else {
    llvm_unreachable("an op of a role without a meaning in the simulator");
  }
}

} // namespace flashqla::sim
