#include "tests/random/number.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace flashqla::random {

std::string typeName(Type type) {
  switch (type) {
  case Type::BF16:
    return "bf16";
  case Type::F16:
    return "f16";
  case Type::F32:
    return "f32";
  case Type::I32:
    return "i32";
  case Type::I64:
    return "i64";
  }
  return {};
}

std::int64_t typeBytes(Type type) { return type == Type::BF16 || type == Type::F16 ? 2 : 4; }

int log2Ceil(std::int64_t value) {
  int log = 0;
  while ((std::int64_t(1) << log) < value)
    ++log;
  return log;
}

namespace {

/// Rounding of an operation in f32 whose result is at most 2^magnitude.
double roundingOf(int magnitude) { return std::ldexp(1.0, magnitude - 23); }

} // namespace

bool Number::fits() const { return exact() ? bits() <= exactBits : magnitude <= 30; }

bool Number::useful() const { return exact() || error <= std::ldexp(1.0, std::min(magnitude, 4) - 4); }

Number plus(const Number &a, const Number &b) {
  Number sum{std::max(a.fraction, b.fraction), std::max(a.magnitude, b.magnitude) + 1, a.error + b.error};
  if (!sum.exact())
    sum.error += roundingOf(sum.magnitude);
  return sum;
}

Number times(const Number &a, const Number &b) {
  Number product{a.fraction + b.fraction, a.magnitude + b.magnitude, 0};
  if (!a.exact() || !b.exact())
    product.error = a.error * std::ldexp(1.0, b.magnitude) + b.error * std::ldexp(1.0, a.magnitude) + a.error * b.error +
                    roundingOf(product.magnitude);
  return product;
}

Number either(const Number &a, const Number &b) {
  return {std::max(a.fraction, b.fraction), std::max(a.magnitude, b.magnitude), std::max(a.error, b.error)};
}

Number total(const Number &term, std::int64_t count) {
  Number sum = term;
  sum.magnitude += log2Ceil(count);
  if (!term.exact())
    sum.error = static_cast<double>(count) * (term.error + roundingOf(sum.magnitude));
  return sum;
}

bool holds(Type type, const Number &number) {
  return type == Type::F16 ? number.magnitude <= 15 && number.fraction <= 20 : true;
}

Number rounded(Type type, const Number &number) {
  Number result = number;
  if (!number.exact() && type != Type::F32) // the neighbours may be rounded apart
    result.error += std::ldexp(1.0, number.magnitude - (type == Type::BF16 ? 8 : 11));
  return result;
}

Number numberOf(double literal) {
  Number number;
  while (number.fraction < 20 && std::ldexp(literal, number.fraction) != std::nearbyint(std::ldexp(literal, number.fraction)))
    ++number.fraction;
  number.magnitude = -number.fraction;
  while (std::ldexp(1.0, number.magnitude) < std::fabs(literal))
    ++number.magnitude;
  return number;
}

std::string literal(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return value < 0 ? "(" + text + ")" : text;
}

} // namespace flashqla::random
