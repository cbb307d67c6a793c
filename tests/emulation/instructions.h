// What each PTX instruction does, by its opcode with all modifiers. An instruction that the prelude
// begins to use gets a line in one of the tables and a function beside it.
#pragma once

#include "tests/emulation/cta.h"
#include "tests/emulation/ptx.h"

#include <span>
#include <string_view>

namespace flashqla::emulation {

struct InstructionEntry {
  std::string_view opcode;
  Execute execute;
};

std::span<const InstructionEntry> arithmeticInstructions();
std::span<const InstructionEntry> threadInstructions();
std::span<const InstructionEntry> memoryInstructions();
std::span<const InstructionEntry> copyInstructions();
std::span<const InstructionEntry> productInstructions();

/// wgmma.mma_async, of all shapes: fills in what the opcode says. False for another opcode.
bool readProduct(Instruction &instruction);

/// Sets `execute`. False for an unknown opcode.
bool findInstruction(Instruction &instruction);

/// The first value of an operand.
inline const PtxValue &operand(const Instruction &instruction, std::size_t index) {
  return instruction.operands.at(index).at(0);
}

} // namespace flashqla::emulation
