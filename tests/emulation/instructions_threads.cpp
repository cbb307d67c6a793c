// Threads and barriers.
#include "tests/emulation/instructions.h"
#include "tests/emulation/violation.h"

namespace flashqla::emulation {

namespace {

constexpr std::uint32_t wholeWarp = 0xffffffff;

void checkMask(std::uint32_t mask) {
  if (mask != wholeWarp)
    violate("a mask of {:#x}: only whole warps are emulated", mask);
}

/// Chooses without waiting for the other lanes: what they did before is not ordered by it.
void elect(Cta &cta, const Instruction &instruction, Frame &frame) {
  checkMask(frame.get32(operand(instruction, 1)));
  frame.set(instruction.operands[0].at(0), cta.leader());
  frame.set(instruction.operands[0].at(1), cta.lane() == cta.leader());
}

void warpSync(Cta &cta, const Instruction &instruction, Frame &frame) {
  checkMask(frame.get32(operand(instruction, 0)));
  cta.together(&instruction, "bar.warp.sync", nullptr, [](void *const(&)[Cta::lanes]) {});
}

void namedBarrier(Cta &cta, const Instruction &instruction, Frame &frame) {
  cta.namedBarrier(frame.get32(operand(instruction, 0)), frame.get32(operand(instruction, 1)));
}

void exitThread(Cta &cta, const Instruction &, Frame &) { cta.exitThread(); }

void branch(Cta &, const Instruction &instruction, Frame &frame) {
  frame.next = instruction.target;
}

/// `mov.u32 x, %clock`
void readClock(Cta &cta, const Instruction &instruction, Frame &frame) {
  if (operand(instruction, 1).kind != PtxValue::Kind::Clock)
    violate("mov.u32 reads the clock only");
  frame.set(operand(instruction, 0), cta.clock());
}

void nothing(Cta &, const Instruction &, Frame &) {}

void setRegisters(Cta &, const Instruction &instruction, Frame &frame) {
  const std::uint32_t registers = frame.get32(operand(instruction, 0));
  if (registers < 24 || registers > 256 || registers % 8)
    violate("setmaxnreg to {}", registers);
}

void mbarrierInit(Cta &cta, const Instruction &instruction, Frame &frame) {
  cta.mbarriers.init(frame.get32(operand(instruction, 0)), frame.get32(operand(instruction, 1)));
}

void mbarrierArrive(Cta &cta, const Instruction &instruction, Frame &frame) {
  cta.mbarriers.arrive(frame.get32(operand(instruction, 1)));
}

void mbarrierArriveExpect(Cta &cta, const Instruction &instruction, Frame &frame) {
  const std::uint32_t barrier = frame.get32(operand(instruction, 1));
  cta.mbarriers.expectBytes(barrier, frame.get32(operand(instruction, 2)));
  cta.mbarriers.arrive(barrier);
}

void mbarrierExpect(Cta &cta, const Instruction &instruction, Frame &frame) {
  cta.mbarriers.expectBytes(frame.get32(operand(instruction, 0)),
                            frame.get32(operand(instruction, 1)));
}

/// Sleeps once at most: what it finds then is the answer, as after the time limit of the hardware.
void mbarrierTryWait(Cta &cta, const Instruction &instruction, Frame &frame) {
  const std::uint32_t barrier = frame.get32(operand(instruction, 1));
  const std::uint32_t parity = frame.get32(operand(instruction, 2));
  if (!cta.mbarriers.isComplete(barrier, parity))
    cta.sleepAt(barrier, parity);
  frame.set(operand(instruction, 0), cta.mbarriers.isComplete(barrier, parity));
}

void fenceProxy(Cta &cta, const Instruction &, Frame &) { cta.shared.fence(cta.thread()); }

constexpr InstructionEntry table[] = {
    {"elect.sync", elect},
    {"bar.warp.sync", warpSync},
    {"bar.sync", namedBarrier},
    {"exit", exitThread},
    {"mov.u32", readClock},
    {"bra", branch},
    {"setmaxnreg.inc.sync.aligned.u32", setRegisters},
    {"setmaxnreg.dec.sync.aligned.u32", setRegisters},
    {"griddepcontrol.launch_dependents", nothing}, // launches follow each other
    {"griddepcontrol.wait", nothing},
    {"mbarrier.init.shared::cta.b64", mbarrierInit},
    {"fence.mbarrier_init.release.cluster", nothing},
    {"mbarrier.arrive.shared::cta.b64", mbarrierArrive},
    {"mbarrier.arrive.expect_tx.shared::cta.b64", mbarrierArriveExpect},
    {"mbarrier.expect_tx.relaxed.cta.shared::cta.b64", mbarrierExpect},
    {"mbarrier.try_wait.parity.shared::cta.b64", mbarrierTryWait},
    {"fence.proxy.async.shared::cta", fenceProxy},
    {"fence.proxy.async", fenceProxy},
};

} // namespace

std::span<const InstructionEntry> threadInstructions() { return table; }

} // namespace flashqla::emulation
