// Fragments, and which of them may meet at the points of a map.
#include "tests/random/compute_role.h"

#include <fmt/format.h>

namespace flashqla::random {

Fragment *ComputeRole::addFragment(Type type, std::vector<std::int64_t> extents, std::string initial) {
  const std::int64_t threads = spec.warpgroups == 0 ? 32 : 128 * spec.warpgroups;
  std::int64_t elements = 1;
  for (std::int64_t extent : extents)
    elements *= extent;
  std::int64_t registers = extents.size() == 2 ? (elements + threads - 1) / threads : (elements + 7) / 8;
  if (type != Type::F32)
    registers = (registers + 1) / 2;
  if (liveRegisters + registers > spec.registers - 40)
    return nullptr;
  liveRegisters += registers;
  Fragment fragment{.name = kernel.fresh("d"), .type = type, .extents = std::move(extents), .number = {}};
  fragment.registers = registers;
  fragment.factor = factor;
  fragment.layout = static_cast<int>(classes.size());
  classes.push_back(fragment.layout);
  slices.emplace_back();
  std::string shape;
  for (std::int64_t extent : fragment.extents)
    shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
  emit(fmt::format("frag {}: {}[{}]{}", fragment.name, kernel.text(type), shape, initial.empty() ? "" : " = " + initial));
  fragment.written = !initial.empty();
  fragments.push_back(std::move(fragment));
  return &fragments.back();
}

int ComputeRole::classOf(int layout) const {
  while (classes[layout] != layout)
    layout = classes[layout];
  return layout;
}

/// Two fragments at the same place.
bool ComputeRole::meet(const Fragment &a, const Fragment &b) {
  const int first = classOf(a.layout), second = classOf(b.layout);
  if (first == second)
    return true;
  Slice &mine = slices[first], &other = slices[second];
  const bool bothSlices = mine.matrix >= 0 && other.matrix >= 0;
  if (bothSlices && (classOf(mine.matrix) != classOf(other.matrix) || mine.dim != other.dim))
    return false;
  if (mine.matrix < 0)
    mine = other;
  classes[second] = first;
  return true;
}

/// `vector[r]` with `matrix[r, c]`, or `vector[c]`.
bool ComputeRole::meet(const Fragment &vector, const Fragment &matrix, int dim) {
  Slice &slice = slices[classOf(vector.layout)];
  if (slice.matrix >= 0)
    return classOf(slice.matrix) == classOf(matrix.layout) && slice.dim == dim;
  slice = {matrix.layout, dim};
  return true;
}

bool ComputeRole::accumulates(const std::vector<std::int64_t> &extents) const {
  return spec.products && spec.warpgroups > 0 && extents.size() == 2 && extents[0] % (64 * spec.warpgroups) == 0 &&
         extents[1] % 8 == 0 && extents[1] <= 256;
}

std::vector<Fragment *> ComputeRole::fragmentsOf(size_t rank) {
  std::vector<Fragment *> found;
  for (Fragment &fragment : fragments)
    if (fragment.extents.size() == rank && fragment.written)
      found.push_back(&fragment);
  return found;
}

} // namespace flashqla::random
