// A role that computes: a random walk over statements, each preceded by what the rules of the language demand.
//
// The role knows which tiles it may read and what may still be going on: products in flight, accesses of shared tiles that
// no `sync` has separated yet. `before` writes the awaits and syncs that the next statement needs, so that a walk is
// valid whatever it does. Numbers of fragments and tiles are fixed when they are first written; later writes are brought
// within them.
#pragma once

#include "tests/random/expressions.h"

#include <list>

namespace flashqla::random {

struct RoleSpec {
  std::string name = {};
  std::int64_t warpgroups = 1; ///< 0: a warp
  std::int64_t instances = 1;  ///< `each`
  std::int64_t registers = 128;
  std::int64_t productColumns = 256; ///< for which the registers suffice with which all warpgroups enter
  bool products = true;
  std::vector<Channel *> inputs = {};
  std::vector<std::string> later = {}; ///< roles that may take tiles from this one
  std::string store = {};              ///< a role that stores tiles; empty: none
};

struct Fragment {
  std::string name = {};
  Type type = {};
  std::vector<std::int64_t> extents = {};
  Number number = {};
  double used = 0;            ///< of the magnitude, by sums
  std::int64_t factor = 1;    ///< trips of the loops around the declaration
  bool written = false;
  int layout = 0; ///< number of its class
  std::int64_t registers = {};
};

/// A shared tile as the role sees it now: `s0[g]`.
struct View {
  Tile *tile = {};
  std::string text = {};
  bool readable = false, writable = false;
};

class ComputeRole {
public:
  ComputeRole(Kernel &kernel, RoleSpec spec);
  /// The role's block; its header lacks the registers.
  Node generate();

private:
  enum class Use { Read, Write, Product, Store, Async };
  struct Pending {
    const Tile *tile = {};
    Use use;
    int group; ///< of products
    bool inFlight;
    std::string tensor = {}; ///< of stores
  };
  struct Group {
    int number;
    const Fragment *target, *operand = {};
    std::vector<const Tile *> tiles = {};
    std::string text = {}; ///< of the target: a window of the fragment, or all of it
  };
  struct Access {
    const Tile *tile = {};
    Use use;
  };
  /// 1-D fragments: rows or columns of which class of matrices.
  struct Slice {
    int matrix = -1, dim = 0;
  };

  // ---- compute_role.cpp
  void emit(std::string text) { out->push_back(Node::line(std::move(text))); }
  bool action(int depth);
  void actions(std::int64_t count, int depth);
  bool branch(int depth);
  bool innerLoop(int depth);
  std::vector<Node> block(const std::function<void()> &fill, std::int64_t factor = 1);
  std::vector<Node> loopBody();
  bool rollingBody(std::vector<Node> &body);
  void take(Channel &channel);
  void giveBack(Channel &channel);
  bool counter();
  std::vector<Fragment *> ofThisBody();
  void endOfBody(bool loop);

  // ---- compute_stages.cpp
  void carried();
  void prologue();
  void loop();
  void epilogue();
  static void pruneAwaits(std::vector<Node> &body);

  // ---- compute_hazards.cpp
  void before(const std::vector<Access> &accesses, const std::vector<const Fragment *> &reads,
              const std::vector<const Fragment *> &writes);
  void sync();
  void retire(int group);
  void awaitFragment(const Fragment &fragment);
  void awaitGroup(int group);
  void awaitProducts();
  void awaitCopies();
  void assumePending(const Tile &tile);
  void assumeNew(size_t viewsBefore);
  bool storesInFlight() const;
  void awaitStores(const Tile *tile);
  void noteProduct(const Fragment &target, const Fragment *operand, std::vector<const Tile *> tiles, const std::string &text);
  bool inFlight(const Fragment &fragment) const;
  void settleTile(const Tile &tile);

  static std::vector<Pending> joined(std::vector<Pending> a, const std::vector<Pending> &b);

