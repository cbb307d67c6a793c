#include "compiler/codegen/affine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

#include <numeric>

using namespace mlir;

namespace flashqla::codegen {

Affine Affine::operator+(const Affine &other) const {
  Affine sum = *this;
  sum.constant += other.constant;
  for (auto [term, coefficient] : other.terms) {
    auto found = std::find_if(sum.terms.begin(), sum.terms.end(), [&](auto &entry) { return entry.first == term; });
    if (found == sum.terms.end())
      sum.terms.push_back({term, coefficient});
    else if ((found->second += coefficient) == 0)
      sum.terms.erase(found);
  }
  return sum;
}

Affine Affine::operator*(int64_t factor) const {
  Affine product;
  product.constant = constant * factor;
  if (factor != 0)
    for (auto [term, coefficient] : terms)
      product.terms.push_back({term, coefficient * factor});
  return product;
}

int64_t Affine::coefficient(Value term) const {
  for (auto [value, coefficient] : terms)
    if (value == term)
      return coefficient;
  return 0;
}

Affine Affine::without(Value term) const {
  Affine rest = *this;
  std::erase_if(rest.terms, [&](auto &entry) { return entry.first == term; });
  return rest;
}

int64_t Affine::knownMultiple() const {
  int64_t multiple = std::gcd(constant, int64_t{1024});
  for (auto [term, coefficient] : terms)
    multiple = std::gcd(multiple, coefficient);
  return multiple;
}

Affine affineOf(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return {constant.getSExtValue(), {}};
  Operation *op = value.getDefiningOp();
  if (auto add = dyn_cast_or_null<arith::AddIOp>(op))
    return affineOf(add.getLhs()) + affineOf(add.getRhs());
  if (auto sub = dyn_cast_or_null<arith::SubIOp>(op))
    return affineOf(sub.getLhs()) + affineOf(sub.getRhs()) * -1;
  if (auto mul = dyn_cast_or_null<arith::MulIOp>(op)) {
    Affine lhs = affineOf(mul.getLhs()), rhs = affineOf(mul.getRhs());
    if (rhs.isConstant())
      return lhs * rhs.constant;
    if (lhs.isConstant())
      return rhs * lhs.constant;
  }
  return {0, {{value, 1}}};
}

} // namespace flashqla::codegen
