// Random choices that depend on a seed alone.
//
//     Random random(seed);
//     int64_t slots = random.between(1, 5);
//     if (random.chance(30)) …                      // in 30 of 100 cases
//     Type type = random.pick({Type::BF16, Type::F16});
#pragma once

#include "kernels/host_tensor.h"

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace flashqla::random {

class Random {
public:
  explicit Random(std::uint64_t seed) : seed(seed) {}

  std::uint64_t bits() { return randomBits(seed, next++); }
  /// From 0 below `bound`.
  std::int64_t below(std::int64_t bound) { return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(bound)); }
  /// From `low` to `high`, both included.
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T> T pick(std::initializer_list<T> items) { return items.begin()[below(items.size())]; }
  template <class T> const T &pick(const std::vector<T> &items) { return items[below(items.size())]; }
  template <class T> void shuffle(std::vector<T> &items) {
    for (std::size_t i = items.size(); i > 1; --i)
      std::swap(items[i - 1], items[below(i)]);
  }

private:
  std::uint64_t seed, next = 0;
};

} // namespace flashqla::random
