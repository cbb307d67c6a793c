// Products: wgmma and what waits for it.
#include "tests/emulation/instructions.h"
#include "tests/emulation/violation.h"

#include <regex>

namespace flashqla::emulation {

namespace {

/// Operands of wgmma.mma_async: accumulators, A, B, scale-d, scale-a, scale-b, then whether each
/// operand in shared memory is MN-major: A too unless it is in registers.
void product(Cta &cta, const Instruction &instruction, Frame &frame) {
  const std::vector<PtxOperand> &operands = instruction.operands;
  const std::size_t registers = instruction.columns / 2;
  ProductShape shape;
  shape.columns = instruction.columns;
  shape.f16 = instruction.f16;
  shape.registerA = operands.at(1).size() == 4;
  const std::size_t count = shape.registerA ? 7 : 8;
  if (operands.size() != count || operands[0].size() != registers)
    violate("`{}` with {} accumulators and {} operands", instruction.opcode, operands[0].size(),
            operands.size());
  auto flag = [&](std::size_t index, std::uint64_t yes, std::uint64_t no) {
    const std::uint64_t value = frame.get(operand(instruction, index));
    if (value != yes && value != no)
      violate("`{}` with {} as operand {}", instruction.opcode, value, index);
    return value == yes;
  };
  constexpr auto minusOne = static_cast<std::uint64_t>(-1);
  shape.accumulate = flag(3, 1, 0);
  shape.negateA = flag(4, minusOne, 1);
  shape.negateB = flag(5, minusOne, 1);
  shape.transposeA = !shape.registerA && flag(6, 1, 0);
  shape.transposeB = flag(count - 1, 1, 0);

  ProductLane own;
  own.accumulators = static_cast<float *>(frame.operands[operands[0][0].index].target);
  for (std::size_t i = 0; i < registers; ++i)
    if (operands[0][i].kind != PtxValue::Kind::Operand ||
        frame.operands[operands[0][i].index].target != own.accumulators + i)
      violate("`{}`: accumulator {} does not follow the one before it", instruction.opcode, i);
  if (shape.registerA)
    for (std::size_t i = 0; i < 4; ++i)
      own.a[i] = frame.get32(operands[1][i]);
  else
    own.descriptorA = frame.get(operands[1].at(0));
  own.descriptorB = frame.get(operands[2].at(0));
  cta.together(&instruction, "wgmma", &own, [&](void *const(&data)[Cta::lanes]) {
    ProductLane lanes[Cta::lanes];
    for (unsigned lane = 0; lane < Cta::lanes; ++lane)
      lanes[lane] = *static_cast<const ProductLane *>(data[lane]);
    cta.products.issue(cta.warp(), cta.line, shape, lanes);
  });
}

template <class Action> void byWarp(Cta &cta, const Instruction &instruction, Action action) {
  cta.together(&instruction, instruction.opcode.c_str(), nullptr,
               [&](void *const(&)[Cta::lanes]) { action(cta.warp()); });
}

void fence(Cta &cta, const Instruction &instruction, Frame &) {
  byWarp(cta, instruction, [&](unsigned warp) { cta.products.fence(warp); });
}

void commit(Cta &cta, const Instruction &instruction, Frame &) {
  byWarp(cta, instruction, [&](unsigned warp) { cta.products.commit(warp); });
}

void waitGroup(Cta &cta, const Instruction &instruction, Frame &frame) {
  const std::uint32_t keep = frame.get32(operand(instruction, 0));
  byWarp(cta, instruction, [&](unsigned warp) { cta.products.wait(warp, keep); });
}

constexpr InstructionEntry table[] = {
    {"wgmma.fence.sync.aligned", fence},
    {"wgmma.commit_group.sync.aligned", commit},
    {"wgmma.wait_group.sync.aligned", waitGroup},
};

} // namespace

std::span<const InstructionEntry> productInstructions() { return table; }

bool readProduct(Instruction &instruction) {
  static const std::regex pattern(
      R"(wgmma\.mma_async\.sync\.aligned\.m64n(\d+)k16\.f32\.(bf16\.bf16|f16\.f16))");
  std::smatch match;
  if (!std::regex_match(instruction.opcode, match, pattern))
    return false;
  instruction.columns = static_cast<unsigned>(std::stoul(match[1]));
  instruction.f16 = match[2] == "f16.f16";
  instruction.execute = product;
  return instruction.columns % 8 == 0 && instruction.columns >= 8 && instruction.columns <= 256;
}

} // namespace flashqla::emulation
