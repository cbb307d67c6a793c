#include "compiler/layout/shared_layout.h"

#include <algorithm>
#include <array>
#include <set>

namespace flashqla {

SharedLayout::SharedLayout(std::vector<int64_t> shape, int64_t elementBytes, int64_t swizzleBytes)
    : elementBytes_(elementBytes), swizzleBytes_(swizzleBytes) {
  columns_ = shape.empty() ? 1 : shape.back();
  for (size_t i = 0; i + 1 < shape.size(); ++i)
    rows_ *= shape[i];
}

int64_t SharedLayout::byteOffset(int64_t row, int64_t column) const {
  int64_t offset = column / panelColumns() * panelBytes() + row * rowBytes() + column % panelColumns() * elementBytes_;
  if (!swizzleBytes_)
    return offset;
  // Bits 4.. of the address are XORed with bits 7..: three of them for 128 bytes, two for 64, one for 32.
  int64_t mask = swizzleBytes_ / 16 - 1;
  return offset ^ ((offset >> 7 & mask) << 4);
}

int64_t bankConflict(const std::vector<int64_t> &laneOffsets) {
  std::array<std::set<int64_t>, 32> words;
  for (int64_t offset : laneOffsets)
    words[offset / 4 % 32].insert(offset / 4);
  size_t worst = 1;
  for (const std::set<int64_t> &bank : words)
    worst = std::max(worst, bank.size());
  return worst;
}

} // namespace flashqla
