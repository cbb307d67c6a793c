// The PTX of one assembly statement, decoded: a list of instructions that an interpreter can walk.
//
//   {.reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p;}
//
// has two, and one register of its own. What an instruction does is a function of instructions.h,
// found by its opcode with all modifiers: one that is not there is an error and never guessed.
#pragma once

#include "tests/emulation/interface.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flashqla::emulation {

class Cta;
struct Frame;
struct Instruction;

using Execute = void (*)(Cta &, const Instruction &, Frame &);

/// One value in an operand: `%3`, `p`, `16`, `_`, `%%clock`.
struct PtxValue {
  enum class Kind : std::uint8_t { Operand, Register, Immediate, Sink, Clock };
  Kind kind = Kind::Sink;
  unsigned index = 0;         // of the operand or register
  std::uint64_t constant = 0; // sign-extended
};

/// What stands between two commas, brackets left out: `[%1, {%3, %4}]` is three values.
using PtxOperand = std::vector<PtxValue>;

struct Instruction {
  std::string opcode; // with modifiers
  std::vector<PtxOperand> operands;
  bool guarded = false, guardNegated = false; // `@p`, `@!p`
  PtxValue guard;
  std::size_t target = 0; // of a branch: index of an instruction
  unsigned columns = 0;   // of a product: N of m64nNk16 …
  bool f16 = false;       // … and its element type
  Execute execute = nullptr;
};

struct Statement {
  std::vector<Instruction> code;
  unsigned registers = 0;
};

/// The values of a statement while it runs.
struct Frame {
  static constexpr unsigned maxRegisters = 8;
  Operand *operands;
  std::size_t next = 0; // instruction
  std::uint64_t registers[maxRegisters] = {};

  std::uint64_t get(const PtxValue &value) const;
  std::uint32_t get32(const PtxValue &value) const {
    return static_cast<std::uint32_t>(get(value));
  }
  float getFloat(const PtxValue &value) const;
  /// Writes the low bytes, as many as the target has. A sink takes everything.
  void set(const PtxValue &value, std::uint64_t bits);
  void setFloat(const PtxValue &value, float x);
};

/// Throws a Violation for what cannot be read and for unknown instructions.
Statement decodePtx(std::string_view text);

} // namespace flashqla::emulation
