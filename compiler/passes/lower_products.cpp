/// Products: register operands packed to 16 bits, awaits counted.
///
/// An operand `E(x)` is a copy of the fragment taken where the product stands: a 16-bit fragment and a map that rounds
/// into it. Consecutive products of the same value share the copy, so that nothing is packed while the first of them is
/// in flight.
#include "compiler/passes/in_flight.h"
#include "compiler/passes/passes.h"

using namespace mlir;
using namespace flashqla::tile;

namespace flashqla::passes {
namespace {

/// Whether an op may write the fragment.
bool writesFragment(Operation &op, Operation *frag) {
  bool found = false;
  op.walk([&](Operation *inner) {
    if (auto store = dyn_cast<StoreOp>(inner))
      found |= declaration(store.getTarget()) == frag;
    else if (auto product = dyn_cast<WgmmaOp>(inner))
      found |= declaration(product.getTarget()) == frag;
    else if (auto group = dyn_cast<WgmmaGroupOp>(inner))
      found |= declaration(group.getTarget()) == frag;
    else if (auto copy = dyn_cast<CopyOp>(inner))
      found |= declaration(copy.getTarget()) == frag;
    else if (auto inverse = dyn_cast<InverseOp>(inner))
      found |= declaration(inverse.getTarget()) == frag;
  });
  return found;
}

/// A packed copy of the operand made earlier in the block, still equal to it; null if there is none.
FragOp earlierCopy(WgmmaOp product, Type type) {
  Operation *source = declaration(product.getA());
  for (Operation *op = product->getPrevNode(); op; op = op->getPrevNode()) {
    if (auto map = dyn_cast<MapOp>(op); map && map->hasAttr("packs")) {
      LoadOp load = *map.getBody().getOps<LoadOp>().begin();
      StoreOp store = *map.getBody().getOps<StoreOp>().begin();
      auto copy = cast<FragOp>(declaration(store.getTarget()));
      if (load.getSource() == product.getA() && copy.getType().getElementType() == type)
        return copy;
    }
    if (writesFragment(*op, source))
      return {};
  }
  return {};
}

Value packOperand(WgmmaOp product) {
  Value a = product.getA();
  Type type = product.getCastA().value_or(elementType(a));
  if (elementType(a) == type)
    return a;
  if (FragOp copy = earlierCopy(product, type))
    return copy.getResult();
  auto source = cast<FragOp>(declaration(a));
  OpBuilder builder(product);
  Location loc = product.getLoc();
  ArrayRef<int64_t> shape = extents(a); // of the window, where the operand is one
  auto layout = LayoutAttr::get(product.getContext(), LayoutKind::Accumulator, shape, source.getLayoutAttr().getWarps(),
                                /*piece=*/1, {0, 1});
  std::string name = source.getName().str() + "_half";
  auto copy = FragOp::create(builder, loc, FragType::get(product.getContext(), shape, type), builder.getStringAttr(name),
                             layout);
  auto map = MapOp::create(builder, loc, builder.getDenseI64ArrayAttr(shape), builder.getStrArrayAttr({"i", "j"}));
  map->setAttr("packs", builder.getUnitAttr());
  Block &body = map.getBody().emplaceBlock();
  body.addArguments({builder.getI64Type(), builder.getI64Type()}, {loc, loc});
  builder.setInsertionPointToStart(&body);
  Value value = LoadOp::create(builder, loc, elementType(a), a, body.getArguments());
  value = arith::TruncFOp::create(builder, loc, type, value);
  StoreOp::create(builder, loc, value, copy.getResult(), body.getArguments());
  return copy.getResult();
}

} // namespace

bool lowerProducts(KernelOp kernel, Context &) {
  for (auto role : kernel.getBody().front().getOps<RoleOp>()) {
    InFlight flight(role);
    SmallVector<AwaitOp> awaits;
    role.walk([&](AwaitOp await) {
      if (await.getKind() == AwaitKind::Wgmma || await.getKind() == AwaitKind::Fragment)
        awaits.push_back(await);
    });
    for (AwaitOp await : awaits) {
      SmallVector<Value> retired;
      for (Operation *frag : flight.retiredBy(await))
        retired.push_back(frag->getResult(0));
      OpBuilder builder(await);
      int64_t keep = flight.keptBy(await);
      bool waits = llvm::any_of(flight.before(await), [&](auto &entry) { return entry.second >= keep; });
      if (waits) // otherwise nothing is in flight that it could wait for
        WaitGroupOp::create(builder, await.getLoc(), builder.getI64IntegerAttr(keep), retired);
    }
    for (AwaitOp await : awaits)
      await.erase();
    SmallVector<WgmmaOp> products;
    role.walk([&](WgmmaOp product) { products.push_back(product); });
    for (WgmmaOp product : products) {
      Value a = space(product.getA()) == Space::Register ? packOperand(product) : product.getA();
      OpBuilder builder(product);
      WgmmaGroupOp::create(builder, product.getLoc(), product.getModeAttr(), product.getTarget(), a, product.getB(),
                           product.getTransposeAAttr(), product.getTransposeBAttr());
      product.erase();
    }
  }
  return true;
}

} // namespace flashqla::passes
