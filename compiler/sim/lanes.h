/// Evaluates scalars, and the bodies of maps for many points at once.
///
/// The points of a map are independent but for scans, which run along whole rows; they are evaluated in blocks of rows,
/// instruction by instruction. A scalar of a role is the same with one lane.
#pragma once

#include "compiler/sim/storage.h"

#include <functional>
#include <utility>

namespace flashqla::sim {

class Lanes {
public:
  Lanes(const Program &program, Storage &storage, Registers &registers)
      : program(program), storage(storage), registers(registers) {}

  /// One instruction on registers of the role.
  void scalar(const LaneInstr &instr);

  struct Outcome {
    /// For each of the map's accesses that is not dense: the elements touched.
    std::vector<Region> touched;
    /// Accesses with an index outside: index in Program::accesses, and the coordinate.
    struct Outside {
      uint32_t access;
      int64_t coordinate, extent;
    };
    std::vector<Outside> outside;
  };
  /// All points of a map. Without values only conditions and places are computed, and conditions on data hold both ways.
  /// `tensors` is called for each element of a tensor that is touched: tensor, offset, whether it is written.
  Outcome map(const MapBody &body, const std::function<void(uint32_t, int64_t, bool)> &tensors);

  /// Reductions give up after so much work, as their ranges may be as long as 64-bit integers are. An index is one unit
  /// for some points of the map.
  void limitReductions(int64_t most) { mostWork = most; }
  bool exhausted() const { return work >= mostWork; }
  /// Where an integer was divided by zero since this was asked last, or nowhere.
  Where takeDivisionByZero() { return std::exchange(dividedByZero, nowhere); }

private:
  using Mask = std::vector<uint8_t>; ///< empty: all lanes
  template <class T> struct Operand {
    const T *values;
    size_t step; ///< 0 for a scalar of the role
    T operator[](size_t lane) const { return values[lane * step]; }
  };
  Operand<int64_t> ints(Reg reg) const;
  Operand<float> reals(Reg reg) const;
  int64_t *intResult(Reg reg);
  float *realResult(Reg reg);
  template <class F> void intOp(const LaneInstr &instr, F f);
  template <class F> void realOp(const LaneInstr &instr, F f);
  template <class F> void compareReals(const LaneInstr &instr, F f);

  void run(const Code &code, const Mask &mask);
  void run(const LaneInstr &instr, const Mask &mask);
  void compute(const LaneInstr &instr);
  void checkDivisor(const LaneInstr &instr, const Mask &mask);
  void load(const LaneInstr &instr, const Mask &mask);
  void store(const LaneInstr &instr, const Mask &mask);
  void branch(const Branch &branch, Reg condition, const Mask &mask);
  void reduce(const Reduction &reduction, Reg result, const Mask &mask);
  void reduceWhole(const Reduction &reduction, Reg result);
  void scan(const ScanBody &scan, Reg result, const Mask &mask);
  void copyWhere(Reg to, Reg from, const Mask &mask);
  /// Offsets in the object of an access's elements; -1 where a lane is off or outside.
  const Window &place(uint32_t access, const Mask &mask);
  bool placeAll(const ElementAccess &element, int64_t fixed);
  void note(uint32_t access, const Window &window, bool write);
  static void addOffsets(std::vector<int64_t> &set, std::span<const int64_t> offsets);
  static Region regionOf(std::span<const int64_t> offsets, const Window &window);

  const Program &program;
  Storage &storage;
  Registers &registers;
  const MapBody *body = nullptr;
  size_t lanes = 1, capacity = 1, rowLength = 1;
  static constexpr size_t lanesAtOnce = 64;
  int64_t work = 0, mostWork = INT64_MAX; ///< of reductions
  Where dividedByZero = nowhere;
  std::vector<int64_t> laneInts, offsets;
  std::vector<float> laneReals;
  std::vector<std::vector<int64_t>> touched; ///< offsets, of accesses that are not dense
  std::vector<Window> windows;
  Window window;
  Outcome outcome;
  const std::function<void(uint32_t, int64_t, bool)> *tensorUse = nullptr;
};

} // namespace flashqla::sim
