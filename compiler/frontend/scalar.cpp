#include "compiler/frontend/scalar.h"

#include <algorithm>
#include <numeric>

namespace flashqla::frontend {

using ast::BinaryOp;

namespace {

constexpr int64_t smallest = std::numeric_limits<int64_t>::min();
constexpr int64_t largest = std::numeric_limits<int64_t>::max();

bool bounded(Interval a) { return a.lowest != smallest && a.highest != largest; }

/// A bound that overflows is no bound.
int64_t addBound(int64_t a, int64_t b, int64_t unknown) {
  int64_t sum = 0;
  if (a == unknown || b == unknown || __builtin_add_overflow(a, b, &sum))
    return unknown;
  return sum;
}

int64_t negateBound(int64_t a) {
  if (a == smallest)
    return largest;
  return a == largest ? smallest : -a;
}

Interval product(Interval a, Interval b) {
  if (!bounded(a) || !bounded(b)) {
    // A product of numbers that are not negative is none, whatever their upper bounds.
    return a.lowest >= 0 && b.lowest >= 0 ? Interval{0, largest} : Interval{};
  }
  Interval result{largest, smallest};
  for (int64_t x : {a.lowest, a.highest})
    for (int64_t y : {b.lowest, b.highest}) {
      int64_t value = 0;
      if (__builtin_mul_overflow(x, y, &value))
        return a.lowest >= 0 && b.lowest >= 0 ? Interval{0, largest} : Interval{};
      result = {std::min(result.lowest, value), std::max(result.highest, value)};
    }
  return result;
}

/// Operands of a division are not negative; a lower bound below zero is not known better.
Interval quotient(Interval a, Interval b) {
  int64_t low = std::max<int64_t>(a.lowest, 0), divisor = std::max<int64_t>(b.lowest, 1);
  int64_t high = a.highest == largest ? largest : std::max<int64_t>(a.highest, 0) / divisor;
  return {b.highest == largest ? 0 : low / std::max<int64_t>(b.highest, 1), high};
}

} // namespace

Interval boundsOf(BinaryOp op, Interval a, Interval b) {
  switch (op) {
  case BinaryOp::Add:
    return {addBound(a.lowest, b.lowest, smallest), addBound(a.highest, b.highest, largest)};
  case BinaryOp::Sub:
    return {addBound(a.lowest, negateBound(b.highest), smallest),
            addBound(a.highest, negateBound(b.lowest), largest)};
  case BinaryOp::Mul:
    return product(a, b);
  case BinaryOp::Div:
    return quotient(a, b);
  case BinaryOp::Mod:
    return {0, std::min(a.highest < 0 ? largest : a.highest,
                        b.highest == largest ? largest : std::max<int64_t>(b.highest - 1, 0))};
  case BinaryOp::Eq:
  case BinaryOp::Ne:
  case BinaryOp::Lt:
  case BinaryOp::Le:
  case BinaryOp::Gt:
  case BinaryOp::Ge:
  case BinaryOp::And:
  case BinaryOp::Or:
    break;
  }
  return {};
}

Interval boundsOf(Builtin builtin, Interval a, Interval b) {
  if (builtin == Builtin::Max)
    return {std::max(a.lowest, b.lowest), std::max(a.highest, b.highest)};
  if (builtin == Builtin::Min)
    return {std::min(a.lowest, b.lowest), std::min(a.highest, b.highest)};
  if (builtin == Builtin::Abs)
    return {0, bounded(a) ? std::max(a.highest, -a.lowest) : largest};
  if (builtin == Builtin::CeilDiv && a.lowest >= 0) {
    int64_t divisor = std::max<int64_t>(b.lowest, 1);
    int64_t high = a.highest == largest ? largest
                   : a.highest == 0     ? 0
                                        : (a.highest - 1) / divisor + 1;
    return {0, high};
  }
  return {};
}

int64_t divisorOf(BinaryOp op, int64_t a, int64_t b) {
  if (op == BinaryOp::Add || op == BinaryOp::Sub)
    return std::gcd(a, b);
  int64_t product = 1;
  if (op == BinaryOp::Mul)
    return __builtin_mul_overflow(a, b, &product) ? 1 : product;
  return 1;
}

} // namespace flashqla::frontend
