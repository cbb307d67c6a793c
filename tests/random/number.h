// What is known of the values of an expression, so that engines can be compared bit for bit.
//
// Most random programs compute with fixed-point numbers: multiples of 2^-fraction whose magnitude is at most
// 2^magnitude. As long as both together stay below the precision of f32, every sum, product and maximum is exact in any
// order, fused or not, and rounding to 16 bits is a function of the value. Comparisons may then depend on data too.
// What comes out of a function of the special function unit is known up to an error, which is followed instead.
#pragma once

#include <cstdint>
#include <string>

namespace flashqla::random {

/// Element types.
enum class Type : std::uint8_t { BF16, F16, F32, I32, I64 };
std::string typeName(Type type);
std::int64_t typeBytes(Type type);

struct Number {
  int fraction = 0;
  int magnitude = 0;
  double error = 0; ///< by how much two engines may differ; 0 for fixed point

  bool exact() const { return error == 0; }
  /// Bits that a value needs besides its sign.
  int bits() const { return fraction + magnitude; }
  bool fits() const;
  /// Still known well enough to be worth a comparison.
  bool useful() const;
};

/// One less than the 24 of f32 for the sign of a sum, one for the tensor cores, which cut off what lies far below the
/// largest term.
inline constexpr int exactBits = 22;

Number plus(const Number &a, const Number &b);
Number times(const Number &a, const Number &b);
/// Any of the two: of maxima and selections.
Number either(const Number &a, const Number &b);
/// A sum of so many terms.
Number total(const Number &term, std::int64_t count);
/// The largest value that an element type holds bounds the magnitude.
bool holds(Type type, const Number &number);
Number rounded(Type type, const Number &number);
/// The number of a literal, which is a multiple of 2^-20.
Number numberOf(double literal);
int log2Ceil(std::int64_t value);

/// A literal of float type: "0.5", "(-2.0)".
std::string literal(double value);

} // namespace flashqla::random
