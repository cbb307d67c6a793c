#include "compiler/codegen/operand.h"

#include <fmt/format.h>

namespace flashqla::codegen {

int64_t OperandSteps::stepByte(int64_t k) const {
  if (stepsPerPanel == 0)
    return perStep * k;
  return k / stepsPerPanel * panelBytes + k % stepsPerPanel * perStep;
}

std::string OperandSteps::stepText(int64_t count) const {
  if (stepsPerPanel == 0 || stepsPerPanel >= count)
    return fmt::format("{} * k", perStep);
  return fmt::format("k / {} * {} + k % {} * {}", stepsPerPanel, panelBytes, stepsPerPanel, perStep);
}

OperandSteps operandSteps(const SharedLayout &layout, bool kContiguous) {
  int64_t row = layout.rowBytes(), mode = row == 128 ? 1 : row == 64 ? 2 : 3;
  if (kContiguous) // 16 elements of k are 32 bytes of the swizzled row; panels follow each other along k
    return {16, 8 * row, mode, 32, layout.panelColumns() / 16, layout.panelBytes()};
  // 16 rows of k; panels follow each other along m or n, one leading offset apart
  return {layout.panelBytes(), 8 * row, mode, 16 * row, 0, layout.panelBytes()};
}

int64_t windowColumnByte(const SharedLayout &layout, int64_t column) {
  return column / layout.panelColumns() * layout.panelBytes() + column % layout.panelColumns() * layout.elementBytes();
}

} // namespace flashqla::codegen
