// Awaits and syncs that the next statement needs.
#include "tests/random/compute_role.h"

#include <fmt/format.h>

#include <algorithm>

namespace flashqla::random {

bool ComputeRole::inFlight(const Fragment &fragment) const {
  return std::ranges::any_of(groups, [&](const Group &group) { return group.target == &fragment; });
}

void ComputeRole::noteProduct(const Fragment &target, const Fragment *operand, std::vector<const Tile *> tiles,
                              const std::string &text) {
  groups.push_back({nextGroup++, &target, operand, std::move(tiles), text});
}

/// Groups up to this one are finished.
void ComputeRole::retire(int group) {
  std::erase_if(groups, [&](const Group &other) { return other.number <= group; });
  if (groups.empty())
    groupsJoined = false;
  for (Pending &access : pending)
    if (access.use == Use::Product && access.group <= group)
      access.inFlight = false;
}

void ComputeRole::awaitProducts() {
  if (groups.empty())
    return;
  emit("await wgmma");
  retire(nextGroup);
}

void ComputeRole::awaitGroup(int number) {
  const auto found = std::ranges::find(groups, number, &Group::number);
  if (found == groups.end())
    return;
  const std::int64_t newer = groups.end() - found - 1;
  if (groupsJoined || random.chance(25))
    return awaitProducts();
  if (random.chance(40)) {
    emit(newer == 0 ? "await wgmma" : fmt::format("await wgmma {}", newer));
    kernel.feature(newer == 0 ? "await.all" : "await.count");
    return retire(number);
  }
  emit("await " + found->target->name);
  kernel.feature("await.fragment");
  int last = number;
  for (const Group &group : groups)
    if (group.target == found->target)
      last = group.number;
  retire(last);
}

void ComputeRole::awaitFragment(const Fragment &fragment) {
  int last = -1;
  for (const Group &group : groups)
    if (group.target == &fragment)
      last = group.number;
  if (last >= 0)
    awaitGroup(last);
}

void ComputeRole::awaitStores(const Tile *tile) {
  std::string name;
  for (const View &view : views)
    if (view.tile == tile)
      name = view.text;
  for (const Pending &access : pending)
    if (access.use == Use::Store && access.tile == tile && access.inFlight && !access.tensor.empty() && random.chance(30))
      name = access.tensor;
  Node await = Node::line("await copy.tma");
  const bool known = std::ranges::none_of(pending, [](const Pending &access) { return access.use == Use::Store && access.tensor.empty(); });
  if (tile && known && factor == 1 && mayStore && random.chance(40)) { // straight on: the order of stores is known
    std::int64_t newer = 0;
    for (const Pending &access : pending)
      newer = access.use != Use::Store ? newer : access.tile == tile ? 0 : newer + 1;
    if (newer > 0) {
      emit(fmt::format("await copy.tma {}", newer));
      kernel.feature("await.stores-counted");
      std::int64_t left = std::ranges::count(pending, Use::Store, &Pending::use) - newer;
      for (Pending &access : pending)
        if (access.use == Use::Store && left-- > 0)
          access.inFlight = false;
      return;
    }
  }
  const bool complete = name.empty() || random.chance(30);
  if (!complete)
    await.text = "await " + name;
  await.awaitedTile = complete ? "*" : tile->name;
  kernel.feature(complete ? "await.stores" : "await.tile");
  out->push_back(std::move(await));
  for (Pending &access : pending)
    if (access.use == Use::Store && (complete || access.tile == tile))
      access.inFlight = false;
}

void ComputeRole::sync() {
  emit("sync");
  kernel.feature("sync");
  std::erase_if(pending, [](const Pending &access) { return !access.inFlight; });
}

void ComputeRole::before(const std::vector<Access> &accesses, const std::vector<const Fragment *> &reads,
                         const std::vector<const Fragment *> &writes) {
  for (const auto *list : {&reads, &writes})
    for (const Fragment *fragment : *list) {
      awaitFragment(*fragment);
      if (!groups.empty() && fragment->factor < factor) // carried round the loop
        awaitProducts();
    }
  for (const Fragment *fragment : writes)
    if (std::ranges::any_of(groups, [&](const Group &group) { return group.operand == fragment; }))
      awaitProducts();
  auto writing = [](Use use) { return use == Use::Write || use == Use::Async; };
  bool needed = false;
  for (const Access &access : accesses)
    for (const Pending &earlier : std::vector<Pending>(pending)) {
      if (earlier.tile != access.tile || (!writing(earlier.use) && !writing(access.use)))
        continue;
      needed = true;
      const bool still = std::ranges::any_of(pending, [&](const Pending &now) {
        return now.tile == earlier.tile && now.use == earlier.use && now.group == earlier.group && now.inFlight;
      });
      if (!still)
        continue;
      if (earlier.use == Use::Product)
        awaitGroup(earlier.group);
      else if (earlier.use == Use::Store)
        awaitStores(earlier.tile);
      else
        awaitCopies();
    }
  if (needed || random.chance(3))
    sync();
  for (const Access &access : accesses)
    if (access.use != Use::Product)
      pending.push_back({access.tile, access.use, -1, access.use == Use::Store || access.use == Use::Async, {}});
    else
      pending.push_back({access.tile, access.use, nextGroup, true, {}});
}

void ComputeRole::awaitCopies() {
  if (std::ranges::none_of(pending, [](const Pending &access) { return access.use == Use::Async && access.inFlight; }))
    return;
  emit("await copy.async");
  for (Pending &access : pending)
    if (access.use == Use::Async)
      access.inFlight = false;
}

/// Nothing of the role still reads or writes the tile by itself.
void ComputeRole::settleTile(const Tile &tile) {
  for (const Pending &access : std::vector<Pending>(pending)) {
    if (access.tile != &tile || !access.inFlight)
      continue;
    const bool still = std::ranges::any_of(pending, [&](const Pending &other) {
      return other.tile == &tile && other.use == access.use && other.group == access.group && other.inFlight;
    });
    if (!still)
      continue;
    if (access.use == Use::Product)
      awaitGroup(access.group);
    else if (access.use == Use::Store)
      awaitStores(&tile);
    else
      awaitCopies();
  }
}

bool ComputeRole::storesInFlight() const {
  return std::ranges::any_of(pending, [](const Pending &access) { return access.use == Use::Store && access.inFlight; });
}

/// What may be pending where two ways meet.
std::vector<ComputeRole::Pending> ComputeRole::joined(std::vector<Pending> a, const std::vector<Pending> &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// What the end of a loop's body may leave to its start: of tiles that the role made since.
void ComputeRole::assumeNew(size_t viewsBefore) {
  if (factor == 1)
    return;
  size_t number = 0;
  for (const View &view : views)
    if (number++ >= viewsBefore && view.writable)
      assumePending(*view.tile);
}

void ComputeRole::assumePending(const Tile &tile) {
  for (Use use : {Use::Read, Use::Write})
    pending.push_back({&tile, use, -1, false, {}});
  if (storesInLoop)
    pending.push_back({&tile, Use::Store, -1, true, {}});
}

} // namespace flashqla::random
