#include "compiler/passes/show.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace mlir;
using namespace flashqla::tile;

namespace flashqla::passes {
namespace {

std::string shapeText(ArrayRef<int64_t> shape) { return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ", ")); }

std::string elementText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

std::string layoutText(FragOp frag) {
  LayoutAttr layout = frag.getLayoutAttr();
  std::string text = layout.getKind() == LayoutKind::Accumulator ? "accumulator" : fmt::format("vector, pieces of {}", layout.getPiece());
  if (layout.getKeep().size() < layout.getShape().size())
    text = fmt::format("{} of {} {}", layout.getKeep()[0] == 0 ? "rows" : "columns", text, shapeText(layout.getShape()));
  return text;
}

/// The schedule is the text of the author's statements, each with what became of it.
class Schedule {
public:
  Schedule(KernelOp kernel, const SourceFiles &files) : kernel(kernel), files(files) {}
  std::string text();

private:
  void block(Block &block, int depth);
  void op(Operation &op, int depth);
  void line(int depth, Operation *op, const std::string &derived);
  std::string statement(Operation *op);

  KernelOp kernel;
  const SourceFiles &files;
  std::string out;
};

std::string Schedule::statement(Operation *op) {
  std::string text(files.range(op).text());
  if (size_t end = text.find('\n'); end != std::string::npos)
    text = text.substr(0, end) + " …";
  return text;
}

void Schedule::line(int depth, Operation *op, const std::string &derived) {
  std::string text = std::string(2 * depth, ' ') + statement(op);
  out += derived.empty() ? text + "\n" : fmt::format("{:<60} · {}\n", text, derived);
}

std::string slotText(Value slot) {
  APInt constant;
  if (matchPattern(slot, m_ConstantInt(&constant)))
    return fmt::format("slot {}", constant.getSExtValue());
  return isa<BlockArgument>(slot) ? "slot carried by the loop" : "slot computed";
}

void Schedule::op(Operation &op, int depth) {
  auto role = op.getParentOfType<RoleOp>();
  llvm::TypeSwitch<Operation *>(&op)
      .Case<scf::ForOp>([&](scf::ForOp loop) {
        line(depth, &op, "");
        block(*loop.getBody(), depth + 1);
      })
      .Case<scf::IfOp>([&](scf::IfOp branch) {
        line(depth, &op, "");
        block(branch.getThenRegion().front(), depth + 1);
        if (!branch.getElseRegion().empty()) {
          out += std::string(2 * depth, ' ') + "else\n";
          block(branch.getElseRegion().front(), depth + 1);
        }
      })
      .Case<WaitParityOp>([&](WaitParityOp wait) { line(depth, &op, slotText(wait.getSlot()) + ", parity"); })
      .Case<ArriveSlotOp>([&](ArriveSlotOp arrive) {
        std::string who = role.isWarpgroup() ? fmt::format("{} arrivals, all threads", role.threads()) : "1 arrival, elected lane";
        std::string bytes = arrive.getTxBytes() ? fmt::format(", expects {} bytes", arrive.getTxBytes()) : "";
        line(depth, &op, who + bytes + (arrive.getGuard() ? ", from generation 0 on" : ""));
      })
      .Case<TmaLoadOp>([&](TmaLoadOp load) {
        line(depth, &op, fmt::format("elected lane: box of {} bytes, tensor map {}", load.getBytes(), load.getMap()));
      })
      .Case<TmaStoreOp>([&](TmaStoreOp store) {
        line(depth, &op, fmt::format("elected lane: box of {} bytes, tensor map {}", store.getBytes(), store.getMap()));
      })
      .Case<ExpectTxOp>([&](ExpectTxOp expect) { line(depth, &op, fmt::format("expects {} bytes", expect.getBytes())); })
      .Case<WaitStoresOp>([&](WaitStoresOp wait) {
        line(depth, &op, fmt::format("bulk wait_group{} {}", wait.getRead() ? ".read" : "", wait.getKeep()));
      })
      .Case<WgmmaGroupOp>([&](WgmmaGroupOp group) {
        int64_t depthK = extents(group.getA())[group.getTransposeA() ? 0 : 1];
        int64_t blocks = extents(group.getTarget())[0] / (64 * role.warpgroups());
        line(depth, &op, fmt::format("{} x m64n{}k16 per warpgroup, A from {}, 1 group", blocks * depthK / 16,
                                     extents(group.getTarget())[1],
                                     space(group.getA()) == Space::Register ? "registers" : "shared memory"));
      })
      .Case<WaitGroupOp>([&](WaitGroupOp wait) { line(depth, &op, fmt::format("wait_group {}", wait.getKeep())); })
      .Case<FenceProxyOp>([&](FenceProxyOp) { out += fmt::format("{:<60} · fence.proxy.async\n", std::string(2 * depth, ' ')); })
      .Case<SyncOp>([&](SyncOp) {
        line(depth, &op, role.warps() == 1 ? "warp sync" : fmt::format("bar.sync, {} threads", role.threads()));
      })
      .Case<MapOp>([&](MapOp map) {
        if (map->hasAttr("packs"))
          out += fmt::format("{:<60} · packs the operand of the next product\n", std::string(2 * depth, ' '));
        else
          line(depth, &op, fmt::format("over {}", shapeText(map.getDomain())));
      })
      .Case<CopyOp, InverseOp, AssertOp, AwaitOp>([&](auto) { line(depth, &op, ""); });
}

