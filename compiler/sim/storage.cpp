#include "compiler/sim/storage.h"

#include <algorithm>
#include <limits>

namespace flashqla::sim {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
/// Stands for what an integer tile holds before it is written.
constexpr int64_t garbage = INT64_MIN / 3;

} // namespace

int64_t TensorValues::volume() const {
  int64_t product = 1;
  for (int64_t extent : extents)
    product *= extent;
  return product;
}

std::array<Interval, maxRank> Window::box() const {
  std::array<Interval, maxRank> sides;
  for (unsigned dim = 0; dim < rank; ++dim)
    sides[dim] = {offset[dim], offset[dim] + size[dim]};
  return sides;
}

std::array<Interval, maxRank> Window::clipped() const {
  std::array<Interval, maxRank> sides = box();
  for (unsigned dim = 0; dim < rank; ++dim) {
    int64_t end = static_cast<int>(dim) == untilDim ? std::min(until, extent[dim]) : extent[dim];
    sides[dim].begin = std::clamp<int64_t>(sides[dim].begin, 0, std::max<int64_t>(end, 0));
    sides[dim].end = std::clamp<int64_t>(sides[dim].end, sides[dim].begin, std::max(end, sides[dim].begin));
  }
  return sides;
}

int64_t Window::volume() const {
  int64_t product = 1;
  for (unsigned dim = 0; dim < rank; ++dim)
    product *= size[dim];
  return product;
}

Storage::Storage(const Program &program, std::vector<GlobalTensor> &tensors, bool values)
    : program(program), tensors(tensors), values(values) {
  for (const SharedObject &object : program.shared)
    shared.push_back(makeTile(object.extents, object.slots, object.element));
  for (const FragmentObject &object : program.fragments)
    fragments.push_back(makeTile(object.extents, 1, object.element));
}

Storage::Tile Storage::makeTile(std::span<const int64_t> extents, int64_t slots, Element element) const {
  Tile tile;
  tile.slotElements = 1;
  for (int64_t extent : extents)
    tile.slotElements *= extent;
  tile.slots = slots;
  if (!values)
    return tile;
  if (isReal(element))
    tile.reals.assign(slots * tile.slotElements, nan);
  else
    tile.ints.assign(slots * tile.slotElements, garbage);
  return tile;
}

Window Storage::resolve(const Reference &reference, const Registers &registers) {
  Window window;
  window.space = reference.space;
  window.object = reference.object;
  std::span<const int64_t> extents;
  if (reference.space == Space::Tensor) {
    window.element = program.tensors[reference.object].element;
    TensorValues *tensor = tensors[reference.object].values;
    extents = tensor->extents;
    window.reals = tensor->reals.empty() ? nullptr : tensor->reals.data();
    window.ints = tensor->ints.empty() ? nullptr : tensor->ints.data();
  } else {
    const bool isShared = reference.space == Space::Shared;
    Tile &tile = isShared ? shared[reference.object] : fragments[reference.object];
    extents = isShared ? program.shared[reference.object].extents : program.fragments[reference.object].extents;
    window.element = isShared ? program.shared[reference.object].element : program.fragments[reference.object].element;
    const int64_t slots = tile.slots;
    window.generation = registers.value(reference.generation);
    window.slot = (window.generation % slots + slots) % slots;
    window.reals = tile.reals.empty() ? nullptr : tile.reals.data() + window.slot * tile.slotElements;
    window.ints = tile.ints.empty() ? nullptr : tile.ints.data() + window.slot * tile.slotElements;
  }
  window.rank = static_cast<unsigned>(extents.size());
  int64_t stride = 1;
  for (unsigned dim = window.rank; dim-- > 0;) {
    window.extent[dim] = extents[dim];
    window.stride[dim] = stride;
    stride *= extents[dim];
    const bool whole = reference.offsets.empty();
    window.offset[dim] = whole ? 0 : registers.integer(reference.offsets[dim]);
    window.size[dim] = whole ? extents[dim] : std::max<int64_t>(reference.sizes[dim], 1);
  }
  for (unsigned dim = 0; dim < window.rank; ++dim)
    if (reference.offsets.empty() || reference.sizes[dim] > 0)
      window.dimension[window.windowRank++] = dim;
  if (reference.until) {
    window.untilDim = reference.untilDim;
    window.until = registers.integer(reference.until);
  }
  return window;
}

void Storage::poisonFragment(uint32_t fragment) {
  std::fill(fragments[fragment].reals.begin(), fragments[fragment].reals.end(), nan);
  std::fill(fragments[fragment].ints.begin(), fragments[fragment].ints.end(), garbage);
}

namespace {

/// Calls `visit` for each run of elements that exist and lie behind each other: its position in the window, its offset in
/// the object, its length.
template <class Visit> void forEachRun(const Window &window, Visit visit) {
  const auto box = window.box(), here = window.clipped();
  for (unsigned dim = 0; dim < window.rank; ++dim)
    if (here[dim].size() == 0)
      return;
  const unsigned outer = window.rank ? window.rank - 1 : 0;
  const int64_t length = window.rank ? here[outer].size() : 1;
  std::array<int64_t, maxRank> at;
  for (unsigned dim = 0; dim < window.rank; ++dim)
    at[dim] = here[dim].begin;
  for (;;) {
    int64_t position = 0, offset = 0;
    for (unsigned dim = 0; dim < window.rank; ++dim) {
      position = position * box[dim].size() + at[dim] - box[dim].begin;
      offset += at[dim] * window.stride[dim];
    }
    visit(position, offset, length);
    unsigned dim = outer;
    for (; dim > 0; --dim) {
      if (++at[dim - 1] < here[dim - 1].end)
        break;
      at[dim - 1] = here[dim - 1].begin;
    }
    if (dim == 0)
      return;
  }
}

template <class T> std::vector<T> gathered(const Window &window, const T *object) {
  std::vector<T> elements(window.volume());
  forEachRun(window, [&](int64_t position, int64_t offset, int64_t length) {
    std::copy_n(object + offset, length, elements.begin() + position);
  });
  return elements;
}

template <class T> void scattered(const Window &window, T *object, std::span<const T> elements) {
  forEachRun(window, [&](int64_t position, int64_t offset, int64_t length) {
    std::copy_n(elements.begin() + position, length, object + offset);
  });
}

} // namespace

std::vector<float> Storage::gather(const Window &window) const { return gathered(window, window.reals); }
void Storage::scatter(const Window &window, std::span<const float> elements) {
  scattered(window, window.reals, elements);
}
std::vector<int64_t> Storage::gatherInts(const Window &window) const { return gathered(window, window.ints); }
void Storage::scatterInts(const Window &window, std::span<const int64_t> elements) {
  scattered(window, window.ints, elements);
}

} // namespace flashqla::sim
