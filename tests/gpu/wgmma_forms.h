// The wgmma instructions that the compiler can emit, and the operands that are probed: shared by
// the program that compiles the probe (compile_cuda.cpp) and by the test that runs it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flashqla {

/// One m64nNk16 with f32 accumulators.
struct WgmmaForm {
  int n = 8;
  bool f16 = false, registerA = false, transposeA = false, transposeB = false;

  /// "ss_bf16_ta_n64": s or r for shared memory or registers; ta, tb for M-major A, N-major B.
  std::string name() const;
};

/// bf16 with every N; f16, which differs in the arithmetic only, with a few.
std::vector<WgmmaForm> wgmmaForms();

/// A shared operand as a descriptor names it; bytes count from a multiple of 1024.
struct OperandCase {
  bool isA = false, kMajor = true;
  int swizzle = 128; // bytes
  int extent = 64;   // rows of A, columns of B
  std::uint32_t start = 0, leading = 16, stride = 1024;

  std::uint32_t mode() const { return swizzle == 128 ? 1 : swizzle == 64 ? 2 : 3; }
  friend bool operator==(const OperandCase &, const OperandCase &) = default;
};

/// Operands at their origin, windows in every direction, tiles of several heights, and offsets that
/// the hardware should not look at.
std::vector<OperandCase> operandCases();

/// The swizzled tile at the origin that every form is probed with.
OperandCase plainOperand(const WgmmaForm &form, bool isA);

} // namespace flashqla
