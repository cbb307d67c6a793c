/// Where the elements of a shared tile live.
///
/// A tile is row-major, or a column of *panels*: each panel is 32, 64 or 128 bytes wide and as tall as the tile, and
/// its 16-byte chunks are permuted by the XOR that TMA and wgmma apply. A 64 × 128 bf16 tile with swizzle128 is two
/// panels of 64 × 64 elements, the second 64 · 128 bytes behind the first:
///
///     SharedLayout layout({64, 128}, 2, 128);
///     layout.byteOffset(3, 72)   // panel 1, row 3, chunk 1 ^ 3
///
/// The swizzle is a function of address bits, so a tile (and each window that is an operand) must start at a multiple
/// of 8 rows: 8 · 128 = 1024 bytes for swizzle128 (PTX ISA, "Shared memory matrix layout").
#pragma once

#include <cstdint>
#include <vector>

namespace flashqla {

class SharedLayout {
public:
  /// `shape` in elements, the last dimension contiguous; all others count as rows. `swizzleBytes` is 0 (row-major),
  /// 32, 64 or 128.
  SharedLayout(std::vector<int64_t> shape, int64_t elementBytes, int64_t swizzleBytes);

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  int64_t elementBytes() const { return elementBytes_; }
  int64_t swizzleBytes() const { return swizzleBytes_; }
  /// Width of a panel in elements; the whole row if the tile is row-major.
  int64_t panelColumns() const { return swizzleBytes_ ? swizzleBytes_ / elementBytes_ : columns_; }
  int64_t panels() const { return columns_ / panelColumns(); }
  /// Distance between two rows of a panel.
  int64_t rowBytes() const { return panelColumns() * elementBytes_; }
  int64_t panelBytes() const { return rows_ * rowBytes(); }
  int64_t tileBytes() const { return panels() * panelBytes(); }
  /// What the start of a tile must be a multiple of: eight rows for a swizzle, 128 bytes for TMA.
  int64_t alignment() const { return swizzleBytes_ ? 8 * swizzleBytes_ : 128; }
  /// Distance between the tiles of a ring.
  int64_t slotBytes() const { return (tileBytes() + alignment() - 1) / alignment() * alignment(); }

  /// Byte offset of an element from the start of the tile.
  int64_t byteOffset(int64_t row, int64_t column) const;

private:
  int64_t rows_ = 1, columns_ = 1, elementBytes_, swizzleBytes_;
};

/// Ways of the worst bank conflict when 32 lanes access 4-byte words at these byte offsets; 1 is none.
int64_t bankConflict(const std::vector<int64_t> &laneOffsets);

} // namespace flashqla
