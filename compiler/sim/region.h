/// Which elements of a tile an access touches: a box, or some elements of a box.
///
///     Region half = Region::box({{0, 64}, {64, 128}});     // rows 0..63, columns 64..127
///     half.overlaps(Region::box({{32, 96}, {0, 64}}))      // false
///
/// A map whose indices are not plain (`x_s[c, r % 8]`, points left out by `where`) touches single elements of a box; they
/// are marked one by one.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace flashqla::sim {

constexpr unsigned maxRank = 6;

/// Coordinates begin … end - 1 of a dimension.
struct Interval {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
  bool operator==(const Interval &) const = default;
};

/// Calls `visit` with the offset of each element of a box in the row-major order of a bigger one.
template <class Visit>
void forEachElement(std::span<const Interval> box, std::span<const Interval> outer, Visit visit) {
  for (const Interval &side : box)
    if (side.size() <= 0)
      return;
  std::array<int64_t, maxRank> at{};
  const size_t rank = box.size();
  if (rank == 0)
    return visit(int64_t(0));
  for (;;) {
    int64_t offset = 0;
    for (size_t dim = 0; dim + 1 < rank; ++dim)
      offset = (offset + box[dim].begin + at[dim] - outer[dim].begin) * outer[dim + 1].size();
    offset += box[rank - 1].begin - outer[rank - 1].begin;
    for (int64_t last = 0; last < box[rank - 1].size(); ++last)
      visit(offset + last);
    size_t dim = rank - 1;
    do {
      if (dim == 0)
        return;
      --dim;
      if (++at[dim] < box[dim].size())
        break;
      at[dim] = 0;
    } while (true);
  }
}

class Region {
public:
  Region() = default;
  static Region box(std::span<const Interval> sides);
  static Region box(std::initializer_list<Interval> sides) { return box(std::span(sides.begin(), sides.size())); }
  /// Elements of a box, in its row-major order.
  static Region some(std::span<const Interval> sides, std::vector<bool> elements);

  std::span<const Interval> sides() const { return {intervals.data(), rank}; }
  bool empty() const;
  int64_t volume() const; ///< of the box
  /// Whether an element is in both.
  bool overlaps(const Region &other) const;
  /// Whether each element of `other` is in this one.
  bool covers(const Region &other) const;
  /// The elements of `other` that are not in this one.
  Region remainder(const Region &other) const;

  /// Calls `visit` with the offset of each element in the row-major order of a box around it.
  template <class Visit> void forEach(std::span<const Interval> outer, Visit visit) const {
    int64_t next = 0;
    forEachElement(sides(), outer, [&](int64_t offset) {
      if (!marked || (*marked)[next])
        visit(offset);
      ++next;
    });
  }

private:
  bool contains(std::span<const Interval> box) const;
  std::optional<Region> boxLeft(const Region &other) const;

  std::array<Interval, maxRank> intervals{};
  unsigned rank = 0;
  std::shared_ptr<const std::vector<bool>> marked; ///< absent: all elements of the box
};

} // namespace flashqla::sim
