/// The machine of one CTA: roles, their asynchronous engines, barriers and tiles, and what happens before what.
///
/// It knows no kernels and no numbers. Whoever executes a kernel (interpret.h) tells it each access, arrival and wait in
/// the order in which a role makes them, roles in any order; it keeps vector clocks and reports what the order of the
/// kernel does not settle:
///
///     Machine machine({.fences = true});
///     Machine::RoleId load = machine.addRole("load"), mma = machine.addRole("mma");
///     Machine::TileId a = machine.addTile("a_s", 4, /*ring=*/true);
///     Machine::BarrierId full = machine.addBarrier("full", 4, {load});
///     machine.start();
///     machine.bulkLoad(load, {a, 0, region}, full, 0, bytes, here);
///     machine.arrive(load, full, 0, announced, here);
///     while (!machine.wait(mma, full, 0, here)) … let other roles run …
///     machine.read(mma, {a, 0, region}, here);
///     machine.finish();
///     machine.findings();
///
/// Synchronisation does not depend on timing: barriers count generations, waits name them, loop bounds are uniform. So all
/// schedules make the same actions in the same order of happening, and what one run does not report no run would
/// (docs/simulator.md).
#pragma once

#include "compiler/sim/history.h"

#include <span>
#include <string>
#include <unordered_map>

namespace flashqla::sim {

class Machine {
public:
  using RoleId = uint32_t;
  using TileId = uint32_t;
  using BarrierId = uint32_t;
  static constexpr RoleId nobody = UINT32_MAX;

  struct Options {
    /// Whether the program has its proxy fences written out: then they must suffice.
    bool fences = false;
  };
  /// Elements of a slot of a tile; a tensor has the one generation 0.
  struct Window {
    TileId tile;
    int64_t generation;
    Region region;
    Where where = nowhere; ///< of the operand in the text, where it has a place of its own
  };
  /// How often a `wait` for generation 0 or later was executed, and how often it told the role nothing that it did not know.
  struct WaitCount {
    int64_t executed = 0, implied = 0;
  };

  explicit Machine(Options options) : options(options) {}

  // ---- structure, before start()

  /// `lane`: one of its lanes arrives for all of them, as in a warp; otherwise each thread arrives.
  RoleId addRole(std::string name, bool lane = false);
  TileId addTile(std::string name, int64_t slots, bool ring);
  /// A tensor that the kernel writes.
  TileId addTensor(std::string name);
  BarrierId addBarrier(std::string name, int64_t slots, std::span<const RoleId> arrivers);
  void start();

  // ---- accesses by the threads of a role

  /// A statement begins. Threads of a role are apart from each other between its statements, until a `sync`.
  void statement(RoleId role) { ++roles[role].now[role]; }
  void read(RoleId role, const Window &window, Where where);
  void write(RoleId role, const Window &window, Where where);

  // ---- barriers

  /// False while generation g is not complete: the role makes no step then.
  bool wait(RoleId role, BarrierId barrier, int64_t generation, Where where);
  /// `announced`: bytes of copies that the arrival (or an expect_tx) announces.
  void arrive(RoleId role, BarrierId barrier, int64_t generation, Where where);
  void announce(BarrierId barrier, int64_t generation, int64_t bytes);

  // ---- asynchronous operations of a role

  /// A bulk load that completes on generation g. `bytes` counts against what is announced; zero where nothing is.
  /// `source` is null for a tensor that the kernel only reads, here and below.
  void bulkLoad(RoleId role, const Window &target, const Window *source, BarrierId barrier, int64_t generation,
                int64_t bytes, Where where);
  /// One group that reads tiles.
  void product(RoleId role, std::span<const Window> operands, Where where);
  /// A bulk store of the open group; `commitStores` closes it.
  void bulkStore(RoleId role, const Window &source, const Window &target, Where where);
  void commitStores(RoleId role);
  /// A cp.async of the threads: a group of its own.
  void asyncCopy(RoleId role, const Window &target, const Window *source, Where where);

  int64_t productsIssued(RoleId role) const { return roles[role].products; }
  int64_t productsAwaited(RoleId role) const { return roles[role].now[roles[role].productAgent]; }
  void awaitProducts(RoleId role, int64_t keep);
  /// `read`: until they have read their tiles; otherwise until they are complete.
  void awaitStores(RoleId role, int64_t keep, bool read);
  /// Until no store of the role reads this generation of the tile.
  void awaitStoresOf(RoleId role, TileId tile, int64_t generation);
  void awaitCopies(RoleId role, int64_t keep);

