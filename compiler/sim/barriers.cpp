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

size_t Machine::arriverIndex(const Barrier &barrier, RoleId role) const {
  return std::find(barrier.arrivers.begin(), barrier.arrivers.end(), role) - barrier.arrivers.begin();
}

const Machine::Phase *Machine::completedPhase(const Slot &slot, int64_t phase) const {
  if (phase == slot.complete - 1)
    return &slot.last;
  return phase == slot.complete - 2 ? &slot.beforeLast : nullptr;
}

/// Whether the role can be sure, in every schedule, that the phase is complete: it comes after all its arrivals and copies.
bool Machine::knowsPhase(const Role &role, const Barrier &barrier, const Slot &slot, int64_t phase) const {
  if (phase < 0)
    return true;
  if (phase >= slot.complete)
    return false;
  const Phase *known = completedPhase(slot, phase);
  if (!known)
    return true; // of two phases back the later ones were asked
  for (size_t i = 0; i < barrier.arrivers.size(); ++i)
    if (role.now[barrier.arrivers[i]] < known->times[i])
      return false;
  return !known->loads || role.now[slot.loads] > phase;
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
    stop({FindingKind::Aliasing, where,
          fmt::format("`{}` waits for `{}` when `{}` may already be complete", role.name, name(),
                      generationName(barrierId, generation + slots)),
          {}, {},
          {"the parity bit of the slot has flipped twice: the wait would block, for ever or for a later generation"}});
    return true;
  }
  if (!knowsPhase(role, barrier, slot, phase - 1)) {
    stop({FindingKind::Aliasing, where,
          fmt::format("`{}` waits for `{}` when `{}` may not be complete", role.name, name(),
                      generationName(barrierId, generation - slots)),
          {}, {},
          {"the parity bit of the slot cannot tell the two apart: the wait would pass a ring too early"}});
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
  if (!knowsPhase(role, barrier, slot, phase - 1)) {
    Finding finding{FindingKind::OverArrival, where,
                    fmt::format("`{}` arrives at `{}` when `{}` may not be complete", role.name, name(),
                                generationName(barrierId, generation - slots)), {}, {},
                    {"the arrival would be counted in the earlier generation"}};
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
  if (!knowsPhase(role, barrier, slot, phase - 1))
    return stop({FindingKind::OverArrival, where,
                 fmt::format("the copy completes on `{}` when `{}` may not be complete", name(),
                             generationName(barrierId, generation - slots)), {}, {},
                 {"its bytes would be counted in the earlier generation"}});
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
