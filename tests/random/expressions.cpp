#include "tests/random/expressions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace flashqla::random {

Value Expressions::leafValue() {
  if (!leaves.empty() && random.chance(85))
    if (Value value = random.pick(leaves)(); value.number.exact() || !exact)
      return value;
  if (random.chance(40))
    return integerValue();
  const double constant = std::ldexp(static_cast<double>(random.between(-6, 6)), static_cast<int>(-random.below(3)));
  return {literal(constant), numberOf(constant)};
}

/// An integer as a float.
Value Expressions::integerValue() {
  std::int64_t bound = 0;
  const std::string text = integer(bound);
  const double factor = random.pick({1.0, 0.5, -0.25});
  kernel.feature("expression.integer");
  return {fmt::format("({} * {})", text, literal(factor)), times({0, log2Ceil(bound), 0}, numberOf(factor))};
}

/// An index or something computed from indices, from 0 below `bound`.
std::string Expressions::integer(std::int64_t &bound) {
  std::vector<Integer> all = indices;
  all.insert(all.end(), uniforms.begin(), uniforms.end());
  if (all.empty() || random.chance(5)) {
    bound = random.between(1, 9);
    return std::to_string(bound - 1);
  }
  const Integer &first = random.pick(all), &second = random.pick(all);
  const std::int64_t modulus = random.between(2, 16);
  switch (random.below(7)) {
  case 0:
    bound = modulus;
    return fmt::format("({} % {})", first.name, modulus);
  case 1:
    bound = (first.extent + modulus - 1) / modulus;
    return fmt::format("({} / {})", first.name, modulus);
  case 2:
    bound = first.extent + second.extent;
    return fmt::format("({} + {})", first.name, second.name);
  case 3:
    bound = std::max(first.extent, second.extent);
    return fmt::format("max({}, {})", first.name, second.name);
  case 4:
    bound = modulus;
    return fmt::format("(({} * {} + {}) % {})", first.name, random.between(2, 9), second.name, modulus);
  default:
    bound = first.extent;
    return first.name;
  }
}

std::string Expressions::place(std::int64_t bound) {
  std::vector<Integer> fitting, all = indices;
  for (const Integer &index : indices)
    if (index.extent <= bound)
      fitting.push_back(index);
  all.insert(all.end(), uniforms.begin(), uniforms.end()); // whose bounds hold at the `check` cases alone
  const Integer any = all.empty() ? Integer{"0", 1} : random.pick(all);
  switch (random.below(fitting.empty() ? 3 : 9)) {
  case 0:
    return std::to_string(random.below(bound));
  case 1:
    return fmt::format("({} + {}) % {}", any.name, random.below(bound), bound);
  case 2:
    return fmt::format("({} * {}) % {}", any.name, random.between(2, 5), bound);
  case 3: {
    const Integer &index = random.pick(fitting);
    return fmt::format("{} - {}", bound - 1, index.name);
  }
  default:
    return random.pick(fitting).name;
  }
}

std::string Expressions::condition(int depth) {
  if (depth > 0 && random.chance(25)) {
    const std::string first = condition(depth - 1), second = condition(depth - 1);
    if (random.chance(25))
      return fmt::format("!({})", first);
    return fmt::format("({} {} {})", first, random.pick({"&&", "||"}), second);
  }
  const std::string order = random.pick({"<", "<=", ">", ">="});
  if (random.chance(30) && !leaves.empty()) {
    const Value value = random.pick(leaves)();
    if (value.number.exact()) {
      kernel.feature("condition.data");
      return fmt::format("{} {} {}", value.text, order, literal(static_cast<double>(random.between(-2, 2)) / 2));
    }
  }
  if (indices.size() == 2 && random.chance(40)) {
    kernel.feature("condition.triangle");
    return fmt::format("{} {} {}", indices[0].name, order, indices[1].name);
  }
  std::int64_t bound = 0;
  const std::string text = integer(bound);
  if (random.chance(30)) {
    const std::int64_t modulus = random.between(2, 4);
    return fmt::format("{} % {} {} {}", text, modulus, random.pick({"==", "!="}), random.below(modulus));
  }
  return fmt::format("{} {} {}", text, order, random.below(bound + 1));
}

Value Expressions::clamped(const Value &value, int magnitude) {
  if (value.number.magnitude <= magnitude)
    return value;
  kernel.function("tame", "(x, most) = max(-most, min(x, most))");
  kernel.feature("expression.clamp");
  Number number = value.number;
  number.magnitude = magnitude;
  return {fmt::format("tame({}, {})", value.text, literal(std::ldexp(1.0, magnitude))), number};
}

