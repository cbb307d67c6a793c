#include "tests/emulation/instructions.h"

namespace flashqla::emulation {

bool findInstruction(Instruction &instruction) {
  if (readProduct(instruction))
    return true;
  for (const auto &table : {arithmeticInstructions(), threadInstructions(), memoryInstructions(),
                            copyInstructions(), productInstructions()})
    for (const InstructionEntry &entry : table)
      if (entry.opcode == instruction.opcode) {
        instruction.execute = entry.execute;
        return true;
      }
  return false;
}

} // namespace flashqla::emulation
