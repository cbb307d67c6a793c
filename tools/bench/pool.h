// Device memory full of random data that benchmarks cut their tensors from.
//
// A call of a benchmark that fits into the L2 cache would find its inputs there from the call
// before. So each call takes the next of several sets of tensors, which together are larger than
// L2.
#pragma once

#include "flashqla/device.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace flashqla::bench {

/// Three times the L2 cache of an H200.
inline constexpr std::int64_t beyondL2Bytes = 3 * 60'000'000;

enum class Fill : std::uint8_t {
  Normal,   // bf16, standard normal
  UnitRows, // bf16, rows of 128 with norm one
  Uniform,  // f32 in [0, 1)
  Zero,
};

class Pool {
public:
  /// Errors are exceptions.
  Pool(const Device &device, std::int64_t bytes, Fill fill, std::uint64_t seed);

  std::int64_t bytes() const { return static_cast<std::int64_t>(buffer.bytes()); }
  /// How many tensors of this size fit, one behind the other at multiples of 256 bytes.
  std::int64_t capacity(std::int64_t tensorBytes) const {
    return bytes() / std::max<std::int64_t>(step(tensorBytes), 1);
  }
  void *at(std::int64_t set, std::int64_t tensorBytes) const {
    return static_cast<std::byte *>(buffer.data()) + set * step(tensorBytes);
  }

private:
  static std::int64_t step(std::int64_t tensorBytes) { return (tensorBytes + 255) / 256 * 256; }
  DeviceBuffer buffer;
};

} // namespace flashqla::bench
