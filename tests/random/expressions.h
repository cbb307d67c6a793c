// Random expressions over what a place can read.
//
//     Expressions expressions(kernel);
//     expressions.index("r", 64);
//     expressions.leaf([&] { return Value{"x[r, c]", number}; });
//     Value value = expressions.value(3);                     // "max((x[r, c] * 0.5), ((r % 3) * 1.0))"
//     value = expressions.settled(value, 2, 4);               // a multiple of 1/4, at most 16
//
// Values stay within what f32 computes exactly; those of functions have a known error (number.h).
#pragma once

#include "tests/random/kernel.h"

#include <functional>

namespace flashqla::random {

/// A float expression.
struct Value {
  std::string text = {};
  Number number = {};
};

class Expressions {
public:
  explicit Expressions(Kernel &kernel) : kernel(kernel), random(kernel.random) {}

  /// An index of the map around, from 0 below `extent`.
  void index(const std::string &name, std::int64_t extent) { indices.push_back({name, extent}); }
  /// An integer that is the same at all points, below `bound` at the `check` cases.
  void uniform(const std::string &text, std::int64_t bound) { uniforms.push_back({text, bound}); }
  void leaf(std::function<Value()> make) { leaves.push_back(std::move(make)); }
  /// From here on only fixed-point values.
  void exactOnly() { exact = true; }
  bool hasLeaves() const { return !leaves.empty(); }

  Value value(int depth);
  /// A truth value of indices, integers and exact values.
  std::string condition(int depth = 1);
  /// An integer expression from 0 below `bound`.
  std::string place(std::int64_t bound);
  /// Clamped and rounded as far as needed. Values that are not exact are only clamped.
  Value settled(Value value, int fraction, int magnitude);
  Value clamped(const Value &value, int magnitude);
  /// For a target of this type: "E(…)" where it narrows.
  Value stored(Value value, Type type);

private:
  struct Integer {
    std::string name = {};
    std::int64_t extent = {};
  };
  Value leafValue();
  Value integerValue();
  Value combination(int depth);
  Value sum(int depth);
  Value product(int depth);
  Value selection(int depth);
  Value function(int depth);
  std::string integer(std::int64_t &bound);

  Kernel &kernel;
  Random &random;
  bool exact = false;
  std::vector<Integer> indices, uniforms;
  std::vector<std::function<Value()>> leaves;
};

} // namespace flashqla::random
