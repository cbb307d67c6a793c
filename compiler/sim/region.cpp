#include "compiler/sim/region.h"

#include <algorithm>

namespace flashqla::sim {

Region Region::box(std::span<const Interval> sides) {
  Region region;
  region.rank = static_cast<unsigned>(sides.size());
  std::copy(sides.begin(), sides.end(), region.intervals.begin());
  return region;
}

Region Region::some(std::span<const Interval> sides, std::vector<bool> elements) {
  Region region = box(sides);
  if (std::find(elements.begin(), elements.end(), false) != elements.end())
    region.marked = std::make_shared<const std::vector<bool>>(std::move(elements));
  return region;
}

bool Region::empty() const {
  for (const Interval &side : sides())
    if (side.size() <= 0)
      return true;
  return marked && std::find(marked->begin(), marked->end(), true) == marked->end();
}

int64_t Region::volume() const {
  int64_t product = 1;
  for (const Interval &side : sides())
    product *= std::max<int64_t>(side.size(), 0);
  return product;
}

bool Region::overlaps(const Region &other) const {
  std::array<Interval, maxRank> common;
  for (unsigned dim = 0; dim < rank; ++dim) {
    common[dim] = {std::max(intervals[dim].begin, other.intervals[dim].begin),
                   std::min(intervals[dim].end, other.intervals[dim].end)};
    if (common[dim].size() <= 0)
      return false;
  }
  if (!marked && !other.marked)
    return true;
  std::span<const Interval> box{common.data(), rank};
  std::vector<bool> here(box.empty() ? 1 : Region::box(box).volume(), true);
  for (const Region *region : {this, &other}) {
    if (!region->marked)
      continue;
    size_t next = 0;
    forEachElement(box, region->sides(), [&](int64_t offset) {
      here[next] = here[next] && (*region->marked)[offset];
      ++next;
    });
  }
  return std::find(here.begin(), here.end(), true) != here.end();
}

bool Region::contains(std::span<const Interval> box) const {
  for (unsigned dim = 0; dim < rank; ++dim)
    if (box[dim].begin < intervals[dim].begin || box[dim].end > intervals[dim].end)
      return false;
  return true;
}

bool Region::covers(const Region &other) const {
  if (!marked && (!other.marked || contains(other.sides())))
    return contains(other.sides()) || other.empty();
  return remainder(other).empty();
}

/// The rest of a box is a box where they differ at one end of one dimension.
std::optional<Region> Region::boxLeft(const Region &other) const {
  Region left = other;
  bool cut = false;
  for (unsigned dim = 0; dim < rank; ++dim) {
    const Interval &mine = intervals[dim];
    Interval &side = left.intervals[dim];
    const bool fromBegin = mine.begin <= side.begin, toEnd = mine.end >= side.end;
    if (fromBegin && toEnd)
      continue;
    if (cut || (!fromBegin && !toEnd))
      return std::nullopt;
    cut = true;
    (fromBegin ? side.begin : side.end) = fromBegin ? mine.end : mine.begin;
  }
  return left;
}

Region Region::remainder(const Region &other) const {
  if (!overlaps(other))
    return other;
  if (!marked && contains(other.sides()))
    return Region::box({{0, 0}});
  if (!marked && !other.marked)
    if (std::optional<Region> left = boxLeft(other))
      return *left;
  std::vector<bool> left(other.volume());
  other.forEach(other.sides(), [&](int64_t offset) { left[offset] = true; });
  std::array<Interval, maxRank> common;
  for (unsigned dim = 0; dim < rank; ++dim)
    common[dim] = {std::max(intervals[dim].begin, other.intervals[dim].begin),
                   std::min(intervals[dim].end, other.intervals[dim].end)};
  std::span<const Interval> box{common.data(), rank};
  std::vector<bool> mine;
  forEachElement(box, sides(), [&](int64_t offset) { mine.push_back(!marked || (*marked)[offset]); });
  size_t next = 0;
  forEachElement(box, other.sides(), [&](int64_t offset) {
    if (mine[next++])
      left[offset] = false;
  });
  return some(other.sides(), std::move(left));
}

} // namespace flashqla::sim
