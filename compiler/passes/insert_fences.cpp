/// `fence.proxy.async` between writes by threads and later accesses by copy and tensor engines.
///
/// A thread that wrote a shared tile or a tensor fences before its next arrival or sync, which is what orders the engine's
/// access behind the write (PTX ISA, "Async proxy"). What no engine touches needs none, and neither do reads.
#include "compiler/passes/passes.h"

using namespace mlir;
using namespace flashqla::tile;

namespace flashqla::passes {
namespace {

/// Tiles and tensors that a bulk copy or a product touches.
DenseSet<Operation *> engineObjects(KernelOp kernel) {
  DenseSet<Operation *> objects;
  auto add = [&](Value addressable) {
    if (space(addressable) != Space::Register)
      objects.insert(declaration(addressable));
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
  return objects;
}

/// Writes that have no fence behind them yet.
struct Unfenced {
  bool tiles = false, tensors = false;

  explicit operator bool() const { return tiles || tensors; }
  Unfenced &operator|=(Unfenced other) {
    tiles |= other.tiles;
    tensors |= other.tensors;
    return *this;
  }
};

class FenceInserter {
public:
  explicit FenceInserter(KernelOp kernel) : objects(engineObjects(kernel)) {}

  /// Inserts fences in a block entered with unfenced writes or not; returns those with which it is left.
  Unfenced run(Block &block, Unfenced before, bool insert);

private:
  Unfenced writes(Operation &op) const;
  Unfenced copiesAsync(Operation *role) const;
  void add(Unfenced &unfenced, Value target) const {
    if (objects.contains(declaration(target)))
      (space(target) == Space::Shared ? unfenced.tiles : unfenced.tensors) = true;
  }

  DenseSet<Operation *> objects;
};

Unfenced FenceInserter::writes(Operation &op) const {
  Unfenced found;
  if (auto copy = dyn_cast<CopyOp>(op)) {
    if (copy.getKind() == CopyKind::Plain)
      add(found, copy.getTarget());
  } else if (auto inverse = dyn_cast<InverseOp>(op)) {
    add(found, inverse.getScratch());
  } else if (isa<MapOp>(op)) {
    op.walk([&](StoreOp store) { add(found, store.getTarget()); });
  }
  return found;
}

/// What per-thread asynchronous copies of the role have written has landed at their await.
Unfenced FenceInserter::copiesAsync(Operation *role) const {
  Unfenced found;
  role->walk([&](CopyOp copy) {
    if (copy.getKind() == CopyKind::Async)
      add(found, copy.getTarget());
  });
  return found;
}

Unfenced FenceInserter::run(Block &block, Unfenced before, bool insert) {
  Unfenced now = before;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (isa<ArriveOp, SyncOp>(op)) {
      if (now && insert) {
        OpBuilder builder(&op);
        FenceProxyOp::create(builder, op.getLoc(), now.tensors);
      }
      now = {};
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      now |= run(*loop.getBody(), now, false); // what the previous iteration leaves
      now |= run(*loop.getBody(), now, insert);
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      const Unfenced then = run(branch.getThenRegion().front(), now, insert);
      if (!branch.getElseRegion().empty())
        now = run(branch.getElseRegion().front(), now, insert);
      now |= then;
    } else if (auto await = dyn_cast<AwaitOp>(op); await && await.getKind() == AwaitKind::CopyAsync) {
      now |= copiesAsync(op.getParentOfType<RoleOp>());
    } else {
      now |= writes(op);
    }
  }
  return now;
}

} // namespace

bool insertFences(KernelOp kernel, Context &) {
  FenceInserter inserter(kernel);
  for (auto role : kernel.getBody().front().getOps<RoleOp>())
    inserter.run(role.getBody().front(), {}, true);
  return true;
}

} // namespace flashqla::passes
