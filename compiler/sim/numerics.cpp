#include "compiler/sim/numerics.h"

#include <algorithm>
#include <vector>

namespace flashqla::sim {

void multiply(ProductMode mode, std::span<const float> a, std::span<const float> b, std::span<float> target, int64_t m,
              int64_t n, int64_t k) {
  if (mode == ProductMode::Set)
    std::fill(target.begin(), target.end(), 0.0f);
  for (int64_t row = 0; row < m; ++row) {
    float *sums = target.data() + row * n;
    for (int64_t step = 0; step < k; ++step) {
      const float factor = mode == ProductMode::Sub ? -a[row * k + step] : a[row * k + step];
      const float *terms = b.data() + step * n;
      for (int64_t column = 0; column < n; ++column)
        sums[column] += factor * terms[column];
    }
  }
}

namespace {

constexpr int64_t size = 64;

/// The block of rows `row` … and columns `column` … of a 64 × 64 matrix, rounded to f16.
std::vector<float> halfBlock(std::span<const float> matrix, int64_t row, int64_t column, int64_t extent) {
  std::vector<float> block(extent * extent);
  for (int64_t i = 0; i < extent; ++i)
    for (int64_t j = 0; j < extent; ++j)
      block[i * extent + j] = roundF16(matrix[(row + i) * size + column + j]);
  return block;
}

/// X_10 = -(X_11 L_10) X_00 for the blocks that begin at `first`: f16 operands, f32 sums.
void merge(std::span<const float> l, std::span<float> x, int64_t first, int64_t extent) {
  const int64_t second = first + extent;
  std::vector<float> product(extent * extent), result(extent * extent);
  multiply(ProductMode::Set, halfBlock(x, second, second, extent), halfBlock(l, second, first, extent), product, extent,
           extent, extent);
  for (float &value : product)
    value = roundF16(-value);
  multiply(ProductMode::Set, product, halfBlock(x, first, first, extent), result, extent, extent, extent);
  for (int64_t i = 0; i < extent; ++i)
    for (int64_t j = 0; j < extent; ++j)
      x[(second + i) * size + first + j] = result[i * extent + j];
}

} // namespace

void unitLowerInverse(std::span<const float> l, std::span<float> x, Element scratch) {
  const std::vector<float> lower(l.begin(), l.end());
  const Element kept = scratch == Element::F32 ? Element::F16 : scratch;
  std::fill(x.begin(), x.end(), 0.0f);
  for (int64_t block = 0; block < size; block += 16)
    for (int64_t column = 0; column < 16; ++column)
      for (int64_t row = column; row < 16; ++row) {
        float sum = row == column ? 1.0f : 0.0f;
        for (int64_t k = column; k < row; ++k)
          sum -= lower[(block + row) * size + block + k] * x[(block + k) * size + block + column];
        x[(block + row) * size + block + column] = roundTo(kept, sum);
      }
  merge(lower, x, 0, 16);
  merge(lower, x, 32, 16);
  merge(lower, x, 0, 32);
}

} // namespace flashqla::sim
