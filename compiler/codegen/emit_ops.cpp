/// Barriers, bulk copies and products.
#include "compiler/codegen/emitter.h"
#include "compiler/codegen/operand.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace flashqla::tile;

namespace flashqla::codegen {

std::string KernelEmitter::barrierAddress(Value barrier, Value slot) {
  std::string address = fmt::format("shared + {}_at", names[barrier]);
  Code index = scalar(slot);
  return index.text == "0" ? address : fmt::format("{} + 8 * {}", address, index.in(Code::multiply + 1));
}

void KernelEmitter::emitWait(WaitParityOp op) {
  out.line("mbarrier_wait_parity({}, {});", barrierAddress(op.getBarrier(), op.getSlot()), scalar(op.getParity()).text);
}

void KernelEmitter::emitArrive(ArriveSlotOp op) {
  std::string address = barrierAddress(op.getBarrier(), op.getSlot());
  std::string guard = op.getGuard() ? fmt::format("if ({}) ", scalar(op.getGuard()).text) : "";
  if (op.getTxBytes() == 0)
    out.line("{}mbarrier_arrive({});", guard, address);
  else if (role.isWarpgroup()) // the lane that issued the copies expects their bytes; every thread arrives
    out.line("{}warp == 0 && elect_one() ? mbarrier_arrive_expect_tx({}, {}) : mbarrier_arrive({});", guard, address,
             op.getTxBytes(), address);
  else
    out.line("{}mbarrier_arrive_expect_tx({}, {});", guard, address, op.getTxBytes());
}

void KernelEmitter::emitSync() {
  if (role.warps() == 1)
    out.line("warp_sync();");
  else
    out.line("named_barrier({}, {});", role->getAttrOfType<IntegerAttr>("barrier_id").getInt(), role.threads());
}

bool KernelEmitter::isElected(Operation &op, RoleOp role) {
  if (auto arrive = dyn_cast<ArriveSlotOp>(op))
    return !role.isWarpgroup();
  return isa<TmaLoadOp, TmaStoreOp, ExpectTxOp, CommitStoresOp, WaitStoresOp>(op);
}

std::string KernelEmitter::coordinateList(OperandRange coordinates) {
  std::string text;
  for (Value coordinate : coordinates)
    text += ", " + asInt(coordinate);
  return text;
}

void KernelEmitter::emitElected(ArrayRef<Operation *> ops) {
  if (!role.isWarpgroup() && genericSinceSync)
    out.line("warp_sync();"); // what the other lanes did comes before the elected lane's arrival
  out.open("if ({}elect_one())", role.isWarpgroup() ? "warp == 0 && " : "");
  std::optional<int64_t> open; // the boxes of a copy are one statement
  for (Operation *op : ops) {
    const std::optional<int64_t> step = timedStep(*op);
    if (open && step != open)
      endStatement(*open);
    if (step && step != open)
      beginStatement();
    open = step;
    emitElectedOp(*op);
  }
  if (open)
    endStatement(*open);
  out.close();
  out.line("warp_sync();");
  if (!role.isWarpgroup())
    genericSinceSync = false;
}

void KernelEmitter::emitElectedOp(Operation &op) {
  markLine(op);
  auto at = [](const std::string &address, int64_t byte) {
    return byte ? fmt::format("{} + {}", address, byte) : address;
  };
  llvm::TypeSwitch<Operation *>(&op)
      .Case<ArriveSlotOp>([&](ArriveSlotOp arrive) { emitArrive(arrive); })
      .Case<ExpectTxOp>([&](ExpectTxOp expect) {
        out.line("mbarrier_expect_tx({}, {});", barrierAddress(expect.getBarrier(), expect.getSlot()), expect.getBytes());
      })
      .Case<TmaLoadOp>([&](TmaLoadOp load) {
        std::string target = at(sharedAddressOfWindow(load.getTarget()), load.getTargetByte());
        std::string barrier = barrierAddress(load.getBarrier(), load.getSlot());
        out.line("tensor_load({}, &map{}, {}{});", target, load.getMap(), barrier,
                 coordinateList(load.getCoordinates()));
      })
      .Case<TmaStoreOp>([&](TmaStoreOp store) {
        std::string source = at(sharedAddressOfWindow(store.getSource()), store.getSourceByte());
        out.line("tensor_store(&map{}, {}{});", store.getMap(), source, coordinateList(store.getCoordinates()));
      })
      .Case<CommitStoresOp>([&](CommitStoresOp) { out.line("bulk_commit_group();"); })
      .Case<WaitStoresOp>([&](WaitStoresOp wait) {
        out.line("bulk_wait_group{}<{}>();", wait.getRead() ? "_read" : "", wait.getKeep());
      });
}

void KernelEmitter::emitWgmma(WgmmaGroupOp op) {
  Value target = op.getTarget(), a = op.getA(), b = op.getB();
  bool registerA = space(a) == Space::Register;
  int64_t n = extents(target)[1], blocks = extents(target)[0] / (64 * role.warpgroups());
  // Of a window of columns the blocks of 64 rows lie as far apart as those of the whole accumulator.
  int64_t columns = cast<FragOp>(declaration(target)).getType().getShape()[1];
  int64_t depth = extents(a)[op.getTransposeA() ? 0 : 1], steps = depth / 16;
  SharedLayout layoutB = layoutOf(cast<SharedOp>(declaration(b)));
  // B is [K, N] unless transposed: its rows are k, so the contiguous dimension is n.
  OperandSteps stepsB = operandSteps(layoutB, op.getTransposeB());
  WgmmaShape shape{n, elementType(b).isF16(), registerA, op.getTransposeA(), !op.getTransposeB(), false,
                   op.getMode() == ProductMode::Subtract};
  WgmmaShape first = shape;
  first.overwrite = op.getMode() == ProductMode::Set;
  std::string accumulate = instructions.wgmma(shape), overwrite = instructions.wgmma(first);

  out.open();
  out.line("const u32 b = {};", sharedAddressOfWindow(b));
  OperandSteps stepsA{};
  SharedLayout layoutA = layoutB;
  if (!registerA) {
    layoutA = layoutOf(cast<SharedOp>(declaration(a)));
    stepsA = operandSteps(layoutA, !op.getTransposeA());
    // Rows of A: 64 for each warpgroup and block, down the rows of a K-major tile or along the panels of an M-major one.
    int64_t perBlock = op.getTransposeA() ? 64 / layoutA.panelColumns() * layoutA.panelBytes() : 64 * layoutA.rowBytes();
    std::string offset = role.warpgroups() > 1 ? fmt::format(" + {} * (warp / 4)", perBlock * blocks) : "";
    out.line("const u32 a = {}{};", sharedAddressOfWindow(a), offset);
  }
  auto product = [&](const std::string &function, int64_t block, const std::string &k) {
    std::string d = fmt::format("{} + {}", fragName(target), firstRegister(target) + block * (columns / 2));
    std::string offsetB = k == "0" ? "" : " + " + stepsB.stepText(steps);
    std::string descriptorB = fmt::format("wgmma_descriptor(b{}, {}, {}, {})", offsetB, stepsB.leading, stepsB.stride,
                                          stepsB.mode);
    std::string operandA;
    if (registerA) {
      int64_t registers = layoutOf(cast<FragOp>(declaration(a))).registers() / 2 / blocks;
      operandA = fmt::format("{} + {}{}", fragName(a), firstRegister(a) / 2 + block * registers,
                             k == "0" ? "" : " + 4 * k");
    } else {
      int64_t perBlock = op.getTransposeA() ? 64 / layoutA.panelColumns() * layoutA.panelBytes() : 64 * layoutA.rowBytes();
      operandA = fmt::format("wgmma_descriptor(a{}{}, {}, {}, {})", block ? fmt::format(" + {}", block * perBlock) : "",
                             k == "0" ? "" : " + " + stepsA.stepText(steps), stepsA.leading, stepsA.stride,
                             stepsA.mode);
    }
    out.line("{}({}, {}, {});", function, d, operandA, descriptorB);
  };
  out.line("wgmma_fence();");
  for (int64_t block = 0; block < blocks; ++block) {
    int64_t start = first.overwrite ? 1 : 0;
    if (first.overwrite)
      product(overwrite, block, "0");
    if (steps > start) {
      out.directive("#pragma unroll");
      out.open("for (int k = {}; k < {}; ++k)", start, steps);
      product(accumulate, block, "k");
      out.close();
    }
  }
  out.line("wgmma_commit_group();");
  out.close();
}

void KernelEmitter::emitWaitGroup(WaitGroupOp op) {
  std::vector<int64_t> registers;
  std::string arguments;
  for (Value fragment : op.getRetires()) {
    registers.push_back(layoutOf(cast<FragOp>(declaration(fragment))).registers());
    arguments += (arguments.empty() ? "" : ", ") + fragName(fragment);
  }
  out.line("{}({});", instructions.waitGroup(op.getKeep(), registers), arguments);
}

void KernelEmitter::emitInverse(InverseOp op) {
  std::string target = fragName(op.getTarget()), source = fragName(op.getSource());
  genericSinceSync = true;
  out.line("unit_lower_inverse<{}>({}, {}, {}, warp, lane, {});",
           elementType(op.getScratch()).isBF16() ? "round_bf16" : "round_f16", target, source,
           sharedAddressOfWindow(op.getScratch()), role->getAttrOfType<IntegerAttr>("barrier_id").getInt());
  instructions.needInverse();
}

void KernelEmitter::emitAssert(AssertOp op) {
  SourceRange range = files.range(op.getOperation());
  int line = range ? static_cast<int>(range.file->lineOf(range.begin)) : 0;
  result.asserts.push_back({line, op.getMessage().str()});
  out.open("if (!({}))", scalar(op.getCondition()).text);
  out.line("*assert_buffer = {};", result.asserts.size());
  out.line("exit_thread();");
  out.close();
}

} // namespace flashqla::codegen
