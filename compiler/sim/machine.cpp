#include "compiler/sim/machine.h"

#include <fmt/format.h>

namespace flashqla::sim {
// ---- structure

Machine::RoleId Machine::addRole(std::string name, bool lane) {
  Role role;
  role.name = std::move(name);
  role.lane = lane;
  roles.push_back(std::move(role));
  return static_cast<RoleId>(roles.size() - 1);
}

Machine::TileId Machine::addTile(std::string name, int64_t slots, bool ring) {
  tiles.push_back({std::move(name), ring, /*tensor=*/false, std::vector<History>(slots)});
  return static_cast<TileId>(tiles.size() - 1);
}

Machine::TileId Machine::addTensor(std::string name) {
  tiles.push_back({std::move(name), /*ring=*/false, /*tensor=*/true, std::vector<History>(1)});
  return static_cast<TileId>(tiles.size() - 1);
}

Machine::BarrierId Machine::addBarrier(std::string name, int64_t slots, std::span<const RoleId> arrivers) {
  Barrier barrier{std::move(name), {arrivers.begin(), arrivers.end()}, std::vector<Slot>(slots)};
  barriers.push_back(std::move(barrier));
  return static_cast<BarrierId>(barriers.size() - 1);
}

/// Roles come first, as an access by threads has its role for an agent.
void Machine::start() {
  Agent agents = static_cast<Agent>(roles.size());
  for (Role &role : roles)
    for (Agent *agent : {&role.productAgent, &role.storeReadAgent, &role.storeWriteAgent, &role.copyAgent})
      *agent = agents++;
  for (Barrier &barrier : barriers)
    for (Slot &slot : barrier.slots)
      slot.loads = agents++;
  for (RoleId id = 0; id < roles.size(); ++id) {
    Role &role = roles[id];
    role.now = role.common = role.visible = Clock(agents);
    role.fenced = role.fencing = Fenced(agents);
    role.now[id] = 1;
  }
  for (Barrier &barrier : barriers)
    for (Slot &slot : barrier.slots) {
      slot.arrivals.assign(barrier.arrivers.size(), 0);
      slot.current.clock = Clock(agents);
      slot.current.fenced = Fenced(agents);
      slot.current.times.assign(barrier.arrivers.size(), 0);
      slot.current.places.assign(barrier.arrivers.size(), nowhere);
      slot.last = slot.beforeLast = slot.current;
    }
}

void Machine::Phase::clear() {
  clock.clear();
  fenced.clear();
  std::fill(times.begin(), times.end(), 0);
  std::fill(places.begin(), places.end(), nowhere);
  loads = false;
  announced = landed = 0;
  loadedAt = nowhere;
}

// ---- accesses

void Machine::read(RoleId role, const Window &window, Where where) {
  access({role, roles[role].now[role], Actor::Threads, role}, window, false, where);
}

void Machine::write(RoleId role, const Window &window, Where where) {
  access({role, roles[role].now[role], Actor::Threads, role}, window, true, where);
}

/// Other roles a role knows by its waits, which each thread executes. Among the threads of a role one may be ahead of
/// another; the lane that issues bulk copies knows which of its stores have ended. Which thread touches which element of a
/// tensor is not followed.
const Clock &Machine::knowledge(const Use &use, const Access &earlier, bool tensor) const {
  const Role &role = roles[use.role];
  const bool lane = use.actor == Actor::BulkLoad || use.actor == Actor::BulkStore;
  const bool statement = earlier.epoch.agent == use.agent && earlier.epoch.time == use.time; // points of one map
  if (statement || (lane && earlier.actor == Actor::BulkStore))
    return role.now;
  const bool byThreads = proxyOf(use.actor) == Proxy::Generic && proxyOf(earlier.actor) == Proxy::Generic;
  return tensor && byThreads ? role.now : role.common;
}

void Machine::access(const Use &use, const Window &window, bool write, Where where) {
  if (window.region.empty())
    return;
  if (window.where != nowhere)
    where = window.where;
  Tile &tile = tiles[window.tile];
  const int64_t slots = static_cast<int64_t>(tile.slots.size());
  if (window.generation < 0) {
    report({FindingKind::OutOfBounds, where,
            fmt::format("`{}` has no generation {}", tile.name, window.generation), {}, {}, {}});
    return;
  }
  History &history = tile.slots[window.generation % slots];
  const Role &role = roles[use.role];
  Access access{window.region, {use.agent, use.time}, use.actor, use.role, window.generation, where};
  history.conflicts(access, write, [&](const Access &earlier, bool wrote) {
    bool known = knowledge(use, earlier, tile.tensor).knows(earlier.epoch);
    bool visible = !wrote || write || earlier.actor != Actor::BulkLoad || role.visible.knows(earlier.epoch);
    bool fenced = !options.fences || !wrote || proxyOf(use.actor) == Proxy::Generic ||
                  proxyOf(earlier.actor) == Proxy::Async ||
                  (tile.tensor ? role.fenced.tensors : role.fenced.tiles).knows(earlier.epoch);
    if (!known || !visible || !fenced)
      reportConflict(access, write, earlier, wrote, window);
  });
  if (!write && !tile.tensor && !history.unwritten(window.region, window.generation).empty()) {
    const Access *last = history.lastWrite();
    Finding finding{FindingKind::Unwritten, where,
                    fmt::format("{} reads elements of `{}` that nothing has written",
                                actorName(use.actor, role.name), windowName(window.tile, window.generation)),
                    {}, {}, {}};
    if (last && last->generation != window.generation)
      finding.labels.push_back({last->where, fmt::format("last written here, as `{}`",
                                                         windowName(window.tile, last->generation))});
    else if (last)
      finding.labels.push_back({last->where, "this writes others of its elements"});
    report(std::move(finding));
  }
  if (write)
    history.addWrite(std::move(access));
  else
    history.addRead(std::move(access));
}

// ---- asynchronous operations

void Machine::product(RoleId id, std::span<const Window> operands, Where where) {
  Role &role = roles[id];
  ++role.products;
  role.productAt = where;
  for (const Window &operand : operands)
    access({role.productAgent, static_cast<int32_t>(role.products), Actor::Product, id}, operand, false, where);
}

void Machine::bulkStore(RoleId id, const Window &source, const Window &target, Where where) {
  Role &role = roles[id];
  if (!role.storesOpen)
    ++role.stores;
  role.storesOpen = true;
  role.storeAt = where;
  const int32_t group = static_cast<int32_t>(role.stores);
  access({role.storeReadAgent, group, Actor::BulkStore, id}, source, false, where);
  access({role.storeWriteAgent, group, Actor::BulkStore, id}, target, true, where);
  role.storesInFlight.push_back({role.stores, source.tile, source.generation});
}

void Machine::commitStores(RoleId role) { roles[role].storesOpen = false; }

void Machine::asyncCopy(RoleId id, const Window &target, const Window *source, Where where) {
  Role &role = roles[id];
  ++role.copies;
  role.copyAt = where;
  if (source)
    access({role.copyAgent, static_cast<int32_t>(role.copies), Actor::AsyncCopy, id}, *source, false, where);
  access({role.copyAgent, static_cast<int32_t>(role.copies), Actor::AsyncCopy, id}, target, true, where);
}

void Machine::awaitProducts(RoleId id, int64_t keep) {
  Role &role = roles[id];
  int32_t &done = role.now[role.productAgent];
  done = std::max(done, static_cast<int32_t>(role.products - keep));
}

void Machine::awaitStores(RoleId id, int64_t keep, bool read) {
  Role &role = roles[id];
  const int32_t upTo = static_cast<int32_t>(role.stores - keep);
  role.now[role.storeReadAgent] = std::max(role.now[role.storeReadAgent], upTo);
  if (!read)
    role.now[role.storeWriteAgent] = std::max(role.now[role.storeWriteAgent], upTo);
  std::erase_if(role.storesInFlight, [&](const Role::Store &store) { return store.group <= upTo; });
}

void Machine::awaitStoresOf(RoleId id, TileId tile, int64_t generation) {
  const Role &role = roles[id];
  int64_t last = 0;
  for (const Role::Store &store : role.storesInFlight)
    if (store.tile == tile && store.generation == generation)
      last = store.group;
  if (last)
    awaitStores(id, role.stores - last, /*read=*/true);
}

void Machine::awaitCopies(RoleId id, int64_t keep) {
  Role &role = roles[id];
  int32_t &done = role.now[role.copyAgent];
  done = std::max(done, static_cast<int32_t>(role.copies - keep));
}

// ---- within a role

/// What the role does from here on is not covered: its time moves on. A fence is a thread's own; the role has it once
/// its threads have met.
void Machine::fence(RoleId id, bool tensors) {
  Role &role = roles[id];
  role.fencing.tiles.join(role.now);
  if (tensors)
    role.fencing.tensors.join(role.now);
  ++role.now[id];
}

void Machine::sync(RoleId id) {
  Role &role = roles[id];
  role.fenced.join(role.fencing);
  role.common.join(role.now);
  ++role.now[id];
}

} // namespace flashqla::sim
