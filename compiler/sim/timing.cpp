#include "compiler/sim/timing.h"

#include <algorithm>
#include <cmath>

namespace flashqla::sim {
namespace {

Cycles whole(double cycles) { return static_cast<Cycles>(std::ceil(cycles - 1e-9)); }

} // namespace

Period Engine::occupy(Cycles now, Cycles cycles) {
  const Cycles begin = std::max(now, free);
  free = begin + cycles;
  total += cycles;
  return {begin, free};
}

Cycles Engine::take(Cycles now, Cycles cycles, Cycles share) { return std::max(now + cycles, occupy(now, share).end); }

void Timing::Groups::add(Cycles time) {
  complete.push_back(complete.empty() ? time : std::max(complete.back(), time)); // groups finish in order
}

Cycles Timing::Groups::upTo(int64_t keep) const {
  const int64_t last = static_cast<int64_t>(complete.size()) - 1 - keep;
  return last < 0 ? 0 : complete[last];
}

Timing::Timing(const Costs &costs, Engines &engines, size_t roles, size_t barriers)
    : costs(costs), engines(engines), roles(roles), barriers(barriers) {}

Period Timing::spend(Role role, double cycles) {
  Cycles &now = roles[role].now;
  const Cycles begin = now;
  now += whole(cycles);
  return {begin, now};
}

Period Timing::work(Role role, const Work &work) {
  Cycles &now = roles[role].now;
  const Cycles begin = now;
  now = engines.arithmetic.take(begin, whole(work.cycles), whole(work.share));
  const Cycles served = work.global > 0 ? engines.global.occupy(begin, whole(work.global)).end : begin;
  if (work.latency > 0) // stores go on by themselves
    now = std::max(now, served) + whole(work.latency);
  return {begin, now};
}

void Timing::reach(Barrier barrier, int64_t generation, Cycles time, Cause cause) {
  Phase &phase = barriers[barrier][generation];
  if (time < phase.complete)
    return;
  phase = {time, cause};
}

void Timing::arrive(Role role, Barrier barrier, int64_t generation, Cause cause) {
  reach(barrier, generation, spend(role, costs.arrive).end, cause);
}

Timing::Waited Timing::wait(Role role, Barrier barrier, int64_t generation) {
  Cycles &now = roles[role].now;
  const Cycles begin = now, ready = begin + whole(costs.wait);
  const auto phase = barriers[barrier].find(generation);
  const bool known = phase != barriers[barrier].end();
  const Cycles woken = known ? phase->second.complete + whole(costs.wake) : 0;
  now = std::max(ready, woken);
  return {{begin, now}, known && woken > ready ? phase->second.cause : noCause};
}

Timing::Issued Timing::load(Role role, Barrier barrier, int64_t generation, int64_t bytes, Cause cause) {
  const Period issue = spend(role, costs.copyIssue);
  const Period engine = engines.copyIn.occupy(issue.end, whole(static_cast<double>(bytes) / costs.copyRate));
  const Cycles landed = engine.end + whole(costs.copyLatency);
  reach(barrier, generation, landed, cause);
  return {issue, engine, landed};
}

Timing::Issued Timing::store(Role role, int64_t bytes) {
  const Period issue = spend(role, costs.copyIssue);
  const Period engine = engines.copyOut.occupy(issue.end, whole(static_cast<double>(bytes) / costs.storeRate));
  RoleState &state = roles[role];
  state.openRead = std::max(state.openRead, engine.end + whole(costs.storeReadLatency));
  state.openStore = std::max(state.openStore, engine.end + whole(costs.storeLatency));
  return {issue, engine, state.openStore};
}

void Timing::commitStores(Role role) {
  RoleState &state = roles[role];
  state.storesRead.add(state.openRead);
  state.stores.add(state.openStore);
  state.openRead = state.openStore = 0;
}

Timing::Issued Timing::asyncCopy(Role role, double cycles, int64_t bytes) {
  const Period issue = spend(role, cycles);
  const Period engine = engines.copyIn.occupy(issue.begin, whole(static_cast<double>(bytes) / costs.globalRate));
  const Cycles landed = std::max(issue.end, engine.end + whole(costs.globalLatency));
  roles[role].copies.add(landed);
  return {issue, engine, landed};
}

Timing::Issued Timing::product(Role role, int64_t instructions, double tensorCycles) {
  const Period issue =
      spend(role, costs.productIssue + static_cast<double>(instructions) * costs.productInstruction);
  // The first instruction starts while the others are issued; each is issued when there is room for it.
  const Cycles first = std::min(issue.end, issue.begin + whole(costs.productIssue + costs.productInstruction));
  const Period engine = engines.tensor.occupy(first, whole(tensorCycles));
  Cycles &now = roles[role].now;
  if (const auto all = static_cast<double>(instructions); all > costs.productQueue)
    now = std::max(now, engine.end - whole(costs.productQueue / all * tensorCycles));
  const Cycles complete = std::max(engine.end, now) + whole(costs.productLatency);
  roles[role].products.add(complete);
  return {{issue.begin, now}, engine, complete};
}

Period Timing::awaitUntil(Role role, Cycles time) {
  Cycles &now = roles[role].now;
  const Cycles begin = now;
  now = std::max(begin + whole(costs.await), time);
  return {begin, now};
}

Period Timing::awaitProducts(Role role, int64_t keep) { return awaitUntil(role, roles[role].products.upTo(keep)); }

Period Timing::awaitCopies(Role role, int64_t keep) { return awaitUntil(role, roles[role].copies.upTo(keep)); }

Period Timing::awaitStores(Role role, int64_t keep, bool read) {
  const RoleState &state = roles[role];
  return awaitUntil(role, (read ? state.storesRead : state.stores).upTo(keep));
}

} // namespace flashqla::sim