void Schedule::block(Block &block, int depth) {
  for (Operation &inner : block)
    op(inner, depth);
}

std::string Schedule::text() {
  out = fmt::format("kernel {}: {} threads, {} bytes of shared memory, {} CTA{} per SM\n", kernel.getSymName().str(),
                    128 * kernel.getWarpgroupRegs().size(), kernel->getAttrOfType<IntegerAttr>("shared_bytes").getInt(),
                    kernel.getResident(), kernel.getResident() == 1 ? "" : "s");
  for (auto role : kernel.getBody().front().getOps<RoleOp>()) {
    int64_t regs = kernel.getWarpgroupRegs()[role.getFirstWarp() / 4];
    out += fmt::format("\n{} {:<40} {} warp{} · {} registers\n", role.isWarpgroup() ? "warpgroup" : "warp", role.getName().str(),
                       role.warps(), role.warps() == 1 ? "" : "s", regs);
    block(role.getBody().front(), 1);
  }
  return out;
}

} // namespace

std::string showLayouts(KernelOp kernel) {
  std::string out = "shared memory\n";
  for (auto shared : kernel.getBody().front().getOps<SharedOp>()) {
    SharedLayout layout = layoutOf(shared);
    out += fmt::format("  {:>7}  {:<10} {}{} x {} bytes, {}\n", *shared.getByteOffset(), shared.getName().str(),
                       elementText(shared.getType().getElementType()),
                       fmt::format("[{}]{}", shared.getType().getSlots(), shapeText(shared.getType().getShape())),
                       layout.slotBytes(),
                       layout.swizzleBytes() ? fmt::format("swizzle{}, {} panel{} of {} columns", layout.swizzleBytes(),
                                                           layout.panels(), layout.panels() == 1 ? "" : "s", layout.panelColumns())
                                             : "row-major");
  }
  for (auto barrier : kernel.getBody().front().getOps<BarrierOp>())
    out += fmt::format("  {:>7}  {:<10} {} barrier{}, {} arrival{} each\n", *barrier.getByteOffset(), barrier.getName().str(),
                       barrier.getType().getSlots(), barrier.getType().getSlots() == 1 ? "" : "s",
                       barrier->getAttrOfType<IntegerAttr>("arrivals").getInt(),
                       barrier->getAttrOfType<IntegerAttr>("arrivals").getInt() == 1 ? "" : "s");
  out += fmt::format("  {:>7}  end\n", kernel->getAttrOfType<IntegerAttr>("shared_bytes").getInt());
  for (auto role : kernel.getBody().front().getOps<RoleOp>()) {
    std::string frags;
    role.walk([&](FragOp frag) {
      int64_t registers = layoutOf(frag).registers();
      if (elementBytes(frag.getType().getElementType()) == 2)
        registers = (registers + 1) / 2;
      frags += fmt::format("  {:<10} {}{}: {}, {} registers a thread\n", frag.getName().str(),
                           elementText(frag.getType().getElementType()), shapeText(frag.getType().getShape()), layoutText(frag),
                           registers);
    });
    if (!frags.empty())
      out += fmt::format("role {}\n{}", role.getName().str(), frags);
    if (auto scratch = role->getAttrOfType<IntegerAttr>("scratch"))
      out += fmt::format("  reductions across warps use scratch at {}\n", scratch.getInt());
  }
  return out;
}

std::string showSchedule(KernelOp kernel, const SourceFiles &files) { return Schedule(kernel, files).text(); }

} // namespace flashqla::passes
