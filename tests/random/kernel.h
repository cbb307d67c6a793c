// What the generator decides before it writes roles: axes, loops, tiles, and who hands tiles to whom.
//
// All roles of a kernel walk the same loops, so that generation g of every ring belongs to the same trip. A *channel* is
// a ring of tiles with its two barriers: `full` from the producer, `free` from the consumers. Roles stand in an order in
// which tiles only go forward, and each role takes and gives tiles once a trip: so no program deadlocks.
#pragma once

#include "tests/random/program.h"
#include "tests/random/random.h"

#include <deque>

namespace flashqla::random {

/// Something that numbers CTAs or trips: `m`, one of `ceildiv(M, 64)`.
struct Axis {
  std::string name = {}, extent = {};
  std::string dim = {};       ///< tiled: the dim that it cuts into blocks; empty otherwise
  std::int64_t block = 0;
  std::string blockText = {}; ///< "64", or a parameter
  bool packed = false;   ///< rows t0 + name * block … until t1 of a sequence
  std::string sequence = {};  ///< packed: the axis of the sequences
  std::int64_t most = 1; ///< the largest extent that a case has

  bool tiled() const { return !dim.empty(); }
};

struct Tile {
  std::string name = {};
  Type type = {};
  std::vector<std::int64_t> extents = {};
  std::int64_t slots = 1;
  Number number = {};
  bool known = false; ///< whether `number` is decided

  /// Whether a product can read it.
  bool isOperand() const;
  std::int64_t bytes() const;
};

/// When a tile is handed over: once before or after the loop, or in each trip.
enum class Stage { Before, Inside, After };

struct Channel {
  std::string full = {}, free = {}; ///< tiles that are handed over once are not handed back
  std::int64_t slots = 1;
  Stage stage = Stage::Inside;
  std::vector<Tile *> tiles = {};
  std::string producer = {};
  std::vector<std::string> consumers = {};
};

enum class LoopKind { None, Single, Packed, Nested, Step, Skip };

struct Loop {
  LoopKind kind = LoopKind::None;
  std::vector<Axis> axes = {};
  std::string generation = "0"; ///< of this trip
  std::int64_t mostTrips = 1;
  /// The body inside the loops' headers.
  std::vector<Node> around(std::vector<Node> body) const;
};

/// A dim and the values that it may have.
struct DimRange {
  std::string name = {};
  std::int64_t low, high, multiple = 1;
};

/// A tensor argument and how a tile at the current place lies in it.
struct TensorUse {
  struct Side {
    int tileDim = -1;        ///< -1: a plain index
    std::string index = {};       ///< of plain ones; the window's start of others
    std::string extent = {};      ///< of the window
    std::string limit = {};       ///< elements at and beyond do not exist; empty: all do
    std::string until = {};       ///< the text behind `until`
    bool whole = false;      ///< `:`
  };
  std::string name = {};
  std::vector<Side> sides = {};

  /// Of the whole tile, or of so many of its rows or columns from `first` on.
  std::string window(int dim = -1, std::int64_t first = 0, std::int64_t count = 0) const;
  /// The element of the tile at these indices.
  std::string element(const std::vector<std::string> &indices) const;
  /// What must hold for it to exist; empty if it always does.
  std::string guard(const std::vector<std::string> &indices) const;
};

struct TensorSpec {
  Type type = Type::F32;
  std::vector<std::int64_t> extents = {};  ///< of the tile
  std::vector<const Axis *> axes = {};     ///< that are visible
  bool writes = false;                ///< then all of them take part
  bool reads = true;
  bool bulk = false;
  bool copies = true;                 ///< by copies, which do not transpose
  bool aligned = false;               ///< pieces of 16 bytes
  Number number = {};
};

class Kernel {
public:
  explicit Kernel(std::uint64_t seed);

  Random random;
  Program program;
  Type mainType;
  bool approximate = false;           ///< functions of the special function unit take part
  std::vector<std::int64_t> extents;  ///< from which tiles are made
  std::deque<Axis> grid;
  Loop loop;
  std::deque<Tile> tiles;
  std::deque<Channel> channels;

  std::string fresh(const std::string &prefix) { return prefix + std::to_string(names[prefix]++); }
  void feature(const std::string &name) { program.features.insert(name); }
  /// "E" for the main type.
  std::string text(Type type) const;
  Type anyType();
  /// Of input tensors.
  Number inputNumber() { return {static_cast<int>(random.below(3)), static_cast<int>(random.below(3)), 0}; }
  std::int64_t anyExtent() { return random.pick(extents); }
  /// Null where shared memory is full.
  Tile *addTile(Type type, std::vector<std::int64_t> extents, std::int64_t slots);
  Channel *addChannel(std::string producer, Stage stage);
  /// "g - 2"; a channel's tiles and barriers in the current trip.
  std::string generation(const Channel &channel, std::int64_t offset = 0) const;
  std::string tileText(const Tile &tile, const Channel &channel) const;
  std::string wait(const Channel &channel) const;
  std::string release(const Channel &channel, std::int64_t behind = 0) const;
  /// Nothing where the axes do not fit.
  std::optional<TensorUse> tensor(const TensorSpec &spec);
  /// A scalar argument; made on demand.
  std::string realScalar(Number &number);
  /// A parameter that is true.
  std::string flag();
  std::string function(const std::string &name, const std::string &text);

  void chooseGrid();
  void chooseLoop();
  /// Integers that all roles compute for themselves.
  void addLets();
  std::vector<std::pair<std::string, std::int64_t>> uniforms = {};
  /// Grid axes, with the loop's, with that of the instances.
  std::vector<const Axis *> axesOutside() const;
  std::vector<const Axis *> axesInside() const;
  void addDim(DimRange range, bool isStatic = false);
  /// The block's extent as text: a number or a parameter.
  std::string blockText(std::int64_t block);
  void requireMultiple(const std::string &dim, std::int64_t multiple);
  void chooseCases();

private:
  Axis tiledAxis(const std::string &prefix, std::int64_t block, std::int64_t most);
  Axis plainAxis(const std::string &prefix, std::int64_t most);
  void packedLoop(std::int64_t block);
  TensorUse::Side tileSide(const TensorSpec &spec, int dim, std::vector<const Axis *> &open, std::string &size);
  std::string fullSize(std::int64_t extent, TensorUse::Side &side);
  Case chooseCase(bool small);

  std::map<std::string, int> names;
  std::vector<DimRange> ranges;
  std::int64_t sharedBytes = 0;
  bool typeParam = false;
  std::string sequences, tokens, keep; ///< of packed loops; of loops that skip
};

} // namespace flashqla::random
