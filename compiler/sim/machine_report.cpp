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
  for (const Finding &earlier : found) {
    bool sameOther = earlier.labels.empty() == finding.labels.empty() &&
                     (finding.labels.empty() || earlier.labels[0].where == finding.labels[0].where);
    if (earlier.kind == finding.kind && earlier.where == finding.where && sameOther)
      return;
  }
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
  if (!role.now.knows(earlier.epoch)) {
    finding.message = fmt::format("{} {} `{}`, and nothing orders that behind {} that {} `{}`", who,
                                  write ? "writes" : "reads", tile, other, wrote ? "writes" : "reads", before);
    finding.primary = write ? "written here" : "read here";
    finding.labels.push_back({earlier.where, wrote ? "written here" : "read here"});
    if (earlier.actor != Actor::Threads && earlier.actor != Actor::BulkLoad)
      finding.notes.push_back("an asynchronous operation goes on until its role has awaited it, and a barrier or `sync` "
                              "has passed that on");
  } else if (proxyOf(access.actor) == Proxy::Async && proxyOf(earlier.actor) == Proxy::Generic) {
    finding.kind = FindingKind::MissingFence;
    finding.message = fmt::format("{} {} `{}` without a proxy fence behind {}, that writes `{}`", who,
                                  write ? "writes" : "reads", tile, other, before);
    finding.labels.push_back({earlier.where, "written here by threads"});
  } else {
    finding.kind = FindingKind::MissingWait;
    finding.message = fmt::format("{} reads `{}` without having waited for the copy that fills it", who, tile);
    finding.labels.push_back({earlier.where, "the copy"});
    finding.notes.push_back("only a role's own `wait` makes visible to it what the copy engine wrote");
  }
  report(std::move(finding));
}

void Machine::deadlock(std::span<const Blocked> waiting) {
  Finding finding{FindingKind::Deadlock, waiting.front().where, {}, {}, {}, {}};
  for (const Blocked &blocked : waiting) {
    const Barrier &barrier = barriers[blocked.barrier];
    const Slot &slot = slotOf(blocked.barrier, blocked.generation);
    std::string missing;
    for (size_t i = 0; i < barrier.arrivers.size(); ++i)
      if (slot.arrivals[i] <= phaseOf(blocked.barrier, blocked.generation))
        missing += fmt::format("{}`{}`", missing.empty() ? "" : ", ", roles[barrier.arrivers[i]].name);
    std::string line = fmt::format("`{}` waits for `{}`, which lacks the arrival of {}", roles[blocked.role].name,
                                   generationName(blocked.barrier, blocked.generation), missing);
    if (finding.message.empty())
      finding.message = "deadlock: " + line;
    else
      finding.labels.push_back({blocked.where, std::move(line)});
  }
  stop(std::move(finding));
}

void Machine::finishRole(RoleId id, Where where) {
  const Role &role = roles[id];
  auto left = [&](const char *what, Agent agent, int64_t issued) {
    if (role.now[agent] < issued)
      report({FindingKind::NeverAwaited, where, fmt::format("`{}` ends with {} in flight", role.name, what), {}, {}, {}});
  };
  left("a product", role.productAgent, role.products);
  left("a bulk store", role.storeReadAgent, role.stores);
  left("a `copy.async`", role.copyAgent, role.copies);
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
                fmt::format("the CTA ends with a copy in flight: nobody waits for `{}`", barrier.name), {}, {}, {}});
    }
}

} // namespace flashqla::sim
