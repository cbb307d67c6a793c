#include "compiler/passes/linear.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace flashqla::passes {
namespace {

bool isInside(Value value, scf::ForOp loop) {
  return loop.getRegion().isAncestor(value.getParentRegion());
}

std::optional<int64_t> growthOf(Value atom, scf::ForOp loop) {
  if (!isInside(atom, loop))
    return 0;
  if (auto argument = dyn_cast<BlockArgument>(atom)) {
    if (argument.getOwner() != loop.getBody())
      return std::nullopt;
    if (argument == loop.getInductionVar())
      return constantOf(loop.getStep());
    Value next = loop.getTiedLoopYieldedValue(argument)->get();
    return difference(linearOf(next), linearOf(argument));
  }
  // Arithmetic on values that stay the same.
  Operation *op = atom.getDefiningOp();
  bool same = isMemoryEffectFree(op) && op->getNumRegions() == 0;
  for (Value operand : op->getOperands())
    same = same && growthOf(operand, loop) == 0;
  return same ? std::optional<int64_t>(0) : std::nullopt;
}

} // namespace

std::optional<int64_t> constantOf(Value value) {
  APInt constant;
  if (value && matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return std::nullopt;
}

Linear Linear::plus(const Linear &other, int64_t factor) const {
  if (!known || !other.known)
    return unknown();
  Linear sum = *this;
  sum.constant += factor * other.constant;
  for (auto [atom, coefficient] : other.terms) {
    auto found = llvm::find_if(sum.terms, [&](auto &term) { return term.first == atom; });
    if (found == sum.terms.end())
      sum.terms.emplace_back(atom, factor * coefficient);
    else
      found->second += factor * coefficient;
  }
  llvm::erase_if(sum.terms, [](auto &term) { return term.second == 0; });
  llvm::sort(sum.terms, [](auto &a, auto &b) {
    return a.first.getAsOpaquePointer() < b.first.getAsOpaquePointer();
  });
  return sum;
}

Linear linearOf(Value value, int64_t offset) {
  if (!value)
    return {{}, offset, true};
  if (auto constant = constantOf(value))
    return {{}, *constant + offset, true};
  Operation *op = value.getDefiningOp();
  if (isa_and_present<arith::AddIOp>(op))
    return linearOf(op->getOperand(0), offset).plus(linearOf(op->getOperand(1)));
  if (isa_and_present<arith::SubIOp>(op))
    return linearOf(op->getOperand(0), offset).plus(linearOf(op->getOperand(1)), -1);
  if (isa_and_present<arith::MulIOp>(op))
    if (auto factor = constantOf(op->getOperand(1)))
      return Linear{{}, offset, true}.plus(linearOf(op->getOperand(0)), *factor);
  if (isa_and_present<arith::ShLIOp>(op)) // what canonicalisation may make of a product
    if (auto bits = constantOf(op->getOperand(1)); bits && *bits < 32)
      return Linear{{}, offset, true}.plus(linearOf(op->getOperand(0)), int64_t{1} << *bits);
  return {{{value, 1}}, offset, true};
}

std::optional<int64_t> difference(const Linear &a, const Linear &b) {
  if (!a.known || !b.known || a.terms != b.terms)
    return std::nullopt;
  return a.constant - b.constant;
}

std::optional<int64_t> growth(const Linear &expression, scf::ForOp loop) {
  if (!expression.known)
    return std::nullopt;
  int64_t sum = 0;
  for (auto [atom, coefficient] : expression.terms) {
    auto amount = growthOf(atom, loop);
    if (!amount)
      return std::nullopt;
    sum += coefficient * *amount;
  }
  return sum;
}

Linear afterIteration(const Linear &expression, scf::ForOp loop) {
  auto amount = growth(expression, loop);
  return amount ? expression.plus(-*amount) : Linear::unknown();
}

Linear afterLoop(const Linear &expression, scf::ForOp loop) {
  bool inside =
      llvm::any_of(expression.terms, [&](auto &term) { return isInside(term.first, loop); });
  return inside ? Linear::unknown() : expression;
}

bool runsAtLeastOnce(scf::ForOp loop) {
  auto lower = constantOf(loop.getLowerBound()), upper = constantOf(loop.getUpperBound());
  return lower && upper && *lower < *upper;
}

} // namespace flashqla::passes