  // ---- within a role

  /// `tensors`: the fence covers writes to global memory as well.
  void fence(RoleId role, bool tensors);
  void sync(RoleId role);

  // ---- results

  void finishRole(RoleId role, Where where);
  void finish();
  /// No role can move; `waiting` has the barrier and generation of those that are not finished.
  struct Blocked {
    RoleId role;
    BarrierId barrier;
    int64_t generation;
    Where where;
  };
  void deadlock(std::span<const Blocked> waiting);
  void report(Finding finding);
  const std::vector<Finding> &findings() const { return found; }
  /// After a mistake with barriers nothing that follows means anything.
  bool stopped() const { return halted; }
  const std::unordered_map<Where, WaitCount> &waits() const { return waitCounts; }
  /// How often the most used slot of a barrier was complete.
  int64_t rounds(BarrierId barrier) const;

  const std::string &roleName(RoleId role) const { return roles[role].name; }
  std::string generationName(BarrierId barrier, int64_t generation) const;
  std::string windowName(TileId tile, int64_t generation) const;

private:
  struct Role {
    std::string name;
    bool lane = false;
    Agent productAgent, storeReadAgent, storeWriteAgent, copyAgent;
    /// What each thread knows of other roles, and some thread of this one; what all threads know.
    Clock now, common;
    Fenced fenced, fencing;
    /// Of bulk loads: those that the role itself has waited for.
    Clock visible;
    int64_t products = 0, stores = 0, copies = 0;
    Where productAt = nowhere, storeAt = nowhere, copyAt = nowhere; ///< the newest
    bool storesOpen = false;
    struct Store {
      int64_t group;
      TileId tile;
      int64_t generation;
    };
    std::vector<Store> storesInFlight;
  };
  struct Phase {
    Clock clock;
    Fenced fenced;
    std::vector<int32_t> times; ///< of the arrivals; 0 where there was none
    std::vector<Where> places;
    bool loads = false;
    int64_t announced = 0, landed = 0;
    Where loadedAt = nowhere;

    void clear();
  };
  struct WaitRecord {
    RoleId role;
    int64_t phase;
    int32_t time;
    Where where;
  };
  struct Slot {
    Agent loads;
    int64_t complete = 0; ///< phases that are
    Phase current, last, beforeLast;
    std::vector<int64_t> arrivals; ///< phases at which each arriver has arrived
    std::vector<WaitRecord> waits;
  };
  struct Barrier {
    std::string name;
    std::vector<RoleId> arrivers;
    std::vector<Slot> slots;
  };
  struct Tile {
    std::string name;
    bool ring, tensor;
    std::vector<History> slots;
  };
  struct Use {
    Agent agent;
    int32_t time;
    Actor actor;
    RoleId role;
  };

  Slot &slotOf(BarrierId barrier, int64_t generation);
  int64_t phaseOf(BarrierId barrier, int64_t generation) const;
  static std::string actorName(Actor actor, const std::string &role);
  /// What a phase needs and a role cannot be sure of: an arrival or, of role `nobody`, a load.
  struct Doubt {
    RoleId role;
    Where where;
  };
  std::optional<Doubt> doubt(RoleId role, const Barrier &barrier, const Slot &slot, int64_t phase) const;
  Finding doubtful(FindingKind kind, Where where, std::string message, const Role &role, const Doubt &doubt) const;
  const Phase *completedPhase(const Slot &slot, int64_t phase) const;
  void tryComplete(BarrierId barrier, Slot &slot);
  void checkOvertaken(BarrierId barrier, Slot &slot);
  size_t arriverIndex(const Barrier &barrier, RoleId role) const;
  std::string completionOf(Epoch load) const;
  std::vector<RoleId> missingAt(const Blocked &blocked) const;
  std::pair<int64_t, Where> lastArrival(RoleId role, BarrierId barrier) const;
  const Clock &knowledge(const Use &use, const Access &earlier, bool tensor) const;
  void access(const Use &use, const Window &window, bool write, Where where);
  void reportConflict(const Access &access, bool write, const Access &earlier, bool wrote, const Window &window);
  void reportUnsynced(const Access &access, bool write, const Access &earlier, bool wrote, const std::string &tile);
  void stop(Finding finding);

  Options options;
  std::vector<Role> roles;
  std::vector<Barrier> barriers;
  std::vector<Tile> tiles;
  std::vector<Finding> found;
  std::unordered_map<Where, WaitCount> waitCounts;
  bool halted = false;
};

} // namespace flashqla::sim
