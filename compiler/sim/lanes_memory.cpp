/// Elements, branches, reductions and scans of maps.
#include "compiler/sim/lanes.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace flashqla::sim {

/// The offsets of all lanes; false if one of them is outside.
bool Lanes::placeAll(const ElementAccess &element, int64_t fixed) {
  std::fill_n(offsets.begin(), lanes, fixed);
  for (unsigned w = 0; w < window.windowRank; ++w) {
    const unsigned dim = window.dimension[w];
    const auto index = ints(element.indices[w]);
    int64_t least = index[0], most = index[0];
    for (size_t i = 0; i < lanes; ++i) {
      least = std::min(least, index[i]);
      most = std::max(most, index[i]);
      offsets[i] += index[i] * window.stride[dim];
    }
    if (window.offset[dim] + least < 0 || window.offset[dim] + most >= window.extent[dim])
      return false;
  }
  return true;
}

const Window &Lanes::place(uint32_t access, const Mask &mask) {
  const ElementAccess &element = program.accesses[access];
  window = storage.resolve(element.target, registers);
  int64_t fixed = 0;
  bool inside = true;
  int64_t wrong = 0, wrongExtent = 0;
  auto check = [&](int64_t coordinate, unsigned dim) {
    if (coordinate >= 0 && coordinate < window.extent[dim])
      return true;
    wrong = coordinate;
    wrongExtent = window.extent[dim];
    return false;
  };
  std::array<bool, maxRank> moving{};
  for (unsigned w = 0; w < window.windowRank; ++w)
    moving[window.dimension[w]] = true;
  for (unsigned dim = 0; dim < window.rank; ++dim) {
    fixed += window.offset[dim] * window.stride[dim];
    if (!moving[dim])
      inside &= check(window.offset[dim], dim);
  }
  if (mask.empty() && inside && placeAll(element, fixed))
    return window;
  for (size_t i = 0; i < lanes; ++i)
    offsets[i] = inside && (mask.empty() || mask[i]) ? fixed : -1;
  bool outside = !inside;
  for (unsigned w = 0; w < window.windowRank && inside; ++w) {
    const unsigned dim = window.dimension[w];
    const auto index = ints(element.indices[w]);
    for (size_t i = 0; i < lanes; ++i) {
      if (offsets[i] < 0)
        continue;
      const int64_t coordinate = window.offset[dim] + index[i];
      if (check(coordinate, dim)) {
        offsets[i] += index[i] * window.stride[dim];
      } else {
        offsets[i] = -1;
        outside = true;
      }
    }
  }
  bool active = mask.empty() || std::find(mask.begin(), mask.end(), 1) != mask.end();
  if (outside && active)
    outcome.outside.push_back({access, wrong, wrongExtent});
  return window;
}

void Lanes::note(uint32_t access, const Window &here, bool write) {
  if (here.space == Space::Fragment)
    return;
  if (here.space == Space::Tensor)
    for (size_t i = 0; i < lanes; ++i)
      if (offsets[i] >= 0)
        (*tensorUse)(here.object, offsets[i], write);
  for (size_t i = 0; i < body->accesses.size(); ++i) {
    const MapAccess &entry = body->accesses[i];
    if (entry.access != access || entry.dense)
      continue;
    windows[i] = here;
    addOffsets(touched[i], {offsets.data(), lanes});
  }
}

/// Repetitions, of which reductions make many, are dropped each time that the set is full.
void Lanes::addOffsets(std::vector<int64_t> &set, std::span<const int64_t> offsets) {
  if (set.size() + offsets.size() > set.capacity()) {
    std::sort(set.begin(), set.end());
    set.erase(std::unique(set.begin(), set.end()), set.end());
    set.reserve(2 * (set.size() + offsets.size()));
  }
  for (int64_t offset : offsets)
    if (offset >= 0)
      set.push_back(offset);
}

