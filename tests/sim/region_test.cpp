// Regions against sets of elements.
#include "compiler/sim/region.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

using namespace flashqla::sim;

namespace {

using Elements = std::set<int64_t>;
constexpr std::array<Interval, 2> outer = {{{0, 6}, {0, 7}}};

Elements elementsOf(const Region &region) {
  Elements elements;
  if (!region.empty())
    region.forEach(outer, [&](int64_t offset) { elements.insert(offset); });
  return elements;
}

Region randomRegion(std::mt19937 &random) {
  std::array<Interval, 2> sides;
  for (size_t dim = 0; dim < 2; ++dim) {
    int64_t begin = random() % outer[dim].end, end = begin + 1 + random() % (outer[dim].end - begin);
    sides[dim] = {begin, end};
  }
  if (random() % 2)
    return Region::box(sides);
  std::vector<bool> marks(sides[0].size() * sides[1].size());
  for (size_t i = 0; i < marks.size(); ++i)
    marks[i] = random() % 3 != 0;
  return Region::some(sides, marks);
}

} // namespace

TEST(Region, agrees_with_sets_of_elements) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 3000; ++trial) {
    const Region a = randomRegion(random), b = randomRegion(random);
    const Elements inA = elementsOf(a), inB = elementsOf(b);
    Elements both, rest;
    for (int64_t element : inB)
      (inA.contains(element) ? both : rest).insert(element);
    EXPECT_EQ(a.empty(), inA.empty());
    if (inA.empty() || inB.empty())
      continue;
    EXPECT_EQ(a.overlaps(b), !both.empty());
    EXPECT_EQ(a.covers(b), rest.empty());
    EXPECT_EQ(elementsOf(a.remainder(b)), rest);
  }
}
