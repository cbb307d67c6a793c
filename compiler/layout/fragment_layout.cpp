#include "compiler/layout/fragment_layout.h"

#include <algorithm>

namespace flashqla {
namespace {

using Source = LayoutDigit::Source;

int64_t ceilDivide(int64_t a, int64_t b) { return a / b + (a % b != 0); }

/// At most 32, the lanes there are: a wider value needs no larger answer, and the largest have no power above them.
int64_t lanesFor(int64_t value) {
  int64_t power = 1;
  while (power < value && power < 32)
    power *= 2;
  return power;
}

} // namespace

FragmentLayout FragmentLayout::accumulator(int64_t rows, int64_t columns, int64_t warps) {
  int64_t warpgroups = warps / 4, blocks = rows / (64 * warpgroups);
  std::vector<LayoutDigit> digits;
  if (blocks > 1)
    digits.push_back({Source::Register, blocks, 0, 64});
  digits.push_back({Source::Register, columns / 8, 1, 8});
  digits.push_back({Source::Register, 2, 0, 8});
  digits.push_back({Source::Register, 2, 1, 1});
  digits.push_back({Source::Lane, 8, 0, 1});
  digits.push_back({Source::Lane, 4, 1, 2});
  digits.push_back({Source::Warp, warpgroups, 0, 64 * blocks});
  digits.push_back({Source::Warp, 4, 0, 16});
  return {{rows, columns}, std::move(digits)};
}

FragmentLayout FragmentLayout::vector(std::vector<int64_t> shape, int64_t warps, int64_t piece) {
  int last = static_cast<int>(shape.size()) - 1;
  int64_t pieces = ceilDivide(shape[last], piece);
  int64_t laneColumns = lanesFor(pieces);
  int64_t restColumns = ceilDivide(pieces, laneColumns);
  std::vector<LayoutDigit> registers, lanes, warpDigits;
  if (last == 0) {
    int64_t warpColumns = std::min(warps, restColumns);
    int64_t steps = ceilDivide(restColumns, warpColumns);
    registers.push_back({Source::Register, steps, 0, piece * laneColumns * warpColumns});
    if (laneColumns < 32)
      lanes.push_back({Source::Lane, 32 / laneColumns, -1, 0});
    if (warpColumns < warps)
      warpDigits.push_back({Source::Warp, ceilDivide(warps, warpColumns), -1, 0});
    warpDigits.push_back({Source::Warp, warpColumns, 0, piece * laneColumns});
  } else {
    // Rows: the innermost of the other dimensions takes what lanes are left, then the warps; the rest is registers.
    int64_t freeLanes = 32 / laneColumns, freeWarps = warps;
    for (int dim = last - 1; dim >= 0; --dim) {
      int64_t laneRows = std::min(freeLanes, lanesFor(shape[dim]));
      int64_t warpRows = std::min(freeWarps, ceilDivide(shape[dim], laneRows));
      int64_t steps = ceilDivide(shape[dim], laneRows * warpRows);
      freeLanes /= laneRows;
      freeWarps /= warpRows;
      registers.insert(registers.begin(), {Source::Register, steps, dim, laneRows * warpRows});
      lanes.insert(lanes.begin(), {Source::Lane, laneRows, dim, 1});
      warpDigits.insert(warpDigits.begin(), {Source::Warp, warpRows, dim, laneRows});
    }
    if (freeLanes > 1)
      lanes.insert(lanes.begin(), {Source::Lane, freeLanes, -1, 0});
    if (freeWarps > 1)
      warpDigits.insert(warpDigits.begin(), {Source::Warp, freeWarps, -1, 0});
    registers.push_back({Source::Register, restColumns, last, piece * laneColumns});
  }
  registers.push_back({Source::Register, piece, last, 1});
  lanes.push_back({Source::Lane, laneColumns, last, piece});
  std::vector<LayoutDigit> digits;
  for (const std::vector<LayoutDigit> *part : {&registers, &lanes, &warpDigits})
    for (const LayoutDigit &digit : *part)
      if (digit.extent > 1)
        digits.push_back(digit);
  return {std::move(shape), std::move(digits)};
}

FragmentLayout FragmentLayout::lines(std::vector<int64_t> shape, int64_t warps) {
  int last = static_cast<int>(shape.size()) - 1;
  int64_t piece = ceilDivide(shape[last], 32);
  std::vector<LayoutDigit> registers, warpDigits;
  int64_t freeWarps = warps;
  for (int dim = last - 1; dim >= 0; --dim) {
    int64_t warpRows = std::min(freeWarps, shape[dim]);
    freeWarps /= warpRows;
    registers.insert(registers.begin(), {Source::Register, ceilDivide(shape[dim], warpRows), dim, warpRows});
    warpDigits.insert(warpDigits.begin(), {Source::Warp, warpRows, dim, 1});
  }
  if (freeWarps > 1)
    warpDigits.insert(warpDigits.begin(), {Source::Warp, freeWarps, -1, 0});
  registers.push_back({Source::Register, piece, last, 1});
  std::vector<LayoutDigit> digits;
  for (const LayoutDigit &digit : registers)
    if (digit.extent > 1)
      digits.push_back(digit);
  digits.push_back({Source::Lane, 32, last, piece});
  for (const LayoutDigit &digit : warpDigits)
    if (digit.extent > 1)
      digits.push_back(digit);
  return {std::move(shape), std::move(digits)};
}

FragmentLayout FragmentLayout::keep(const std::vector<int> &dims) const {
  std::vector<int64_t> shape;
  for (int dim : dims)
    shape.push_back(shape_[dim]);
  std::vector<LayoutDigit> digits;
  for (LayoutDigit digit : digits_) {
    auto found = std::find(dims.begin(), dims.end(), digit.dim);
    if (found != dims.end()) {
      digit.dim = static_cast<int>(found - dims.begin());
    } else if (digit.source == Source::Register) {
      continue; // a thread holds one copy
    } else {
      digit.dim = -1;
      digit.stride = 0;
    }
    digits.push_back(digit);
  }
  return {std::move(shape), std::move(digits)};
}

FragmentLayout FragmentLayout::widen(const std::vector<int> &dims, std::vector<int64_t> shape) const {
  std::vector<LayoutDigit> digits;
  for (int dim = 0; dim < static_cast<int>(shape.size()); ++dim)
    if (std::find(dims.begin(), dims.end(), dim) == dims.end() && shape[dim] > 1)
      digits.push_back({Source::Register, shape[dim], dim, 1});
  for (LayoutDigit digit : digits_) {
    if (digit.dim >= 0)
      digit.dim = dims[digit.dim];
    digits.push_back(digit);
  }
  return {std::move(shape), std::move(digits)};
}

FragmentLayout FragmentLayout::window(int dim, int64_t extent) const {
  FragmentLayout result = *this;
  int64_t whole = shape_[dim];
  result.shape_[dim] = extent;
  for (LayoutDigit &digit : result.digits_)
    if (digit.source == Source::Register && digit.dim == dim && digit.extent * digit.stride == whole) {
      digit.extent = extent / digit.stride;
      break;
    }
  return result;
}

std::vector<LayoutDigit> FragmentLayout::digits(Source source) const {
  std::vector<LayoutDigit> result;
  for (const LayoutDigit &digit : digits_)
    if (digit.source == source)
      result.push_back(digit);
  return result;
}

int64_t FragmentLayout::count(Source source) const {
  int64_t product = 1;
  for (const LayoutDigit &digit : digits_)
    if (digit.source == source)
      product *= digit.extent;
  return product;
}

bool FragmentLayout::isPadded(int dim) const {
  int64_t last = 0;
  for (const LayoutDigit &digit : digits_)
    if (digit.dim == dim)
      last += (digit.extent - 1) * digit.stride;
  return last >= shape_[dim];
}

bool FragmentLayout::isPadded() const {
  for (size_t dim = 0; dim < shape_.size(); ++dim)
    if (isPadded(static_cast<int>(dim)))
      return true;
  return false;
}

bool FragmentLayout::moves(Source source, int dim) const {
  return std::any_of(digits_.begin(), digits_.end(), [&](const LayoutDigit &digit) {
    return digit.source == source && digit.dim == dim && digit.extent > 1;
  });
}

std::vector<int64_t> FragmentLayout::coordinates(int64_t warp, int64_t lane, int64_t reg) const {
  std::vector<int64_t> result(shape_.size(), 0);
  for (auto [source, value] : {std::pair{Source::Register, reg}, {Source::Lane, lane}, {Source::Warp, warp}}) {
    std::vector<LayoutDigit> list = digits(source);
    for (auto digit = list.rbegin(); digit != list.rend(); ++digit) {
      if (digit->dim >= 0)
        result[digit->dim] += value % digit->extent * digit->stride;
      value /= digit->extent;
    }
  }
  return result;
}

} // namespace flashqla
