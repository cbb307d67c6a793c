/// How a fragment is dealt to the threads of its role.
///
/// A layout is a list of *digits*. Each digit is a slice of a thread's register index, lane or warp number, and moves
/// one coordinate by a stride:
///
///     coordinate[d] = Σ over digits of dimension d:  digit value · stride
///
/// The accumulator of a 64 × N product (PTX ISA, "wgmma .m64nNk16 register fragments") is
///
///     register  4j + 2h + e   →  column 8j, row 8h, column e
///     lane      4g + q        →  row g, column 2q
///     warp      w             →  row 16w
///
/// Digits of a register, lane or warp are listed from the most significant to the least. A digit of no dimension
/// (`dim` < 0) is a replica: threads that differ only there hold the same elements. Extents need not divide the shape:
/// what lies beyond it is padding, which readers and writers of memory must skip.
#pragma once

#include <cstdint>
#include <vector>

namespace flashqla {

struct LayoutDigit {
  enum class Source { Register, Lane, Warp };
  Source source;
  int64_t extent; ///< number of values of the digit
  int dim;        ///< coordinate that it moves; -1 for a replica
  int64_t stride; ///< by how much
  bool operator==(const LayoutDigit &) const = default;
};

class FragmentLayout {
public:
  /// The layout of a wgmma accumulator, and of a 16-bit A operand: `rows` is a multiple of 64 · warps / 4, dealt to the
  /// warpgroups in contiguous blocks; `columns` is a multiple of 8.
  static FragmentLayout accumulator(int64_t rows, int64_t columns, int64_t warps);

  /// Pieces of `piece` consecutive elements of the last dimension go to the lanes, then (rank 1) to the warps and
  /// registers, or (rank 2) the rest of a row to registers and rows to lanes that are left, warps and registers.
  static FragmentLayout vector(std::vector<int64_t> shape, int64_t warps, int64_t piece);

  /// The last dimension spread over the lanes of one warp, consecutive elements together; other dimensions over the
  /// warps. For scans.
  static FragmentLayout lines(std::vector<int64_t> shape, int64_t warps);

  /// The slice that keeps only these dimensions, in this order; replicated along the others.
  FragmentLayout keep(const std::vector<int> &dims) const;

  /// The opposite: dimension d becomes dimension dims[d] of this shape; along the others each thread has all elements.
  FragmentLayout widen(const std::vector<int> &dims, std::vector<int64_t> shape) const;

  /// The same layout of a window of `extent` elements in dimension `dim`, for register digits only (columns of an
  /// accumulator).
  FragmentLayout window(int dim, int64_t extent) const;

  const std::vector<int64_t> &shape() const { return shape_; }
  const std::vector<LayoutDigit> &digits() const { return digits_; }
  std::vector<LayoutDigit> digits(LayoutDigit::Source source) const;
  /// Registers of a thread, one element each.
  int64_t registers() const { return count(LayoutDigit::Source::Register); }
  /// Product of the extents of a source's digits.
  int64_t count(LayoutDigit::Source source) const;
  /// True if some register of some thread lies beyond the shape in this dimension.
  bool isPadded(int dim) const;
  bool isPadded() const;
  /// True if the digits of `source` move dimension `dim`.
  bool moves(LayoutDigit::Source source, int dim) const;

  /// The element that a register of a thread holds.
  std::vector<int64_t> coordinates(int64_t warp, int64_t lane, int64_t reg) const;

  bool operator==(const FragmentLayout &) const = default;

private:
  FragmentLayout(std::vector<int64_t> shape, std::vector<LayoutDigit> digits)
      : shape_(std::move(shape)), digits_(std::move(digits)) {}

  std::vector<int64_t> shape_;
  std::vector<LayoutDigit> digits_;
};

} // namespace flashqla