  // ---- compute_layouts.cpp
  Fragment *addFragment(Type type, std::vector<std::int64_t> extents, std::string initial = {});
  int classOf(int layout) const;
  bool meet(const Fragment &vector, const Fragment &matrix, int dim);
  bool meet(const Fragment &a, const Fragment &b);
  bool accumulates(const std::vector<std::int64_t> &extents) const;
  std::vector<Fragment *> fragmentsOf(size_t rank);

  // ---- compute_products.cpp
  bool product();
  struct Operand {
    std::string text = {};
    const Tile *tile = nullptr;
    Fragment *fragment = nullptr;
    Number number = {};
    std::int64_t rows = 0, columns = 0;
    Type type = {};
    bool transposed = false;
    const View *view = nullptr;
  };
  std::vector<Operand> sharedOperands();
  std::vector<Operand> leftOperands(bool shared);
  std::string windowed(const Operand &operand, std::int64_t rows, std::int64_t columns);
  bool productOf(const Operand &a, const Operand &b);
  bool productOf(Operand a, const Operand &b, std::int64_t rows, std::int64_t columns, std::int64_t inner);
  Fragment *productTarget(std::int64_t rows, std::int64_t columns, const Number &number, std::string &text, std::string &op);

  // ---- compute_maps.cpp
  using Names = std::vector<std::string>;
  using Extents = std::vector<std::int64_t>;
  /// r ; r, c ; b, r, c
  static Names indexNames(size_t rank);
  void addLeaves(Expressions &expressions, const Names &indices, const Extents &extents, Fragment *place,
                 const Tile *except);
  void addReductionLeaf(Expressions &expressions, const Names &indices, const Extents &extents, const Tile *except);
  void addUniforms(Expressions &expressions) const;
  std::string tileElement(Expressions &expressions, const View &view, const Names &indices, const Extents &extents);
  Value tensorElement(const Names &indices, const Extents &extents);
  Names addLet(Expressions &expressions);
  Fragment *chooseTarget();
  bool mapFragment();
  bool wholeTile();
  bool fit(Expressions &expressions, Value &value, Number &number, bool &known, Type type);
  void emitMap(const Names &indices, const Extents &extents, const Names &lets, const Names &assigns, bool bare);
  void beginReads();
  std::vector<Access> reads() const;

  // ---- compute_tiles.cpp
  View *addPrivate(Type type, Extents extents);
  View *tileTarget(Extents extents, Type type);
  bool mapTile();
  bool updateTile();
  bool writeFragment(Fragment &fragment, View &view, bool transposed);
  bool writeFragmentToTile();

  // ---- compute_vectors.cpp
  bool reduceToVector();
  bool reduceToScalar();
  void addScalar(const Value &value);
  bool scan();
  bool inverse();
  bool indexTable();
  bool uniformElement();

  // ---- compute_copies.cpp
  bool loadFragment();
  bool loadTile();
  bool ownLoad();
  bool output(Fragment &fragment);
  bool outputTile();
  bool storeTile(View &view);
  bool send(Fragment &fragment);
  bool updateTensor();
  std::vector<const Axis *> axes() const;

  Kernel &kernel;
  Random &random;
  RoleSpec spec;
  Axis instance;
  std::vector<Node> *out = nullptr;
  std::list<Fragment> fragments;
  std::list<View> views;
  struct Table {
    const Tile *tile = nullptr;
    std::int64_t bound = 0;
  };
  std::vector<Table> tables; ///< of indices
  std::vector<std::pair<std::string, std::int64_t>> uniforms;
  std::vector<Value> scalars;
  std::vector<Pending> pending;
  std::vector<Group> groups;
  bool groupsJoined = false;  ///< counts of groups are not known: await all
  int nextGroup = 0;
  std::vector<int> classes;   ///< of layouts, by union
  std::vector<Slice> slices;
  std::int64_t liveRegisters = 0, factor = 1;
  Stage stage = Stage::Before;
  bool mayProduct = true, mayStore = true, storesInLoop = false;
  std::vector<const Tile *> usedTiles;
  std::vector<const Fragment *> usedFragments;
  std::string counterName, sumName; ///< variables that a trip has not changed yet
};

} // namespace flashqla::random
