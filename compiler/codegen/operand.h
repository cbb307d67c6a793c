/// A shared operand of a product as wgmma descriptors: offsets, swizzle mode, and where each k-step starts.
///
/// A product over K is K / 16 instructions, each with a descriptor of its own (PTX ISA, "Matrix descriptor"). What the
/// hardware then reads was measured (tests/gpu/golden/wgmma_layout.txt), and a test holds the two against each other.
///
///     SharedLayout layout({128, 64}, 2, 128);                    // a K-major tile: rows of 64 k
///     OperandSteps steps = operandSteps(layout, /*kContiguous=*/true);
///     steps.stride                                               // 1024: eight rows
///     steps.stepByte(3)                                          // 96: k = 48 … 63 of row 0
#pragma once

#include "compiler/layout/shared_layout.h"

#include <cstdint>
#include <string>

namespace flashqla::codegen {

struct OperandSteps {
  int64_t leading, stride; ///< bytes, for the descriptor
  int64_t mode;            ///< swizzle of the descriptor: 1 for 128 bytes, 2 for 64, 3 for 32
  int64_t perStep;         ///< bytes from one 16-deep k-step to the next inside a panel
  int64_t stepsPerPanel;   ///< k-steps before the next panel; 0 if panels do not run along k
  int64_t panelBytes;

  /// Bytes from the first k-step to this one.
  int64_t stepByte(int64_t k) const;
  /// The same as C++ text over the variable `k`, which is below `count`.
  std::string stepText(int64_t count) const;
};

/// `kContiguous`: the columns of the tile run along k (K-major); otherwise its rows do.
OperandSteps operandSteps(const SharedLayout &layout, bool kContiguous);

/// Byte of a swizzled tile from which a window that starts at this column is addressed.
int64_t windowColumnByte(const SharedLayout &layout, int64_t column);

} // namespace flashqla::codegen
