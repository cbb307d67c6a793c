/// The machine's barriers: arrivals, waits, and what one parity bit per slot can tell apart.
#include "compiler/sim/machine.h"

#include <fmt/format.h>

namespace flashqla::sim {

int64_t Machine::phaseOf(BarrierId barrier, int64_t generation) const {
  const int64_t slots = static_cast<int64_t>(barriers[barrier].slots.size());
  return generation >= 0 ? generation / slots : -((slots - 1 - generation) / slots);
}

Machine::Slot &Machine::slotOf(BarrierId barrier, int64_t generation) {
  const int64_t slots = static_cast<int64_t>(barriers[barrier].slots.size());
  return barriers[barrier].slots[(generation % slots + slots) % slots];
}

int64_t Machine::rounds(BarrierId barrier) const {
  int64_t most = 0;
  for (const Slot &slot : barriers[barrier].slots)
    most = std::max(most, slot.complete);
  return most;
}

size_t Machine::arriverIndex(const Barrier &barrier, RoleId role) const {
  return std::find(barrier.arrivers.begin(), barrier.arrivers.end(), role) - barrier.arrivers.begin();
}

const Machine::Phase *Machine::completedPhase(const Slot &slot, int64_t phase) const {
  if (phase == slot.complete - 1)
    return &slot.last;
  return phase == slot.complete - 2 ? &slot.beforeLast : nullptr;
}

/// Whether the role can be sure, in every schedule, that the phase is complete: it comes after all its arrivals and copies.
std::optional<Machine::Doubt> Machine::doubt(RoleId id, const Barrier &barrier, const Slot &slot, int64_t phase) const {
  const Role &role = roles[id];
  if (phase < 0)
    return std::nullopt;
  if (phase >= slot.complete) {
    for (size_t i = 0; i < barrier.arrivers.size(); ++i)
      if (slot.arrivals[i] <= phase)
        return Doubt{barrier.arrivers[i], nowhere};
    return std::nullopt;
  }
  const Phase *known = completedPhase(slot, phase);
  if (!known)
    return std::nullopt; // of two phases back the later ones were asked
  for (size_t i = 0; i < barrier.arrivers.size(); ++i)
    if (role.now[barrier.arrivers[i]] < known->times[i])
      return Doubt{barrier.arrivers[i], known->places[i]};
  if (known->loads && role.now[slot.loads] <= phase)
    return Doubt{nobody, known->loadedAt};
  return std::nullopt;
}

Finding Machine::doubtful(FindingKind kind, Where where, std::string message, const Role &role, const Doubt &doubt) const {
  Finding finding{kind, where, std::move(message), {}, {}, {}};
  if (doubt.where == nowhere)
    finding.notes.push_back(fmt::format("`{}` may not have arrived at it", roles[doubt.role].name));
  else if (doubt.role == nobody)
    finding.labels.push_back({doubt.where, fmt::format("nothing tells `{}` that this copy has landed", role.name)});
  else if (&roles[doubt.role] == &role)
    finding.labels.push_back({doubt.where, fmt::format("other threads of `{}` may not have arrived here", role.name)});
  else
    finding.labels.push_back({doubt.where, fmt::format("nothing tells `{}` of this arrival", role.name)});
  return finding;
}

bool Machine::wait(RoleId id, BarrierId barrierId, int64_t generation, Where where) {
  Role &role = roles[id];
  Barrier &barrier = barriers[barrierId];
  Slot &slot = slotOf(barrierId, generation);
  const int64_t slots = static_cast<int64_t>(barrier.slots.size()), phase = phaseOf(barrierId, generation);
  const auto name = [&] { return generationName(barrierId, generation); };
  if (phase < -1) {
    stop({FindingKind::Aliasing, where,
          fmt::format("`{}` waits for `{}`, more than one ring before the first generation", role.name, name()), {}, {},
          {fmt::format("`{}` has {} slot{}: a fresh barrier stands for generations -{} to -1", barrier.name, slots,
                       slots == 1 ? "" : "s", slots)}});
    return true;
  }
  if (slot.complete >= phase + 2) {
    const std::string later = generationName(barrierId, generation + slots);
    Finding finding{FindingKind::Aliasing, where,
                    fmt::format("`{}` waits for `{}` when `{}` may already be complete", role.name, name(), later), {}, {},
                    {"the parity bit of the slot has flipped twice: the wait would block, for ever or for a later generation"}};
    if (slot.complete == phase + 2)
      finding.labels.push_back({slot.last.places.front(), fmt::format("`{}` arrives at `{}` here",
                                                                      roles[barrier.arrivers.front()].name, later)});
    stop(std::move(finding));
    return true;
  }
  auto unsure = doubt(id, barrier, slot, phase - 1);
  // Of the arrivals of its own role a thread knows by a `sync` or a wait that the others have made theirs.
  if (const size_t own = arriverIndex(barrier, id); !unsure && !role.lane && phase > 0 && own < barrier.arrivers.size())
    if (const Phase *known = completedPhase(slot, phase - 1); known && role.common[id] < known->times[own])
      unsure = Doubt{id, known->places[own]};
  if (unsure) {
    Finding finding = doubtful(FindingKind::Aliasing, where,
                               fmt::format("`{}` waits for `{}` when `{}` may not be complete", role.name, name(),
                                           generationName(barrierId, generation - slots)), role, *unsure);
    finding.notes.push_back("the parity bit of the slot cannot tell the two apart: the wait would pass a ring too early");
    stop(std::move(finding));
    return true;
  }
  if (slot.complete <= phase)
    return false;
  if (phase >= 0) {
    WaitCount &count = waitCounts[where];
    ++count.executed;
    bool loadsSeen = !slot.last.loads || role.visible[slot.loads] > phase;
    if (loadsSeen && role.now.includes(slot.last.clock) && role.fenced.includes(slot.last.fenced))
      ++count.implied;
    role.now.join(slot.last.clock);
    role.common.join(slot.last.clock);
    role.fenced.join(slot.last.fenced);
    if (slot.last.loads)
      role.visible[slot.loads] = std::max(role.visible[slot.loads], static_cast<int32_t>(phase + 1));
  }
  std::erase_if(slot.waits, [&](const WaitRecord &wait) { return wait.role == id && wait.phase == phase; });
  slot.waits.push_back({id, phase, role.now[id], where});
  return true;
}

void Machine::arrive(RoleId id, BarrierId barrierId, int64_t generation, Where where) {
  if (generation < 0)
    return;
  Role &role = roles[id];
  Barrier &barrier = barriers[barrierId];
  Slot &slot = slotOf(barrierId, generation);
  const int64_t slots = static_cast<int64_t>(barrier.slots.size()), phase = phaseOf(barrierId, generation);
  const size_t index = arriverIndex(barrier, id);
  const auto name = [&] { return generationName(barrierId, generation); };
  if (index == barrier.arrivers.size()) {
    stop({FindingKind::OverArrival, where, fmt::format("`{}` is no arriver of `{}`", role.name, barrier.name), {}, {}, {}});
    return;
  }
  if (phase < slot.arrivals[index]) {
    Finding finding{FindingKind::OverArrival, where,
                    fmt::format("`{}` arrives at `{}` a second time", role.name, name()), {}, {}, {}};
    const Phase *earlier = phase == slot.complete ? &slot.current : completedPhase(slot, phase);
    if (earlier && earlier->places[index] != nowhere && earlier->places[index] != where)
      finding.labels.push_back({earlier->places[index], "it has arrived here"});
    return stop(std::move(finding));
  }
  if (phase > slot.arrivals[index])
    return stop({FindingKind::SkippedArrival, where,
                 fmt::format("`{}` arrives at `{}` and never arrived at `{}`", role.name, name(),
                             generationName(barrierId, generation - slots)), {}, {}, {}});
  if (auto unsure = doubt(id, barrier, slot, phase - 1)) {
    Finding finding = doubtful(FindingKind::OverArrival, where,
                               fmt::format("`{}` arrives at `{}` when `{}` may not be complete", role.name, name(),
                                           generationName(barrierId, generation - slots)), role, *unsure);
    finding.notes.push_back("the arrival would be counted in the earlier generation");
    return stop(std::move(finding));
  }
  slot.current.clock.join(role.now);
  slot.current.fenced.join(role.fenced);
  slot.current.fenced.join(role.fencing); // each thread arrives behind its own fence
  slot.current.times[index] = role.now[id];
  slot.current.places[index] = where;
  ++slot.arrivals[index];
  ++role.now[id];
  tryComplete(barrierId, slot);
}

void Machine::announce(BarrierId barrier, int64_t generation, int64_t bytes) {
  slotOf(barrier, generation).current.announced += bytes;
}

void Machine::bulkLoad(RoleId id, const Window &target, const Window *source, BarrierId barrierId, int64_t generation,
                       int64_t bytes, Where where) {
  Role &role = roles[id];
  Barrier &barrier = barriers[barrierId];
  Slot &slot = slotOf(barrierId, generation);
  const int64_t slots = static_cast<int64_t>(barrier.slots.size()), phase = phaseOf(barrierId, generation);
  const size_t index = arriverIndex(barrier, id);
  const auto name = [&] { return generationName(barrierId, generation); };
  if (generation < 0)
    return stop({FindingKind::OutOfBounds, where,
                 fmt::format("a copy completes on `{}`, which does not exist", name()), {}, {}, {}});
  if (index == barrier.arrivers.size() || phase < slot.arrivals[index]) {
    Finding finding{FindingKind::LateCopy, where,
                    fmt::format("the copy completes on `{}`, at which `{}` has already arrived", name(), role.name), {}, {},
                    {"the generation may be complete before the copy has landed"}};
    const Phase *earlier = phase == slot.complete ? &slot.current : completedPhase(slot, phase);
    if (earlier && index < earlier->places.size() && earlier->places[index] != nowhere)
      finding.labels.push_back({earlier->places[index], "the arrival"});
    return stop(std::move(finding));
  }
  if (auto unsure = doubt(id, barrier, slot, phase - 1)) {
    Finding finding = doubtful(FindingKind::OverArrival, where,
                               fmt::format("a copy is attached to `{}` when `{}` may not be complete", name(),
                                           generationName(barrierId, generation - slots)), role, *unsure);
    finding.notes.push_back("its bytes would be counted in the earlier generation");
    return stop(std::move(finding));
  }
  const Use use{slot.loads, static_cast<int32_t>(phase + 1), Actor::BulkLoad, id};
  if (source)
    access(use, *source, false, where);
  access(use, target, true, where);
  slot.current.loads = true;
  slot.current.landed += bytes;
  slot.current.loadedAt = where;
}

void Machine::tryComplete(BarrierId barrierId, Slot &slot) {
  const Barrier &barrier = barriers[barrierId];
  for (int64_t arrived : slot.arrivals)
    if (arrived <= slot.complete)
      return;
  if (slot.current.announced != slot.current.landed)
    stop({FindingKind::CopyBytes, slot.current.places.front(),
          fmt::format("a generation of `{}` announces {} bytes, and {} land", barrier.name, slot.current.announced,
                      slot.current.landed), {}, {}, {}});
  if (slot.current.loads)
    slot.current.clock[slot.loads] = static_cast<int32_t>(slot.complete + 1);
  checkOvertaken(barrierId, slot);
  std::swap(slot.beforeLast, slot.last);
  std::swap(slot.last, slot.current);
  slot.current.clear();
  ++slot.complete;
}

/// A wait must be over before the generation a ring later is complete, and something must see to that.
void Machine::checkOvertaken(BarrierId barrierId, Slot &slot) {
  const Barrier &barrier = barriers[barrierId];
  const int64_t slots = static_cast<int64_t>(barrier.slots.size());
  const int64_t index = &slot - barrier.slots.data();
  for (const WaitRecord &wait : slot.waits)
    if (wait.phase == slot.complete - 1 && slot.current.clock[wait.role] < wait.time) {
      const int64_t generation = slot.complete * slots + index;
      Finding finding{FindingKind::Aliasing, wait.where,
                      fmt::format("`{}` waits for `{}`, and nothing keeps `{}` from being complete before it has looked",
                                  roles[wait.role].name, generationName(barrierId, generation - slots),
                                  generationName(barrierId, generation)), {}, {},
                      {"the parity bit of the slot would then have flipped twice"}};
      finding.labels.push_back({slot.current.places.front(), "this arrival does not come after the wait"});
      stop(std::move(finding));
    }
  std::erase_if(slot.waits, [&](const WaitRecord &wait) { return wait.phase < slot.complete; });
}

} // namespace flashqla::sim
