#include "tests/emulation/barriers.h"

#include "tests/emulation/violation.h"

#include <iterator>
#include <utility>

namespace flashqla::emulation {

namespace {

constexpr std::uint32_t maxArrivals = (1 << 20) - 1;
constexpr std::int64_t maxBytes = (1 << 20) - 1;

} // namespace

Mbarriers::Barrier &Mbarriers::at(std::uint32_t address) {
  const auto found = barriers.find(address);
  if (found == barriers.end())
    violate("{} ({:#x}) is used as a barrier and was not initialised", shared.describe(address),
            address);
  return found->second;
}

void Mbarriers::init(std::uint32_t address, std::uint32_t count) {
  if (count == 0 || count > maxArrivals)
    violate("{} is initialised with {} arrivals; 1 to {} are possible", shared.describe(address),
            count, maxArrivals);
  if (barriers.contains(address))
    violate("{} is initialised twice", shared.describe(address));
  shared.makeBarrier(address);
  barriers[address] = {count, count, 0, 0, {}};
}

void Mbarriers::finishPhase(Barrier &barrier) {
  if (barrier.pending || barrier.bytes)
    return;
  barrier.pending = barrier.count;
  ++barrier.phase;
  for (unsigned fiber : std::exchange(barrier.sleepers, {}))
    fibers.wake(fiber);
}

void Mbarriers::arrive(std::uint32_t address) {
  Barrier &barrier = at(address);
  if (barrier.pending == 0)
    violate("{} gets more than its {} arrivals in one phase; {}", shared.describe(address),
            barrier.count, state(address));
  --barrier.pending;
  finishPhase(barrier);
}

void Mbarriers::expectBytes(std::uint32_t address, std::uint32_t bytes) {
  Barrier &barrier = at(address);
  if (barrier.pending == 0)
    violate("{} is told of bytes after the last arrival of its phase; {}", shared.describe(address),
            state(address));
  barrier.bytes += bytes;
  if (barrier.bytes > maxBytes)
    violate("{} waits for {} bytes; {} are possible", shared.describe(address), barrier.bytes,
            maxBytes);
}

void Mbarriers::completeBytes(std::uint32_t address, std::uint32_t bytes) {
  Barrier &barrier = at(address);
  barrier.bytes -= bytes;
  if (barrier.bytes < -maxBytes)
    violate("{} gets {} bytes that nobody announced", shared.describe(address), -barrier.bytes);
  finishPhase(barrier);
}

bool Mbarriers::isComplete(std::uint32_t address, std::uint32_t parity) {
  if (parity > 1)
    violate("a wait for {} with parity {}", shared.describe(address), parity);
  return (at(address).phase & 1) != parity;
}

void Mbarriers::sleep(std::uint32_t address) {
  at(address).sleepers.push_back(fibers.current());
  fibers.wait();
}

std::string Mbarriers::state(std::uint32_t address) const {
  const Barrier &barrier = barriers.at(address);
  return fmt::format("phase {}: {} of {} arrivals, {} bytes outstanding", barrier.phase,
                     barrier.count - barrier.pending, barrier.count, barrier.bytes);
}

void NamedBarriers::reset() {
  for (Barrier &barrier : barriers)
    barrier = {};
}

void NamedBarriers::sync(std::uint32_t id, std::uint32_t threads) {
  if (id >= std::size(barriers))
    violate("named barrier {}; there are {}", id, std::size(barriers));
  Barrier &barrier = barriers[id];
  if (threads % 32)
    violate("named barrier {} for {} threads, which are no whole warps", id, threads);
  if (!barrier.sleepers.empty() && barrier.threads != threads)
    violate("named barrier {} for {} threads, where others wait for {}", id, threads,
            barrier.threads);
  barrier.threads = threads;
  if (barrier.sleepers.size() + 1 < threads) {
    barrier.sleepers.push_back(fibers.current());
    return fibers.wait();
  }
  for (unsigned fiber : std::exchange(barrier.sleepers, {}))
    fibers.wake(fiber);
}

std::string NamedBarriers::state(std::uint32_t id) const {
  return fmt::format("{} of {} threads have come", barriers[id].sleepers.size(),
                     barriers[id].threads);
}

} // namespace flashqla::emulation
