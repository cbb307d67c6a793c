// What the probe of wgmma found, as data and as text: tests/gpu/golden/wgmma_layout.txt.
//
// The text is the same on every chip that behaves the same. Its lines:
//
//     accumulator                       which element a register of a thread holds, as the (row,
//       thread (0,2) (0,4) (1,0) …      column) that each bit of the thread's number and of the
//       register (0,1) (8,0) (0,8) …    register's adds; of n256, other forms use its beginning
//     operand-a                         the same of an A operand in registers: (row, k) of element
//       thread …                        2 r + h, half h of register r
//       element …
//     form ss_bf16_n64 d 5c.. a 91.. b 0e..
//                                       checksums of the tables of a form and its two operands in
//                                       plain swizzled tiles; d where both are K-major
//     operand b mn 128 extent 64 start 32 leading 8192 stride 1024 descriptor 40000040…
//       32 48 … | …                     from where the hardware reads, bytes from the address that
//                                       `start` counts from
//
// A line of an operand's table is a row (or column of B) if the operand is K-major, a k otherwise;
// `|` separates lines. A number is the first byte of 8 consecutive elements along the other
// dimension. `every 8 lines +1024`, `every 8 chunks +2048`: the table goes on like that.
#pragma once

#include "tests/gpu/wgmma_forms.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace flashqla {

using Place = std::array<int, 2>; // row and column, or row and k

struct OperandTable {
  OperandCase wanted;
  std::uint64_t descriptor = 0; // with the address 0 + start
  /// Byte of element [row or column][k]; −1: not exactly one element of the operand.
  std::vector<std::int32_t> bytes;

  std::int32_t at(int element, int k) const {
    return bytes[static_cast<std::size_t>(element) * 16 + k];
  }
};

struct FormSums {
  std::string name;
  std::string d, a, b; // d empty: not known
  friend bool operator==(const FormSums &, const FormSums &) = default;
};

struct WgmmaLayouts {
  std::vector<Place> accumulator; // of register i of thread t at 128 i + t; 128 registers
  std::vector<Place> operandA;    // of element e at 128 e + t; 8 elements
  std::vector<FormSums> forms;
  std::vector<OperandTable> operands;

  const OperandTable *find(const OperandCase &wanted) const;
};

/// Throws std::runtime_error where fragments are no sums over bits.
std::string printLayouts(const WgmmaLayouts &layouts);
/// Throws std::runtime_error with the line that is not understood.
WgmmaLayouts readLayouts(const std::string &text);

/// FNV-1a over the numbers, 16 digits.
std::string checksum(std::span<const std::int32_t> numbers);
std::string checksum(std::span<const Place> places);

} // namespace flashqla
