/// Decoding of windows, copies and products.
#include "compiler/sim/decoder.h"

using namespace mlir;
using namespace flashqla::tile;

namespace flashqla::sim {

Generation Decoder::generation(Value base, uint64_t offset) {
  return {reg(base), static_cast<int64_t>(offset)};
}

Reference Decoder::reference(Value addressable) {
  Reference made;
  Operation *object = declaration(addressable);
  made.object = objects[object];
  made.where = place(addressable.getDefiningOp());
  Value base = addressable;
  if (auto view = addressable.getDefiningOp<ViewOp>()) {
    base = view.getBase();
    for (Value offset : view.getOffsets()) {
      made.offsets.push_back(reg(offset));
      program.steeredByData |= dependsOnData(offset);
    }
    made.sizes = view.getSizes().vec();
    made.until = reg(view.getUntil());
    if (view.getUntil())
      made.untilDim = static_cast<int>(*view.getUntilDim());
    made.generation = generation(view.getGeneration(), view.getGenerationOffset());
  } else {
    made.where = nowhere; // the declaration: the statement says it better
  }
  if (auto slot = base.getDefiningOp<SlotOp>()) {
    made.slot = reg(slot.getSlot());
    made.generation = generation(slot.getGeneration(), slot.getOffset());
  }
  if (made.generation.base)
    program.steeredByData |= onData.lookup(addressable);
  switch (space(addressable)) {
  case tile::Space::Global:
    made.space = Space::Tensor;
    break;
  case tile::Space::Shared:
    made.space = Space::Shared;
    made.ring = cast<SharedOp>(object).getType().getSlots() > 1;
    break;
  case tile::Space::Register:
    made.space = Space::Fragment;
    break;
  }
  if (!isa<tile::TensorType>(addressable.getType()))
    made.shape = extents(addressable).vec();
  return made;
}

void Decoder::decodeCopy(CopyOp copy) {
  StepKind kind = copy.getKind() == CopyKind::Tma     ? StepKind::BulkCopy
                  : copy.getKind() == CopyKind::Async ? StepKind::AsyncCopy
                                                      : StepKind::PlainCopy;
  Step &made = step(kind, *copy);
  made.to = reference(copy.getTarget());
  made.from = reference(copy.getSource());
  if (auto type = copy.getCast()) {
    made.casts = true;
    made.cast = element(*type);
  }
  if (copy.getBarrier()) {
    made.barrier = objects[copy.getBarrier().getDefiningOp()];
    made.generation = generation(copy.getGeneration(), copy.getOffset());
  }
}

bool Decoder::decodeBulk(Operation &op) {
  auto coordinates = [&](Step &made, OperandRange values) {
    for (Value value : values)
      made.coordinates.push_back(reg(value));
  };
  if (auto load = dyn_cast<TmaLoadOp>(op)) {
    Step &made = step(StepKind::BoxLoad, op);
    made.to = reference(load.getTarget());
    made.from.object = objects[declaration(load.getTensor())];
    made.barrier = objects[load.getBarrier().getDefiningOp()];
    made.generation = generation(load.getGeneration(), load.getOffset());
    made.slot = reg(load.getSlot());
    made.bytes = load.getBytes();
    made.byte = load.getTargetByte();
    made.map = load.getMap();
    coordinates(made, load.getCoordinates());
  } else if (auto store = dyn_cast<TmaStoreOp>(op)) {
    Step &made = step(StepKind::BoxStore, op);
    made.from = reference(store.getSource());
    made.to.object = objects[declaration(store.getTensor())];
    made.bytes = store.getBytes();
    made.byte = store.getSourceByte();
    made.map = store.getMap();
    coordinates(made, store.getCoordinates());
  } else {
    return false;
  }
  return true;
}

void Decoder::decodeProduct(Operation &op) {
  Step &made = step(StepKind::Product, op);
  auto fill = [&](auto product) {
    made.to = reference(product.getTarget());
    made.from = reference(product.getA());
    made.other = reference(product.getB());
    made.transposeA = product.getTransposeA();
    made.transposeB = product.getTransposeB();
    switch (product.getMode()) {
    case tile::ProductMode::Set: made.mode = ProductMode::Set; break;
    case tile::ProductMode::Add: made.mode = ProductMode::Add; break;
    case tile::ProductMode::Subtract: made.mode = ProductMode::Sub; break;
    }
  };
  if (auto product = dyn_cast<WgmmaOp>(op)) {
    fill(product);
    if (auto type = product.getCastA()) {
      made.casts = true;
      made.cast = element(*type);
    }
  } else {
    fill(cast<WgmmaGroupOp>(op));
  }
}

} // namespace flashqla::sim
