// Bit patterns of scalars as kernels take them and as files hold them.
#pragma once

#include "flashqla/tensor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace flashqla {

/// The nearest value, ties to even, of a binary format with these field widths; too large becomes
/// infinity.
inline std::uint16_t roundToHalfWidth(double value, int exponentBits, int mantissaBits) {
  const std::uint32_t sign = std::signbit(value) ? 0x8000 : 0;
  const std::uint32_t infinity = ((1u << exponentBits) - 1) << mantissaBits;
  if (std::isnan(value))
    return static_cast<std::uint16_t>(sign | infinity | 1u << (mantissaBits - 1));
  if (std::isinf(value))
    return static_cast<std::uint16_t>(sign | infinity);
  const int smallest = 2 - (1 << (exponentBits - 1)); // exponent of the smallest normal number
  int exponent = 0;
  std::frexp(value, &exponent);
  exponent = value == 0 ? smallest : std::max(exponent - 1, smallest);
  const double steps = std::nearbyint(std::ldexp(std::fabs(value), mantissaBits - exponent));
  // A carry out of the mantissa raises the exponent field by itself.
  const std::uint64_t bits =
      (std::uint64_t(exponent - smallest) << mantissaBits) + std::uint64_t(steps);
  return static_cast<std::uint16_t>(sign | (bits >= infinity ? infinity : std::uint32_t(bits)));
}

/// The bits of a scalar argument, in the low bytes. `integer` serves the integer types and bool,
/// `real` the float types.
inline std::uint64_t scalarBits(DType dtype, std::int64_t integer, double real) {
  switch (dtype) {
  case DType::BF16:
    return roundToHalfWidth(real, 8, 7);
  case DType::F16:
    return roundToHalfWidth(real, 5, 10);
  case DType::F32:
    return std::bit_cast<std::uint32_t>(static_cast<float>(real));
  case DType::F64:
    return std::bit_cast<std::uint64_t>(real);
  case DType::I32:
  case DType::I64:
  case DType::Bool:
    return static_cast<std::uint64_t>(integer);
  }
  return 0;
}

} // namespace flashqla
