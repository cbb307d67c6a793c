// A scalar of the kernel while it is being lowered.
//
// A scalar is a constant, or an SSA value plus a constant: `k - STAGES` stays {%k, -4}, so that a
// generation can be compared with others without looking through arithmetic. Beside it goes what
// checks need to know: bounds, a divisor, and the indices of maps and reductions that it depends
// on (a scalar without any is uniform over the role).
#pragma once

#include "compiler/frontend/constant.h"

#include "mlir/IR/Value.h"

#include <cstdint>
#include <limits>

namespace flashqla::frontend {

/// Bounds of an integer, both inclusive. The extreme 64-bit values mean that nothing is known.
struct Interval {
  int64_t lowest = std::numeric_limits<int64_t>::min();
  int64_t highest = std::numeric_limits<int64_t>::max();

  static Interval exactly(int64_t value) { return {value, value}; }
  static Interval int32() { return {INT32_MIN, INT32_MAX}; }
  bool knownLowest() const { return lowest != std::numeric_limits<int64_t>::min(); }
  bool within(int64_t low, int64_t high) const { return lowest >= low && highest <= high; }
  /// The smallest interval that holds both.
  Interval join(Interval other) const {
    return {std::min(lowest, other.lowest), std::max(highest, other.highest)};
  }
};

/// Bounds of the result of integer arithmetic; products and sums out of range become unbounded.
Interval boundsOf(ast::BinaryOp op, Interval a, Interval b);
Interval boundsOf(Builtin builtin, Interval a, Interval b);

/// A divisor of the result of integer arithmetic, from divisors of the operands. 0, which every
/// integer divides, stands for the divisors of zero.
int64_t divisorOf(ast::BinaryOp op, int64_t a, int64_t b);

struct Scalar {
  ScalarType type = ScalarType::I64;
  std::optional<Constant> constant; ///< then there is no `base`
  bool literal = false; ///< a constant that nobody gave a type: it takes the one that it meets
  mlir::Value base;     ///< of integers: the value is base + offset
  int64_t offset = 0;
  mlir::Value whole;      ///< base + offset, where a `let` has computed it
  Interval bounds;        ///< of integers
  int64_t divisor = 1;    ///< of integers: divides the value
  uint64_t points = 0;    ///< one bit for each index of a map or reduction that it depends on
  bool loopBound = false; ///< bounds.lowest is reached: a loop index that starts at a constant

  bool uniform() const { return points == 0; }
  bool isConstant() const { return constant.has_value(); }

  static Scalar of(Constant constant) {
    Scalar scalar;
    scalar.type = typeOf(constant).value();
    scalar.literal = true;
    if (const auto *integer = std::get_if<int64_t>(&constant)) {
      scalar.bounds = Interval::exactly(*integer);
      scalar.divisor = *integer; // its sign does not matter
    }
    scalar.constant = std::move(constant);
    return scalar;
  }

  /// A value that is not known when compiling.
  static Scalar of(mlir::Value value, ScalarType type, uint64_t points = 0) {
    Scalar scalar;
    scalar.type = type;
    scalar.base = value;
    scalar.points = points;
    if (type == ScalarType::I32)
      scalar.bounds = Interval::int32();
    return scalar;
  }

  std::optional<int64_t> asInteger() const {
    if (const auto *integer = constant ? std::get_if<int64_t>(&*constant) : nullptr)
      return *integer;
    return std::nullopt;
  }
  std::optional<bool> asBool() const {
    if (const auto *boolean = constant ? std::get_if<bool>(&*constant) : nullptr)
      return *boolean;
    return std::nullopt;
  }
};

} // namespace flashqla::frontend
