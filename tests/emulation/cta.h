// One CTA of an emulated launch: threads, shared memory, barriers, copies and products.
//
// CTAs run one after the other on the same object. `execute` interprets assembly statements by the
// functions of instructions.h, which reach everything through the public members.
//
//     Cta cta(program, threads, sharedBytes, memory, options);
//     for (unsigned block = 0; block < blocks; ++block)
//       cta.run(block, parameters);           // throws a Violation with the thread and its line
#pragma once

#include "tests/emulation/barriers.h"
#include "tests/emulation/copies.h"
#include "tests/emulation/fibers.h"
#include "tests/emulation/options.h"
#include "tests/emulation/products.h"
#include "tests/emulation/program.h"
#include "tests/emulation/shared_memory.h"

#include <functional>
#include <string>
#include <vector>

namespace flashqla::emulation {

class Cta final : public Interface {
public:
  static constexpr unsigned lanes = 32;

  Cta(Program &program, unsigned threads, std::uint32_t sharedBytes, const GlobalMemory &memory,
      const Options &options);

  void run(unsigned block, void **parameters);

  // Of the running thread:
  unsigned thread() const { return fibers.current(); }
  unsigned warp() const { return thread() / lanes; }
  unsigned lane() const { return thread() % lanes; }
  /// The lane that elect.sync chooses: any, but always the same.
  unsigned leader() const { return electedLane; }
  /// Goes up with each statement: there is no time.
  std::uint32_t clock() const { return static_cast<std::uint32_t>(steps); }
  [[noreturn]] void exitThread();
  /// Until the phase of an mbarrier completes.
  void sleepAt(std::uint32_t barrier, std::uint32_t parity);
  void namedBarrier(std::uint32_t id, std::uint32_t threads);

  /// What the lanes of a warp do together: each comes with `data`, and the last one to come does
  /// `action` for all. All must come with the same `site`, the instruction.
  using Action = std::function<void(void *const (&data)[lanes])>;
  void together(const void *site, const char *name, void *data, const Action &action);

  // Interface
  const Statement *decode(const char *ptx) override;
  void execute(const Statement &statement, Operand *operands) override;
  void syncThreads() override { namedBarrier(0, static_cast<std::uint32_t>(threads.size())); }
  std::uint64_t shuffle(Shuffle kind, std::uint64_t value, int distance) override;

private:
  struct Thread {
    enum class Sleep : std::uint8_t { No, Mbarrier, Named, Warp } sleep = Sleep::No;
    std::uint32_t what = 0, parity = 0; // the barrier that it sleeps at
    const char *name = "";              // the instruction that it waits for others at
    int line = 0;                       // when it does not run
    bool operator==(const Thread &) const = default;
  };
  struct Meeting { // of the lanes of a warp
    const void *site = nullptr;
    const char *name = "";
    unsigned come = 0;
    void *data[lanes] = {};
  };

  void body(unsigned thread);
  /// Puts the running thread to sleep by `wait`, and keeps what belongs to it.
  void sleep(Thread::Sleep reason, std::uint32_t what, std::uint32_t parity, const char *name,
             const std::function<void()> &wait);
  std::string place(unsigned thread, int line) const;
  std::string deadlock() const;
  std::string sleepReason(const Thread &thread) const;

  Program &program;
  const std::uint64_t stepLimit;
  std::vector<Thread> threads;
  std::vector<Meeting> meetings; // by warp
  Random random;
  unsigned electedLane;
  std::uint64_t steps = 0; // statements of this CTA
  void **parameters = nullptr;

public: // the parts that instructions work on
  Fibers fibers;
  SharedMemory shared;
  Mbarriers mbarriers;
  NamedBarriers namedBarriers;
  const GlobalMemory &memory;
  Copies copies;
  Products products;
};

} // namespace flashqla::emulation
