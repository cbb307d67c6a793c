/// What tensors, shared tiles and fragments hold, as f32 or i64 whatever their element type: 16-bit floats are kept
/// rounded.
///
/// Shared tiles and fragments start as NaN: what is read too early shows in the results.
#pragma once

#include "compiler/sim/program.h"
#include "compiler/sim/region.h"

#include <atomic>
#include <cstdlib>
#include <limits>
#include <memory>

namespace flashqla::sim {

/// A tensor argument, row-major and packed. Tensors without values have none of the arrays: such a run follows the
/// protocol alone.
struct TensorValues {
  std::vector<int64_t> extents;
  std::vector<float> reals;
  std::vector<int64_t> ints;

  int64_t volume() const;
};

/// For each element of a tensor 0, or 1 + a CTA; -1: several. Memory that no CTA touches is never mapped.
class Owners {
public:
  Owners() = default;
  explicit Owners(int64_t elements) : owners(static_cast<int32_t *>(std::calloc(elements, sizeof(int32_t)))) {}
  explicit operator bool() const { return owners != nullptr; }
  std::atomic_ref<int32_t> operator[](int64_t element) const { return std::atomic_ref(owners.get()[element]); }
  /// Makes an element a CTA's and returns whose it was. Alone, without other threads, that costs no atomic exchange.
  int32_t take(int64_t element, int32_t mine, bool alone) const {
    std::atomic_ref<int32_t> owner = (*this)[element];
    if (!alone)
      return owner.exchange(mine, std::memory_order_relaxed);
    const int32_t before = owner.load(std::memory_order_relaxed);
    owner.store(mine, std::memory_order_relaxed);
    return before;
  }

private:
  struct Free {
    void operator()(int32_t *memory) const { std::free(memory); }
  };
  std::unique_ptr<int32_t[], Free> owners;
};

/// A tensor shared by the CTAs of a launch, and who of them touched which element.
struct GlobalTensor {
  TensorValues *values = nullptr;
  Owners writer, reader; ///< of tensors that the kernel writes, and that it reads as well
};

/// Registers of a CTA.
struct Registers {
  std::vector<int64_t> ints;
  std::vector<float> reals;

  int64_t integer(Reg reg) const { return ints[reg.index]; }
  int64_t value(const Generation &generation) const {
    return (generation.base ? ints[generation.base.index] : 0) + generation.offset;
  }
};

/// A window whose place is known.
struct Window {
  Space space = Space::Tensor;
  uint32_t object = 0;
  Element element = Element::F32;
  int64_t generation = 0, slot = 0;
  unsigned rank = 0, windowRank = 0;
  std::array<int64_t, maxRank> extent{};     ///< of the object
  std::array<int64_t, maxRank> stride{};     ///< elements
  std::array<int64_t, maxRank> offset{};     ///< of the window, in the object
  std::array<int64_t, maxRank> size{};       ///< of the window; 1 for a plain index
  std::array<unsigned, maxRank> dimension{}; ///< of the object, for each of the window
  int untilDim = -1;
  int64_t until = std::numeric_limits<int64_t>::max();
  float *reals = nullptr; ///< element (0, …, 0) of the object; null without values
  int64_t *ints = nullptr;

  /// The window's box in the object, and that part of it where there are elements.
  std::array<Interval, maxRank> box() const;
  std::array<Interval, maxRank> clipped() const;
  /// Elements of the window in the order of its dimensions.
  int64_t volume() const;
};

class Storage {
public:
  Storage(const Program &program, std::vector<GlobalTensor> &tensors, bool values);

  Window resolve(const Reference &reference, const Registers &registers);
  /// A fragment that is declared (again).
  void poisonFragment(uint32_t fragment);
  bool hasValues() const { return values; }

  /// All elements of a window, row-major; those that do not exist are zero.
  std::vector<float> gather(const Window &window) const;
  /// Writes those that exist.
  void scatter(const Window &window, std::span<const float> elements);
  std::vector<int64_t> gatherInts(const Window &window) const;
  void scatterInts(const Window &window, std::span<const int64_t> elements);

private:
  struct Tile {
    std::vector<float> reals;
    std::vector<int64_t> ints;
    int64_t slots = 1, slotElements = 0;
  };
  Tile makeTile(std::span<const int64_t> extents, int64_t slots, Element element) const;

  const Program &program;
  std::vector<GlobalTensor> &tensors;
  bool values;
  std::vector<Tile> shared, fragments;
};

} // namespace flashqla::sim
