/// Where tiles, barriers and scratch lie in shared memory, and what follows from the structure alone: arrival counts and
/// the ids of named barriers.
#include "compiler/passes/passes.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace flashqla::tile;

namespace flashqla::passes {
namespace {

constexpr int64_t smBytes = 228 * 1024, reservedBytes = 1024; // CUDA programming guide, compute capability 9.0
constexpr int64_t namedBarriers = 15;                         // ids 1 … 15; 0 is __syncthreads

/// Arrivals that complete a generation: all threads of a warpgroup role, one lane of a warp role.
int64_t arrivalsOf(BarrierOp barrier, KernelOp kernel) {
  int64_t arrivals = 0;
  for (auto role : kernel.getBody().front().getOps<RoleOp>())
    for (Attribute name : barrier.getArrivers())
      if (cast<StringAttr>(name).getValue() == role.getName())
        arrivals += role.isWarpgroup() ? role.threads() : 1;
  return arrivals;
}

/// Bytes by which the warps of a role exchange partial results of reductions.
int64_t scratchOf(RoleOp role) {
  int64_t bytes = 0;
  role.walk([&](ReduceOp reduce) {
    reduce.walk([&](LoadOp load) {
      if (space(load.getSource()) != Space::Register)
        return;
      auto found = llvm::find(load.getIndices(), reduce.getBody().getArgument(0));
      if (found == load.getIndices().end())
        return;
      int dim = static_cast<int>(found - load.getIndices().begin());
      FragmentLayout layout = layoutOf(cast<FragOp>(declaration(load.getSource())));
      if (!layout.moves(LayoutDigit::Source::Warp, dim))
        return;
      std::vector<int> others;
      for (int other = 0; other < static_cast<int>(layout.shape().size()); ++other)
        if (other != dim)
          others.push_back(other);
      int64_t partial = reduce.getResult().getType().isF32() ? 4 : 8;
      bytes = std::max(bytes, role.threads() * layout.keep(others).registers() * partial);
    });
  });
  return bytes;
}

/// Tiles that an inverse uses as scratch: it puts swizzled operands of products there.
DenseSet<Operation *> scratchTiles(KernelOp kernel) {
  DenseSet<Operation *> tiles;
  kernel.walk([&](InverseOp inverse) { tiles.insert(declaration(inverse.getScratch())); });
  return tiles;
}

/// The scratch of an inverse is 12 KB (compiler/codegen/inverse_sm90.cuh).
bool checkScratch(KernelOp kernel, Context &context) {
  constexpr int64_t needed = 12 * 1024;
  bool ok = true;
  kernel.walk([&](InverseOp inverse) {
    auto shared = cast<SharedOp>(declaration(inverse.getScratch()));
    int64_t bytes = layoutOf(shared).tileBytes();
    if (auto view = inverse.getScratch().getDefiningOp<ViewOp>(); view && extents(view.getResult()) != shared.getType().getShape())
      bytes = 0; // a window is not one run of bytes
    if (bytes >= needed)
      return;
    ok = false;
    context
        .report(DiagnosticKind::ScratchSize, inverse,
                fmt::format("`unit_lower_inverse` needs {} bytes of scratch; `{}` {}", needed, shared.getName().str(),
                            bytes ? fmt::format("has {}", bytes) : "is used through a window"))
        .label(context.files.range(shared.getOperation()), "the scratch tile");
  });
  return ok;
}

} // namespace

bool planShared(KernelOp kernel, Context &context) {
  Builder builder(kernel.getContext());
  Block &body = kernel.getBody().front();
  int64_t offset = 0;
  std::string table;
  if (!checkScratch(kernel, context))
    return false;
  // Largest alignment first, so that nothing is lost between tiles; the table shows them in that order.
  SmallVector<SharedOp> tiles(body.getOps<SharedOp>());
  DenseSet<Operation *> scratch = scratchTiles(kernel);
  auto alignment = [&](SharedOp shared) { return scratch.contains(shared) ? int64_t{1024} : layoutOf(shared).alignment(); };
  llvm::stable_sort(tiles, [&](SharedOp a, SharedOp b) { return alignment(a) > alignment(b); });
  for (SharedOp shared : tiles) {
    offset = llvm::alignTo(offset, alignment(shared));
    SharedLayout layout = layoutOf(shared);
    int64_t slots = shared.getType().getSlots(), bytes = slots * layout.slotBytes();
    shared.setByteOffset(offset);
    offset += bytes;
    table += fmt::format("{:>8}  {} ({} x {})\n", bytes, shared.getName().str(), slots, layout.slotBytes());
  }
  int64_t barrierId = 1;
  for (auto role : body.getOps<RoleOp>()) {
    if (int64_t bytes = scratchOf(role)) {
      role->setAttr("scratch", builder.getI64IntegerAttr(offset));
      offset += bytes;
      table += fmt::format("{:>8}  scratch of `{}` for reductions across warps\n", bytes, role.getName().str());
    }
    if (!role.isWarpgroup())
      continue;
    if (barrierId > namedBarriers) {
      context.report(DiagnosticKind::RoleGeometry, role,
                     fmt::format("`{}` is warpgroup role number {}; a CTA has {} named barriers", role.getName().str(),
                                 barrierId, namedBarriers));
      return false;
    }
    role->setAttr("barrier_id", builder.getI64IntegerAttr(barrierId++));
  }
  int64_t first = offset;
  for (auto barrier : body.getOps<BarrierOp>()) {
    barrier.setByteOffset(offset);
    barrier->setAttr("arrivals", builder.getI64IntegerAttr(arrivalsOf(barrier, kernel)));
    offset += 8 * barrier.getType().getSlots();
  }
  if (offset > first)
    table += fmt::format("{:>8}  barriers\n", offset - first);
  kernel->setAttr("shared_bytes", builder.getI64IntegerAttr(offset));
  int64_t resident = kernel.getResident(), capacity = smBytes / resident - reservedBytes;
  if (offset > capacity) {
    context
        .report(DiagnosticKind::SharedCapacity, kernel,
                fmt::format("{} bytes of shared memory exceed {}{}", offset, capacity,
                            resident > 1 ? fmt::format(" (1/{} of an SM)", resident) : ""))
        .note("who uses what, in bytes:\n" + StringRef(table).rtrim().str());
    return false;
  }
  return true;
}

} // namespace flashqla::passes