Value Expressions::settled(Value value, int fraction, int magnitude) {
  value = clamped(value, magnitude);
  if (!value.number.exact() || value.number.fraction <= fraction)
    return value;
  // The sum is rounded to a multiple of the last place of 1.5 · 2^(23 - fraction).
  kernel.function("snap", "(x, big) = (x + big) - big");
  kernel.feature("expression.snap");
  value.text = fmt::format("snap({}, {})", value.text, literal(std::ldexp(1.5, 23 - fraction)));
  value.number.fraction = fraction;
  return value;
}

Value Expressions::stored(Value value, Type type) {
  if (type == Type::F32)
    return value;
  if (!holds(type, value.number))
    value = settled(value, 18, 15);
  return {fmt::format("{}({})", kernel.text(type), value.text), rounded(type, value.number)};
}

Value Expressions::value(int depth) {
  if (depth <= 0 || random.chance(25))
    return leafValue();
  Value result = combination(depth);
  if (!result.number.fits())
    result = settled(result, std::min(result.number.fraction, exactBits / 2), exactBits / 2);
  return result.number.useful() ? result : leafValue();
}

Value Expressions::sum(int depth) {
  Value a = value(depth - 1), b = value(depth - 1);
  const int room = exactBits - 1 - std::max(a.number.fraction, b.number.fraction);
  if (a.number.exact() && b.number.exact() && room >= 1) {
    a = clamped(a, room);
    b = clamped(b, room);
  }
  return {fmt::format("({} {} {})", a.text, random.pick({"+", "-"}), b.text), plus(a.number, b.number)};
}

Value Expressions::product(int depth) {
  Value a = value(depth - 1), b = value(depth - 1);
  if (a.number.exact() && b.number.exact() && a.number.bits() + b.number.bits() > exactBits) {
    a = settled(a, exactBits / 4, exactBits / 4);
    b = settled(b, exactBits / 4, exactBits / 4);
  }
  return {fmt::format("({} * {})", a.text, b.text), times(a.number, b.number)};
}

Value Expressions::selection(int depth) {
  const Value a = value(depth - 1), b = value(depth - 1);
  kernel.feature("expression.select");
  return {fmt::format("({} ? {} : {})", condition(), a.text, b.text), either(a.number, b.number)};
}

Value Expressions::combination(int depth) {
  switch (random.below(kernel.approximate && !exact ? 12 : 9)) {
  case 0:
  case 1:
  case 2:
    return sum(depth);
  case 3:
  case 4:
    return product(depth);
  case 5:
    return selection(depth);
  case 6: {
    const Value a = value(depth - 1), b = value(depth - 1);
    return {fmt::format("{}({}, {})", random.pick({"max", "min"}), a.text, b.text), either(a.number, b.number)};
  }
  case 7: {
    const Value a = value(depth - 1);
    return {fmt::format("abs({})", a.text), a.number};
  }
  case 8: {
    const Value a = value(depth - 1);
    return {fmt::format("(-{})", a.text), a.number};
  }
  default:
    return function(depth);
  }
}

/// Functions where they are smooth, of arguments that are small.
Value Expressions::function(int depth) {
  Value x = clamped(value(depth - 1), 2);
  kernel.feature("expression.function");
  const double e = x.number.error;
  switch (random.below(8)) {
  case 0:
    return {fmt::format("exp({})", x.text), {0, 6, 56 * e + 0x1p-16}};
  case 1:
    return {fmt::format("exp2({})", x.text), {0, 4, 12 * e + 0x1p-18}};
  case 2:
    return {fmt::format("log(abs({}) + 1.0)", x.text), {0, 1, e + 0x1p-19}};
  case 3:
    return {fmt::format("log2(abs({}) + 0.5)", x.text), {0, 2, 3 * e + 0x1p-18}};
  case 4:
    return {fmt::format("rsqrt(abs({}) + 1.0)", x.text), {0, 0, e + 0x1p-20}};
  case 5:
    return {fmt::format("sqrt(abs({}) + 0.25)", x.text), {0, 2, 2 * e + 0x1p-20}};
  case 6:
    return {fmt::format("tanh({})", x.text), {0, 0, e + 0x1p-9}};
  default: {
    const Value y = clamped(value(depth - 1), 2);
    return {fmt::format("({} / (abs({}) + 1.0))", x.text, y.text), {0, 2, e + 4 * y.number.error + 0x1p-18}};
  }
  }
}

} // namespace flashqla::random
