/// A kernel decoded for execution: each role a straight list of steps with jumps, each map a list of lane instructions.
///
/// Decoding (decode.h) walks the IR once; what runs afterwards touches no MLIR, so that CTAs can run on several threads.
/// Scalars of the kernel and of its roles have registers of their own, one set per CTA. Inside maps and reductions a
/// register has a value for each point (lane).
#pragma once

#include "compiler/sim/finding.h"

#include <cstdint>
#include <string>
#include <vector>

namespace flashqla::sim {

enum class Element : uint8_t { BF16, F16, F32, I32, I64, Bool };
inline bool isReal(Element element) { return element <= Element::F32; }

/// Integers and truth values are int64_t, floats are float.
struct Reg {
  int32_t index = -1;
  bool real = false;
  bool lane = false; ///< of a map's points, not of the role
  explicit operator bool() const { return index >= 0; }
};

enum class LaneOp : uint8_t {
  Constant, Copy,
  AddI, SubI, MulI, DivI, RemI, CeilDivI, FloorDivI, MinI, MaxI, And, Or, Xor, ShiftLeft, ShiftRight, AbsI, Narrow32, LowBit, NegI,
  Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual,
  AddF, SubF, MulF, DivF, MinF, MaxF, NegF, AbsF, Exp, Exp2, Log, Log2, Rsqrt, Sqrt, Tanh,
  EqualF, NotEqualF, LessF, LessEqualF, GreaterF, GreaterEqualF,
  Select, ToFloat, ToInt, RoundBF16, RoundF16,
  Load, Store, If, Reduce, Scan,
};

/// Generation base + offset.
struct Generation {
  Reg base;
  int64_t offset = 0;
};

enum class Space : uint8_t { Tensor, Shared, Fragment };

/// A tile, or a window of one.
struct Reference {
  Space space = Space::Tensor;
  uint32_t object = 0;
  bool ring = false;           ///< of a shared tile: `generation` counts
  Generation generation;
  Reg slot;                    ///< lowered: what the compiler made of the generation
  std::vector<Reg> offsets;    ///< one a dimension of the object; empty: the whole object
  std::vector<int64_t> sizes;  ///< 0: a plain index, which drops the dimension
  Reg until;
  int untilDim = -1;
  std::vector<int64_t> shape;  ///< of the window; of a whole tensor: empty
  Where where = nowhere;
};

/// An element read or written in a map, or by a role.
struct ElementAccess {
  Reference target;
  std::vector<Reg> indices;    ///< of the window's dimensions
  Where where = nowhere;
};

/// How a window index of an access follows from the points.
struct IndexForm {
  int mapDim = -1;             ///< the index of the map that it moves with
  bool reduced = false;        ///< it moves with the reduction's own index, from `lower` to `upper`
  Reg lower, upper;
  Reg uniform;                 ///< added
  int64_t constant = 0;        ///< added
};

/// A shared tile's or tensor's elements that a map touches.
struct MapAccess {
  uint32_t access;             ///< in Program::accesses
  bool write;
  bool dense;                  ///< the box of `forms` is exact; otherwise the points tell
  std::vector<IndexForm> forms;
};

struct LaneInstr {
  LaneOp op;
  Reg result, a, b, c;
  int64_t integer = 0;         ///< constant; index of access, branch, reduction or scan; place of a division
  float real = 0;
};

struct Code {
  std::vector<LaneInstr> instrs;
};

/// `If`: results take the values of the arm that a lane goes.
struct Branch {
  uint32_t then, otherwise;    ///< codes
  std::vector<Reg> results, thenValues, otherwiseValues;
  bool onData = false;         ///< the condition depends on elements of tiles
  std::vector<Reg> needs;      ///< parts of it that do not, and without which it does not hold
};

enum class ReduceKind : uint8_t { Sum, Max, Min };
struct Reduction {
  ReduceKind kind;
  uint32_t body;
  Reg index, lower, upper, value;
  bool whole = false; ///< outside maps: its own indices are the lanes
};
struct ScanBody {
  uint32_t body;
  bool reverse;
  Reg mask, value;
  bool onData = false;
};

struct MapBody {
  std::vector<int64_t> domain;
  std::vector<Reg> indices;
  uint32_t body;
  int32_t ints = 0, reals = 0; ///< lane registers
  /// Of a scalar of the role (a reduction or an element outside maps): its register, and the value of the one point.
  Reg result, value;
  std::vector<MapAccess> accesses;
  std::vector<std::pair<uint32_t, bool>> fragments; ///< touched; whether written
  int64_t operations = 0;      ///< per point, for the cost model
  bool divides = false;        ///< an integer by what is no constant: evaluated without values, too
};

/// A tensor map of a lowered bulk copy (runtime/manifest.h).
struct TensorBox {
  std::vector<int64_t> dims, boxes; ///< innermost first
  bool ragged = false;
};

enum class StepKind : uint8_t {
  Scalar, Move, Jump, JumpUnless, LoopTest, Wait, Arrive, Announce, Sync, Fence, DeclareFragment, AwaitFragment,
  AwaitTile, AwaitTensor, AwaitProducts, AwaitStores, AwaitCopies, BulkCopy, BoxLoad, BoxStore, CommitStores,
  AsyncCopy, PlainCopy, Product, Map, Inverse, Assert, End,
};

enum class ProductMode : uint8_t { Set, Add, Sub };

struct Step {
  StepKind kind;
  Where where = nowhere;
  LaneInstr scalar;                       ///< Scalar
  std::vector<std::pair<Reg, Reg>> moves; ///< Move: result, source; all at once
  Reg condition;                          ///< JumpUnless, Assert
  int32_t target = 0;                     ///< jumps
  uint32_t barrier = 0;
  Generation generation;
  Reg slot, parity, guard;                ///< lowered
  int64_t bytes = 0, keep = 0, byte = 0;
  bool read = false;
  bool tensors = false;                   ///< Fence: of writes to tensors as well
  Reference to, from, other;              ///< Product: target, a, b
  Element cast = Element::F32;
  bool casts = false, transposeA = false, transposeB = false;
  ProductMode mode = ProductMode::Set;
  uint32_t map = 0;                       ///< Map; box: index of the tensor map
  std::vector<Reg> coordinates;
  std::string text;                       ///< Assert
};

struct TensorObject {
  std::string name;
  Element element;
  bool read, written;
  std::vector<Reg> extents;
};
struct SharedObject {
  std::string name;
  int64_t slots;
  std::vector<int64_t> extents;
  Element element;
  int64_t panelColumns; ///< of a swizzled tile; otherwise its columns. Known after assign-layouts
  int64_t panelBytes;
};
struct FragmentObject {
  std::string name;
  std::vector<int64_t> extents;
  Element element;
};
struct BarrierObject {
  std::string name;
  int64_t slots;
  std::vector<uint32_t> arrivers;
  Where where = nowhere;
};
struct RoleProgram {
  std::string name;
  int64_t warps;
  std::vector<Step> steps;
};
/// A register that the launch sets.
struct LaunchValue {
  std::string name;
  Reg reg;
  enum Kind : uint8_t { Dim, Axis, Scalar } kind;
};

struct Program {
  std::string kernel;
  bool lowered = false;
  std::vector<TensorObject> tensors;
  std::vector<SharedObject> shared;
  std::vector<FragmentObject> fragments;
  std::vector<BarrierObject> barriers;
  std::vector<RoleProgram> roles;
  std::vector<Step> prologue;             ///< what all roles share
  std::vector<LaunchValue> launchValues;
  std::vector<std::pair<std::string, std::string>> grid; ///< axis, extent as a dimension expression; first fastest
  std::vector<TensorBox> boxes;
  std::vector<Code> codes;
  std::vector<Branch> branches;
  std::vector<Reduction> reductions;
  std::vector<ScanBody> scans;
  std::vector<MapBody> maps;
  std::vector<ElementAccess> accesses;
  int32_t ints = 0, reals = 0;            ///< registers of a CTA
  /// Whether loops, branches, generations or indices depend on elements of tiles or of float tensors: then a run without
  /// values means nothing.
  bool steeredByData = false;
};

} // namespace flashqla::sim
