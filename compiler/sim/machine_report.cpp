/// What the machine says of what it finds.
#include "compiler/sim/machine.h"

#include <fmt/format.h>

namespace flashqla::sim {

std::string Machine::generationName(BarrierId barrier, int64_t generation) const {
  return fmt::format("{}[{}]", barriers[barrier].name, generation);
}

std::string Machine::windowName(TileId tile, int64_t generation) const {
  return tiles[tile].ring || generation > 0 ? fmt::format("{}[{}]", tiles[tile].name, generation) : tiles[tile].name;
}

std::string Machine::actorName(Actor actor, const std::string &role) {
  switch (actor) {
  case Actor::Threads: return fmt::format("`{}`", role);
  case Actor::Product: return fmt::format("a product of `{}`", role);
  case Actor::BulkLoad: return fmt::format("a bulk load of `{}`", role);
  case Actor::BulkStore: return fmt::format("a bulk store of `{}`", role);
  case Actor::AsyncCopy: return fmt::format("a `copy.async` of `{}`", role);
  }
  return role;
}

/// The same conflict turns up in each iteration: it is reported once.
void Machine::report(Finding finding) {
  auto places = [](const Finding &of) {
    const Where other = of.labels.empty() ? nowhere : of.labels[0].where;
    return of.kind == FindingKind::Race ? std::minmax({of.where, other}) : std::pair(of.where, other);
  };
  for (const Finding &earlier : found)
    if (earlier.kind == finding.kind && places(earlier) == places(finding))
      return;
  found.push_back(std::move(finding));
}

void Machine::stop(Finding finding) {
  report(std::move(finding));
  halted = true;
}

void Machine::reportConflict(const Access &access, bool write, const Access &earlier, bool wrote,
                             const Window &window) {
  const Role &role = roles[access.role];
  const std::string tile = windowName(window.tile, access.generation);
  const std::string before = windowName(window.tile, earlier.generation);
  const std::string who = actorName(access.actor, role.name), other = actorName(earlier.actor, roles[earlier.role].name);
  Finding finding{FindingKind::Race, access.where, {}, {}, {}, {}};
  if (role.now.knows(earlier.epoch) && earlier.role == access.role && earlier.actor != Actor::BulkLoad &&
      !role.common.knows(earlier.epoch))
    return reportUnsynced(access, write, earlier, wrote, tile);
  if (!role.now.knows(earlier.epoch)) {
    finding.message = fmt::format("{} {} `{}`, and nothing orders that after the {} of `{}` by {}", who,
                                  write ? "writes" : "reads", tile, wrote ? "write" : "read", before, other);
    finding.primary = write ? "written here" : "read here";
    finding.labels.push_back({earlier.where, wrote ? "written here" : "read here"});
    if (earlier.actor != Actor::Threads && earlier.actor != Actor::BulkLoad)
      finding.notes.push_back("an asynchronous operation goes on until its role has awaited it, and a barrier or `sync` "
                              "has passed that on");
  } else if (proxyOf(access.actor) == Proxy::Async && proxyOf(earlier.actor) == Proxy::Generic) {
    finding.kind = FindingKind::MissingFence;
    finding.message = fmt::format("{} {} `{}` without a proxy fence after its write by the threads of `{}`", who,
                                  write ? "writes" : "reads", tile, roles[earlier.role].name);
    finding.labels.push_back({earlier.where, "written here"});
  } else {
    finding.kind = FindingKind::MissingWait;
    finding.message = fmt::format("{} reads `{}` without having waited for the copy that fills it", who, tile);
    finding.labels.push_back({earlier.where, fmt::format("the copy, which completes on `{}`", completionOf(earlier.epoch))});
    finding.notes.push_back("only a role's own `wait` makes visible to it what the copy engine wrote");
  }
  report(std::move(finding));
}

/// The role has awaited what was in flight, and its threads may be apart from each other.
void Machine::reportUnsynced(const Access &access, bool write, const Access &earlier, bool wrote, const std::string &tile) {
  const std::string &role = roles[access.role].name;
  Finding finding{FindingKind::MissingSync, access.where,
                  !write  ? fmt::format("`{}` is read by other threads of `{}` without `sync`", tile, role)
                  : wrote ? fmt::format("`{}` is written again by other threads of `{}` without `sync`", tile, role)
                          : fmt::format("`{}` is overwritten while other threads of `{}` may still read it", tile, role),
                  write ? "written here" : "read here", {{earlier.where, wrote ? "written here" : "read here"}}, {}};
  if (earlier.actor != Actor::Threads)
    finding.notes.push_back(earlier.actor == Actor::BulkStore ? "one lane starts and awaits bulk stores"
                                                              : "`await` is each thread's own");
  report(std::move(finding));
}

/// The generation on which a bulk load completes.
std::string Machine::completionOf(Epoch load) const {
  for (BarrierId id = 0; id < barriers.size(); ++id)
    for (size_t slot = 0; slot < barriers[id].slots.size(); ++slot)
      if (barriers[id].slots[slot].loads == load.agent)
        return generationName(id, static_cast<int64_t>((load.time - 1) * barriers[id].slots.size() + slot));
  return {};
}

std::vector<Machine::RoleId> Machine::missingAt(const Blocked &blocked) const {
  const Barrier &barrier = barriers[blocked.barrier];
  const int64_t slots = static_cast<int64_t>(barrier.slots.size());
  const Slot &slot = barrier.slots[(blocked.generation % slots + slots) % slots];
  std::vector<RoleId> missing;
  for (size_t i = 0; i < barrier.arrivers.size(); ++i)
    if (slot.arrivals[i] <= phaseOf(blocked.barrier, blocked.generation))
      missing.push_back(barrier.arrivers[i]);
  return missing;
}

/// Generation and place; -1 if it never arrived.
std::pair<int64_t, Where> Machine::lastArrival(RoleId role, BarrierId id) const {
  const Barrier &barrier = barriers[id];
  const size_t index = arriverIndex(barrier, role);
  std::pair<int64_t, Where> last{-1, nowhere};
  for (size_t i = 0; i < barrier.slots.size(); ++i) {
    const Slot &slot = barrier.slots[i];
    const int64_t phase = slot.arrivals[index] - 1, generation = phase * static_cast<int64_t>(barrier.slots.size()) +
                                                                 static_cast<int64_t>(i);
    if (phase >= 0 && generation > last.first)
      last = {generation, (phase == slot.complete ? slot.current : slot.last).places[index]};
  }
  return last;
}

/// Says what it comes from: a role that has ended without the arrival that another one waits for, or roles that wait for
/// each other in a circle. All others wait for these.
void Machine::deadlock(std::span<const Blocked> waiting) {
  auto waits = [&](RoleId role) {
    return std::find_if(waiting.begin(), waiting.end(), [&](const Blocked &blocked) { return blocked.role == role; });
  };
  auto what = [&](const Blocked &blocked) {
    return fmt::format("`{}` waits for `{}`", roles[blocked.role].name, generationName(blocked.barrier, blocked.generation));
  };
  for (const Blocked &blocked : waiting)
    for (RoleId missing : missingAt(blocked)) {
      if (waits(missing) != waiting.end())
        continue;
      Finding finding{FindingKind::Deadlock, blocked.where,
                      fmt::format("deadlock: {}, and `{}` has ended without arriving at it", what(blocked),
                                  roles[missing].name), {}, {}, {}};
      if (auto [generation, where] = lastArrival(missing, blocked.barrier); generation >= 0)
        finding.labels.push_back({where, fmt::format("its last arrival was at `{}`",
                                                     generationName(blocked.barrier, generation))});
      return stop(std::move(finding));
    }
  std::vector<Blocked> chain{waiting.front()};
  auto known = chain.end();
  do {
    chain.push_back(*waits(missingAt(chain.back()).front()));
    known = std::find_if(chain.begin(), chain.end(), [&](const Blocked &each) { return each.role == chain.back().role; });
  } while (known == chain.end() - 1);
  Finding finding{FindingKind::Deadlock, known->where, {}, {}, {}, {}};
  for (; known != chain.end() - 1; ++known) {
    std::string line = fmt::format("{}, which lacks the arrival of `{}`", what(*known), roles[(known + 1)->role].name);
    if (finding.message.empty())
      finding.message = "deadlock: " + line;
    else
      finding.labels.push_back({known->where, std::move(line)});
  }
  stop(std::move(finding));
}

void Machine::finishRole(RoleId id, Where where) {
  const Role &role = roles[id];
  auto left = [&](const char *what, Agent agent, int64_t issued, Where newest) {
    if (role.now[agent] < issued)
      report({FindingKind::NeverAwaited, newest, fmt::format("`{}` ends with this {} in flight", role.name, what), {},
              {{where, "ends without an `await` for it"}}, {}});
  };
  left("product", role.productAgent, role.products, role.productAt);
  left("bulk store", role.storeReadAgent, role.stores, role.storeAt);
  left("`copy.async`", role.copyAgent, role.copies, role.copyAt);
}

void Machine::finish() {
  for (const Barrier &barrier : barriers)
    for (const Slot &slot : barrier.slots) {
      const Phase &last = slot.current.loads ? slot.current : slot.last;
      const int64_t phase = slot.current.loads ? slot.complete : slot.complete - 1;
      if (!last.loads)
        continue;
      bool seen = false;
      for (const Role &role : roles)
        seen |= role.visible[slot.loads] > phase;
      if (!seen)
        report({FindingKind::NeverAwaited, last.loadedAt,
                fmt::format("the CTA ends with a copy in flight: nobody waits for `{}`",
                            completionOf({slot.loads, static_cast<int32_t>(phase + 1)})), {}, {}, {}});
    }
}

} // namespace flashqla::sim
