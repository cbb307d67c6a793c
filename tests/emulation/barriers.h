// Barriers of a CTA: mbarriers at addresses of shared memory, and the sixteen named ones.
//
// An mbarrier completes its phase when all arrivals and all bytes that were announced have come
// (PTX ISA, "mbarrier object"): pending arrivals are 0 and so is the count of bytes, which a copy
// may make negative when it lands before its bytes are announced. The pending count starts again
// then. `isComplete` is mbarrier.test_wait.parity: it tells the phase that runs from the one before
// it by one bit, and so answers wrongly to a waiter that is further behind, as the hardware does.
#pragma once

#include "tests/emulation/fibers.h"
#include "tests/emulation/shared_memory.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace flashqla::emulation {

class Mbarriers {
public:
  Mbarriers(SharedMemory &shared, Fibers &fibers) : shared(shared), fibers(fibers) {}
  void reset() { barriers.clear(); }

  void init(std::uint32_t address, std::uint32_t count);
  void arrive(std::uint32_t address);
  void expectBytes(std::uint32_t address, std::uint32_t bytes);
  /// By a copy that has landed.
  void completeBytes(std::uint32_t address, std::uint32_t bytes);
  bool isComplete(std::uint32_t address, std::uint32_t parity);
  /// Puts the running fiber to sleep until the barrier's phase completes.
  void sleep(std::uint32_t address);
  /// What it waits for, for the report of a deadlock.
  std::string state(std::uint32_t address) const;

private:
  struct Barrier {
    std::uint32_t count = 0, pending = 0;
    std::int64_t bytes = 0; // announced and not yet copied
    std::uint64_t phase = 0;
    std::vector<unsigned> sleepers;
  };
  Barrier &at(std::uint32_t address);
  void finishPhase(Barrier &barrier);

  SharedMemory &shared;
  Fibers &fibers;
  std::map<std::uint32_t, Barrier> barriers; // by address
};

class NamedBarriers {
public:
  explicit NamedBarriers(Fibers &fibers) : fibers(fibers) {}
  void reset();

  /// `bar.sync id, threads` by the running fiber.
  void sync(std::uint32_t id, std::uint32_t threads);
  std::string state(std::uint32_t id) const;

private:
  struct Barrier {
    std::uint32_t threads = 0; // of those that wait
    std::vector<unsigned> sleepers;
  };
  Fibers &fibers;
  Barrier barriers[16];
};

} // namespace flashqla::emulation
