/// `fence.proxy.async` between writes by threads and later accesses by copy and tensor engines.
///
/// A thread that wrote a shared tile fences before its next arrival or sync, which is what orders the engine's access
/// behind the write (PTX ISA, "Async proxy"). Tiles that no engine touches need none, and neither do reads.
#include "compiler/passes/passes.h"

using namespace mlir;
using namespace flashqla::tile;

namespace flashqla::passes {
namespace {

/// Tiles that a bulk copy or a product touches.
DenseSet<Operation *> engineTiles(KernelOp kernel) {
  DenseSet<Operation *> tiles;
  auto add = [&](Value addressable) {
    if (addressable && space(addressable) == Space::Shared)
      tiles.insert(declaration(addressable));
  };
  kernel.walk([&](Operation *op) {
    if (auto product = dyn_cast<WgmmaOp>(op)) {
      add(product.getA());
      add(product.getB());
    } else if (auto copy = dyn_cast<CopyOp>(op); copy && copy.getKind() == CopyKind::Tma) {
      add(copy.getTarget());
      add(copy.getSource());
    }
  });
  return tiles;
}

bool writes(Operation &op, const DenseSet<Operation *> &tiles) {
  bool found = false;
  auto check = [&](Value target) {
    found |= space(target) == Space::Shared && tiles.contains(declaration(target));
  };
  if (auto copy = dyn_cast<CopyOp>(op)) {
    if (copy.getKind() == CopyKind::Plain)
      check(copy.getTarget());
  } else if (auto inverse = dyn_cast<InverseOp>(op)) {
    check(inverse.getScratch());
  } else if (isa<MapOp>(op)) {
    op.walk([&](StoreOp store) { check(store.getTarget()); });
  }
  return found;
}

/// Whether the role has per-thread asynchronous copies into such a tile: what they write has landed at their await.
bool copiesAsync(Operation *role, const DenseSet<Operation *> &tiles) {
  bool found = false;
  role->walk([&](CopyOp copy) {
    found |= copy.getKind() == CopyKind::Async && tiles.contains(declaration(copy.getTarget()));
  });
  return found;
}

/// Inserts fences in a block entered with unfenced writes or not; returns whether it is left with some.
bool fenceBlock(Block &block, bool dirty, const DenseSet<Operation *> &tiles, bool insert) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (isa<ArriveOp, SyncOp>(op)) {
      if (dirty && insert) {
        OpBuilder builder(&op);
        FenceProxyOp::create(builder, op.getLoc());
      }
      dirty = false;
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      dirty |= fenceBlock(*loop.getBody(), dirty, tiles, false); // what the previous iteration leaves
      dirty |= fenceBlock(*loop.getBody(), dirty, tiles, insert);
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      bool then = fenceBlock(branch.getThenRegion().front(), dirty, tiles, insert);
      bool otherwise = branch.getElseRegion().empty() ? dirty : fenceBlock(branch.getElseRegion().front(), dirty, tiles, insert);
      dirty = then || otherwise;
    } else if (auto await = dyn_cast<AwaitOp>(op); await && await.getKind() == AwaitKind::CopyAsync) {
      dirty |= copiesAsync(op.getParentOfType<RoleOp>(), tiles);
    } else if (!isa<FenceProxyOp>(op)) {
      dirty |= writes(op, tiles);
    }
  }
  return dirty;
}

} // namespace

bool insertFences(KernelOp kernel, Context &) {
  DenseSet<Operation *> tiles = engineTiles(kernel);
  for (auto role : kernel.getBody().front().getOps<RoleOp>())
    fenceBlock(role.getBody().front(), false, tiles, true);
  return true;
}

} // namespace flashqla::passes