/// The smallest box around the elements, and which of it they are.
Region Lanes::regionOf(std::span<const int64_t> offsets, const Window &window) {
  if (offsets.empty())
    return Region::box({{0, 0}});
  std::array<Interval, maxRank> sides;
  auto coordinate = [&](int64_t offset, unsigned dim) { return offset / window.stride[dim] % window.extent[dim]; };
  for (unsigned dim = 0; dim < window.rank; ++dim) {
    sides[dim] = {INT64_MAX, INT64_MIN};
    for (int64_t offset : offsets) {
      sides[dim].begin = std::min(sides[dim].begin, coordinate(offset, dim));
      sides[dim].end = std::max(sides[dim].end, coordinate(offset, dim) + 1);
    }
  }
  const std::span<const Interval> box(sides.data(), window.rank);
  std::vector<bool> elements(Region::box(box).volume());
  for (int64_t offset : offsets) {
    int64_t position = 0;
    for (unsigned dim = 0; dim < window.rank; ++dim)
      position = position * sides[dim].size() + coordinate(offset, dim) - sides[dim].begin;
    elements[position] = true;
  }
  return Region::some(box, std::move(elements));
}

void Lanes::load(const LaneInstr &instr, const Mask &mask) {
  const uint32_t access = static_cast<uint32_t>(instr.integer);
  const Window &here = place(access, mask);
  note(access, here, false);
  if (instr.result.real) {
    float *result = realResult(instr.result);
    for (size_t i = 0; i < lanes; ++i)
      result[i] = here.reals && offsets[i] >= 0 ? here.reals[offsets[i]] : 0.0f;
  } else {
    int64_t *result = intResult(instr.result);
    for (size_t i = 0; i < lanes; ++i)
      result[i] = here.ints && offsets[i] >= 0 ? here.ints[offsets[i]] : 0;
  }
}

void Lanes::store(const LaneInstr &instr, const Mask &mask) {
  const uint32_t access = static_cast<uint32_t>(instr.integer);
  const Window &here = place(access, mask);
  note(access, here, true);
  if (here.reals) {
    const auto value = reals(instr.a);
    for (size_t i = 0; i < lanes; ++i)
      if (offsets[i] >= 0)
        here.reals[offsets[i]] = value[i];
  } else if (here.ints) {
    const auto value = ints(instr.a);
    for (size_t i = 0; i < lanes; ++i)
      if (offsets[i] >= 0)
        here.ints[offsets[i]] = here.element == Element::I32 ? static_cast<int32_t>(value[i]) : value[i];
  }
}

void Lanes::branch(const Branch &branch, Reg condition, const Mask &mask) {
  const auto holds = ints(condition);
  Mask then(lanes), otherwise(lanes);
  const bool both = branch.onData && !storage.hasValues();
  for (size_t i = 0; i < lanes; ++i) {
    const bool active = mask.empty() || mask[i];
    then[i] = active && (both || holds[i]);
    otherwise[i] = active && (both || !holds[i]);
  }
  for (size_t part = 0; both && part < branch.needs.size(); ++part) {
    const auto known = ints(branch.needs[part]);
    for (size_t i = 0; i < lanes; ++i)
      then[i] = then[i] && known[i];
  }
  run(program.codes[branch.then], then);
  run(program.codes[branch.otherwise], otherwise);
  for (size_t i = 0; i < branch.results.size(); ++i) {
    copyWhere(branch.results[i], branch.thenValues[i], then);
    copyWhere(branch.results[i], branch.otherwiseValues[i], otherwise);
  }
}

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

float startReal(ReduceKind kind) {
  return kind == ReduceKind::Sum ? 0.0f : kind == ReduceKind::Max ? -infinity : infinity;
}
int64_t startInt(ReduceKind kind) {
  return kind == ReduceKind::Sum ? 0 : kind == ReduceKind::Max ? INT64_MIN : INT64_MAX;
}
float combine(ReduceKind kind, float a, float b) {
  return kind == ReduceKind::Sum ? a + b : kind == ReduceKind::Max ? std::fmax(a, b) : std::fmin(a, b);
}
int64_t combine(ReduceKind kind, int64_t a, int64_t b) {
  return kind == ReduceKind::Sum ? a + b : kind == ReduceKind::Max ? std::max(a, b) : std::min(a, b);
}

} // namespace

