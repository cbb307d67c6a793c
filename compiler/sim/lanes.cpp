#include "compiler/sim/lanes.h"

#include "compiler/sim/numerics.h"

#include <algorithm>

namespace flashqla::sim {

Lanes::Operand<int64_t> Lanes::ints(Reg reg) const {
  if (reg.lane)
    return {laneInts.data() + reg.index * capacity, 1};
  return {registers.ints.data() + reg.index, 0};
}

Lanes::Operand<float> Lanes::reals(Reg reg) const {
  if (reg.lane)
    return {laneReals.data() + reg.index * capacity, 1};
  return {registers.reals.data() + reg.index, 0};
}

int64_t *Lanes::intResult(Reg reg) {
  return reg.lane ? laneInts.data() + reg.index * capacity : registers.ints.data() + reg.index;
}

float *Lanes::realResult(Reg reg) {
  return reg.lane ? laneReals.data() + reg.index * capacity : registers.reals.data() + reg.index;
}

template <class F> void Lanes::intOp(const LaneInstr &instr, F f) {
  const auto a = ints(instr.a), b = ints(instr.b ? instr.b : instr.a);
  int64_t *result = intResult(instr.result);
  if (a.step && b.step)
    for (size_t i = 0; i < lanes; ++i)
      result[i] = f(a.values[i], b.values[i]);
  else
    for (size_t i = 0; i < lanes; ++i)
      result[i] = f(a[i], b[i]);
}

template <class F> void Lanes::realOp(const LaneInstr &instr, F f) {
  const auto a = reals(instr.a), b = reals(instr.b ? instr.b : instr.a);
  float *result = realResult(instr.result);
  if (a.step && b.step)
    for (size_t i = 0; i < lanes; ++i)
      result[i] = f(a.values[i], b.values[i]);
  else
    for (size_t i = 0; i < lanes; ++i)
      result[i] = f(a[i], b[i]);
}

template <class F> void Lanes::compareReals(const LaneInstr &instr, F f) {
  const auto a = reals(instr.a), b = reals(instr.b);
  int64_t *result = intResult(instr.result);
  for (size_t i = 0; i < lanes; ++i)
    result[i] = f(a[i], b[i]);
}

void Lanes::copyWhere(Reg to, Reg from, const Mask &mask) {
  if (to.real) {
    const auto source = reals(from);
    float *result = realResult(to);
    for (size_t i = 0; i < lanes; ++i)
      if (mask.empty() || mask[i])
        result[i] = source[i];
  } else {
    const auto source = ints(from);
    int64_t *result = intResult(to);
    for (size_t i = 0; i < lanes; ++i)
      if (mask.empty() || mask[i])
        result[i] = source[i];
  }
}

void Lanes::compute(const LaneInstr &instr) {
  using I = int64_t;
  // As on the GPU nothing traps: 0 for a zero divisor, and -2^63 / -1 wraps, where the host's division would not.
  auto divide = [](I a, I b) { return b == 0 ? 0 : b == -1 ? I(-uint64_t(a)) : a / b; };
  auto remainder = [](I a, I b) { return b == 0 || b == -1 ? 0 : a % b; };
  auto floorDivide = [=](I a, I b) {
    return divide(a, b) - (remainder(a, b) != 0 && (a < 0) != (b < 0) ? 1 : 0);
  };
  switch (instr.op) {
  case LaneOp::Constant:
    if (instr.result.real)
      std::fill_n(realResult(instr.result), lanes, instr.real);
    else
      std::fill_n(intResult(instr.result), lanes, instr.integer);
    return;
  case LaneOp::Copy: return copyWhere(instr.result, instr.a, {});
  case LaneOp::AddI: return intOp(instr, [](I a, I b) { return a + b; });
  case LaneOp::SubI: return intOp(instr, [](I a, I b) { return a - b; });
  case LaneOp::MulI: return intOp(instr, [](I a, I b) { return a * b; });
  case LaneOp::DivI: return intOp(instr, divide);
  case LaneOp::FloorDivI: return intOp(instr, floorDivide);
  case LaneOp::CeilDivI: return intOp(instr, [&](I a, I b) { return -floorDivide(-a, b); });
  case LaneOp::RemI: return intOp(instr, remainder);
  case LaneOp::MinI: return intOp(instr, [](I a, I b) { return std::min(a, b); });
  case LaneOp::MaxI: return intOp(instr, [](I a, I b) { return std::max(a, b); });
  case LaneOp::And: return intOp(instr, [](I a, I b) { return a & b; });
  case LaneOp::Or: return intOp(instr, [](I a, I b) { return a | b; });
  case LaneOp::Xor: return intOp(instr, [](I a, I b) { return a ^ b; });
  case LaneOp::ShiftLeft: return intOp(instr, [](I a, I b) { return a << (b & 63); });
  case LaneOp::ShiftRight: return intOp(instr, [](I a, I b) { return a >> (b & 63); });
  case LaneOp::AbsI: return intOp(instr, [](I a, I) { return a < 0 ? -a : a; });
  case LaneOp::NegI: return intOp(instr, [](I a, I) { return -a; });
  case LaneOp::Narrow32: return intOp(instr, [](I a, I) { return I(static_cast<int32_t>(a)); });
  case LaneOp::LowBit: return intOp(instr, [](I a, I) { return a & 1; });
  case LaneOp::Equal: return intOp(instr, [](I a, I b) { return I(a == b); });
  case LaneOp::NotEqual: return intOp(instr, [](I a, I b) { return I(a != b); });
  case LaneOp::Less: return intOp(instr, [](I a, I b) { return I(a < b); });
  case LaneOp::LessEqual: return intOp(instr, [](I a, I b) { return I(a <= b); });
  case LaneOp::Greater: return intOp(instr, [](I a, I b) { return I(a > b); });
  case LaneOp::GreaterEqual: return intOp(instr, [](I a, I b) { return I(a >= b); });
  case LaneOp::AddF: return realOp(instr, [](float a, float b) { return a + b; });
  case LaneOp::SubF: return realOp(instr, [](float a, float b) { return a - b; });
  case LaneOp::MulF: return realOp(instr, [](float a, float b) { return a * b; });
  case LaneOp::DivF: return realOp(instr, [](float a, float b) { return a / b; });
  case LaneOp::MinF: return realOp(instr, [](float a, float b) { return std::fmin(a, b); });
  case LaneOp::MaxF: return realOp(instr, [](float a, float b) { return std::fmax(a, b); });
  case LaneOp::NegF: return realOp(instr, [](float a, float) { return -a; });
  case LaneOp::AbsF: return realOp(instr, [](float a, float) { return std::fabs(a); });
  case LaneOp::Exp: return realOp(instr, [](float a, float) { return expOf(a); });
  case LaneOp::Exp2: return realOp(instr, [](float a, float) { return exp2Of(a); });
  case LaneOp::Log: return realOp(instr, [](float a, float) { return logOf(a); });
  case LaneOp::Log2: return realOp(instr, [](float a, float) { return log2Of(a); });
  case LaneOp::Rsqrt: return realOp(instr, [](float a, float) { return 1.0f / std::sqrt(a); });
  case LaneOp::Sqrt: return realOp(instr, [](float a, float) { return std::sqrt(a); });
  case LaneOp::Tanh: return realOp(instr, [](float a, float) { return std::tanh(a); });
  case LaneOp::RoundBF16: return realOp(instr, [](float a, float) { return roundBF16(a); });
  case LaneOp::RoundF16: return realOp(instr, [](float a, float) { return roundF16(a); });
  case LaneOp::EqualF: return compareReals(instr, [](float a, float b) { return a == b; });
  case LaneOp::NotEqualF: return compareReals(instr, [](float a, float b) { return a != b; });
  case LaneOp::LessF: return compareReals(instr, [](float a, float b) { return a < b; });
  case LaneOp::LessEqualF: return compareReals(instr, [](float a, float b) { return a <= b; });
  case LaneOp::GreaterF: return compareReals(instr, [](float a, float b) { return a > b; });
  case LaneOp::GreaterEqualF: return compareReals(instr, [](float a, float b) { return a >= b; });
  case LaneOp::ToFloat: {
    const auto a = ints(instr.a);
    float *result = realResult(instr.result);
    for (size_t i = 0; i < lanes; ++i)
      result[i] = static_cast<float>(a[i]);
    return;
  }
  case LaneOp::ToInt: {
    const auto a = reals(instr.a);
    int64_t *result = intResult(instr.result);
    for (size_t i = 0; i < lanes; ++i)
      result[i] = std::isfinite(a[i]) ? static_cast<int64_t>(a[i]) : 0;
    return;
  }
  case LaneOp::Select: {
    const auto condition = ints(instr.a);
    Mask chosen(lanes);
    for (size_t i = 0; i < lanes; ++i)
      chosen[i] = condition[i] != 0;
    // The result is none of the operands.
    copyWhere(instr.result, instr.c, {});
    return copyWhere(instr.result, instr.b, chosen);
  }
  case LaneOp::Load:
  case LaneOp::Store:
  case LaneOp::If:
  case LaneOp::Reduce:
  case LaneOp::Scan: return; // need a map around them
  }
}

/// Without values a lane may be one that the data leave out.
void Lanes::checkDivisor(const LaneInstr &instr, const Mask &mask) {
  const auto divisor = ints(instr.b);
  bool zero = false;
  if (!instr.result.lane)
    zero = divisor[0] == 0;
  else if (mask.empty() || storage.hasValues())
    for (size_t i = 0; i < lanes; ++i)
      zero |= divisor[i] == 0 && (mask.empty() || mask[i]);
  if (zero)
    dividedByZero = static_cast<Where>(instr.integer);
}

void Lanes::scalar(const LaneInstr &instr) {
  lanes = 1;
  run(instr, {});
}

void Lanes::run(const Code &code, const Mask &mask) {
  for (const LaneInstr &instr : code.instrs)
    run(instr, mask);
}

void Lanes::run(const LaneInstr &instr, const Mask &mask) {
  switch (instr.op) {
  case LaneOp::Load: return load(instr, mask);
  case LaneOp::Store: return store(instr, mask);
  case LaneOp::If: return branch(program.branches[instr.integer], instr.a, mask);
  case LaneOp::Reduce: return reduce(program.reductions[instr.integer], instr.result, mask);
  case LaneOp::Scan: return scan(program.scans[instr.integer], instr.result, mask);
  case LaneOp::DivI:
  case LaneOp::FloorDivI:
  case LaneOp::CeilDivI:
  case LaneOp::RemI: checkDivisor(instr, mask); return compute(instr);
  default: return compute(instr);
  }
}

Lanes::Outcome Lanes::map(const MapBody &map, const std::function<void(uint32_t, int64_t, bool)> &tensors) {
  body = &map;
  tensorUse = &tensors;
  outcome = {};
  touched.assign(map.accesses.size(), {});
  windows.assign(map.accesses.size(), {});
  int64_t points = 1;
  for (int64_t extent : map.domain)
    points *= extent;
  rowLength = map.domain.empty() ? 1 : map.domain.back();
  constexpr size_t enough = 1024; // lanes whose registers stay in the cache
  const size_t rows = std::max<size_t>(1, enough / rowLength);
  capacity = std::min<size_t>(points, rows * rowLength);
  if (map.result)
    capacity = enough;
  laneInts.resize(map.ints * capacity);
  laneReals.resize(map.reals * capacity);
  offsets.resize(capacity);
  for (int64_t first = 0; first < points; first += static_cast<int64_t>(capacity)) {
    lanes = std::min<size_t>(capacity, points - first);
    int64_t below = 1;
    for (size_t dim = map.domain.size(); dim-- > 0;) {
      int64_t *index = laneInts.data() + map.indices[dim].index * capacity;
      int64_t value = first / below % map.domain[dim], repeated = first % below;
      for (size_t i = 0; i < lanes; ++i) {
        index[i] = value;
        if (++repeated == below) {
          repeated = 0;
          value = value + 1 == map.domain[dim] ? 0 : value + 1;
        }
      }
      below *= map.domain[dim];
    }
    run(program.codes[map.body], {});
  }
  if (map.result) {
    lanes = 1;
    copyWhere(map.result, map.value, {});
  }
  for (size_t i = 0; i < touched.size(); ++i)
    outcome.touched.push_back(regionOf(touched[i], windows[i]));
  return std::move(outcome);
}

} // namespace flashqla::sim
