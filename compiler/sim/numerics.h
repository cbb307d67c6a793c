/// Arithmetic as the GPU does it, as far as results should agree to rounding: 16-bit floats round to nearest even,
/// everything else is f32. The special function unit's errors (docs/language.md, "Precision") are not modelled.
#pragma once

#include "compiler/sim/program.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>

namespace flashqla::sim {

inline float roundBF16(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return x; // NaN
  bits += 0x7fff + (bits >> 16 & 1);
  return std::bit_cast<float>(bits & 0xffff0000);
}
inline float roundF16(float x) { return static_cast<float>(static_cast<_Float16>(x)); }
inline float roundTo(Element element, float x) {
  return element == Element::BF16 ? roundBF16(x) : element == Element::F16 ? roundF16(x) : x;
}

inline float exp2Of(float x) { return std::exp2(x); }
inline float expOf(float x) { return std::exp2(x * 1.4426950408889634f); }
inline float log2Of(float x) { return std::log2(x); }
inline float logOf(float x) { return std::log2(x) * 0.6931471805599453f; }

/// target ∘= a · b. a: [m, k], b: [k, n], target: [m, n], row-major; sums in f32 in the order of k.
void multiply(ProductMode mode, std::span<const float> a, std::span<const float> b, std::span<float> target, int64_t m,
              int64_t n, int64_t k);

/// x = (I + l)^-1 for a strictly lower triangular l, both [64, 64] and row-major; they may be the same. In the steps and
/// roundings of `tile.unit_lower_inverse` with a scratch tile of this type.
void unitLowerInverse(std::span<const float> l, std::span<float> x, Element scratch);

} // namespace flashqla::sim