/// Lanes may have ranges of their own.
void Lanes::reduce(const Reduction &reduction, Reg result, const Mask &mask) {
  if (reduction.whole)
    return reduceWhole(reduction, result);
  const auto lower = ints(reduction.lower), upper = ints(reduction.upper);
  int64_t first = INT64_MAX, last = INT64_MIN;
  for (size_t i = 0; i < lanes; ++i)
    if (mask.empty() || mask[i]) {
      first = std::min(first, lower[i]);
      last = std::max(last, upper[i]);
    }
  std::vector<float> realSum(result.real ? lanes : 0, startReal(reduction.kind));
  std::vector<int64_t> intSum(result.real ? 0 : lanes, startInt(reduction.kind));
  const bool uniform = !reduction.lower.lane && !reduction.upper.lane;
  Mask here = mask;
  for (int64_t index = first; index < last && !exhausted(); ++index) {
    work += 1 + lanes / lanesAtOnce;
    if (!uniform) {
      here.assign(lanes, 0);
      for (size_t i = 0; i < lanes; ++i)
        here[i] = (mask.empty() || mask[i]) && index >= lower[i] && index < upper[i];
    }
    std::fill_n(intResult(reduction.index), lanes, index);
    run(program.codes[reduction.body], here);
    if (result.real) {
      const auto value = reals(reduction.value);
      for (size_t i = 0; i < lanes; ++i)
        if (here.empty() || here[i])
          realSum[i] = combine(reduction.kind, realSum[i], value[i]);
    } else {
      const auto value = ints(reduction.value);
      for (size_t i = 0; i < lanes; ++i)
        if (here.empty() || here[i])
          intSum[i] = combine(reduction.kind, intSum[i], value[i]);
    }
  }
  if (result.real)
    std::copy(realSum.begin(), realSum.end(), realResult(result));
  else
    std::copy(intSum.begin(), intSum.end(), intResult(result));
}

/// Outside maps there is one point: the indices of the reduction are evaluated side by side and combined in their order.
void Lanes::reduceWhole(const Reduction &reduction, Reg result) {
  const int64_t lower = ints(reduction.lower)[0], upper = ints(reduction.upper)[0];
  float realSum = startReal(reduction.kind);
  int64_t intSum = startInt(reduction.kind);
  // Unsigned, as the distance of the bounds may not fit in 63 bits.
  const uint64_t count = upper > lower ? static_cast<uint64_t>(upper) - static_cast<uint64_t>(lower) : 0;
  for (uint64_t done = 0; done < count && !exhausted(); done += lanes) {
    work += 1 + lanes / lanesAtOnce;
    const int64_t first = static_cast<int64_t>(static_cast<uint64_t>(lower) + done);
    lanes = std::min<uint64_t>(capacity, count - done);
    int64_t *index = intResult(reduction.index);
    for (size_t i = 0; i < lanes; ++i)
      index[i] = first + static_cast<int64_t>(i);
    run(program.codes[reduction.body], {});
    if (result.real) {
      const auto value = reals(reduction.value);
      for (size_t i = 0; i < lanes; ++i)
        realSum = combine(reduction.kind, realSum, value[i]);
    } else {
      const auto value = ints(reduction.value);
      for (size_t i = 0; i < lanes; ++i)
        intSum = combine(reduction.kind, intSum, value[i]);
    }
  }
  lanes = 1;
  if (result.real)
    *realResult(result) = realSum;
  else
    *intResult(result) = intSum;
}

void Lanes::scan(const ScanBody &scan, Reg result, const Mask &mask) {
  Mask here = mask;
  if (scan.mask && !(scan.onData && !storage.hasValues())) {
    const auto holds = ints(scan.mask);
    here.assign(lanes, 0);
    for (size_t i = 0; i < lanes; ++i)
      here[i] = (mask.empty() || mask[i]) && holds[i];
  }
  run(program.codes[scan.body], here);
  const auto value = reals(scan.value);
  float *sums = realResult(result);
  for (size_t row = 0; row < lanes; row += rowLength) {
    float sum = 0;
    for (size_t step = 0; step < rowLength; ++step) {
      const size_t i = row + (scan.reverse ? rowLength - 1 - step : step);
      sum += here.empty() || here[i] ? value[i] : 0.0f;
      sums[i] = sum;
    }
  }
}

} // namespace flashqla::sim
