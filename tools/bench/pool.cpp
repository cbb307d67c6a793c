#include "tools/bench/pool.h"

#include "kernels/host_tensor.h"
#include "kernels/parallel.h"
#include "tools/bench/timing.h"

#include <cmath>
#include <vector>

namespace flashqla::bench {

namespace {

constexpr std::int64_t blockElements = 1 << 24; // the pattern repeats after these
constexpr std::int64_t rowElements = 128;

void fillRow(std::uint16_t *row, std::int64_t first, bool unit, std::uint64_t seed) {
  double values[rowElements], squares = 0;
  for (std::int64_t i = 0; i < rowElements; ++i) {
    values[i] = randomNormal(seed, static_cast<std::uint64_t>(first + i));
    squares += values[i] * values[i];
  }
  const double factor = unit ? 1 / std::sqrt(squares) : 1;
  for (std::int64_t i = 0; i < rowElements; ++i)
    row[i] = toBf16(static_cast<float>(factor * values[i]));
}

std::vector<std::uint16_t> bf16Block(bool unit, std::uint64_t seed) {
  std::vector<std::uint16_t> block(blockElements);
  parallelFor(blockElements / rowElements, 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      fillRow(&block[static_cast<std::size_t>(row * rowElements)], row * rowElements, unit, seed);
  });
  return block;
}

std::vector<float> uniformBlock(std::uint64_t seed) {
  std::vector<float> block(blockElements);
  parallelFor(blockElements, 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      block[static_cast<std::size_t>(i)] =
          static_cast<float>(randomUniform(seed, static_cast<std::uint64_t>(i)));
  });
  return block;
}

template <class T> void repeat(const DeviceBuffer &buffer, const std::vector<T> &block) {
  const std::size_t blockBytes = block.size() * sizeof(T);
  for (std::size_t offset = 0; offset < buffer.bytes(); offset += blockBytes)
    must(buffer.copyFrom(block.data(), std::min(blockBytes, buffer.bytes() - offset), offset));
}

} // namespace

Pool::Pool(const Device &device, std::int64_t bytes, Fill fill, std::uint64_t seed)
    : buffer(must(DeviceBuffer::allocate(device, static_cast<std::size_t>(bytes)))) {
  if (fill == Fill::Zero)
    must(buffer.fill(0));
  else if (fill == Fill::Uniform)
    repeat(buffer, uniformBlock(seed));
  else
    repeat(buffer, bf16Block(fill == Fill::UnitRows, seed));
}

} // namespace flashqla::bench
