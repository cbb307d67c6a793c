#include "tests/emulation/cta.h"

#include "tests/emulation/violation.h"

#include <algorithm>
#include <iterator>

namespace flashqla::emulation {

namespace {

/// `exit`; deliberately no std::exception.
struct ThreadExit {};

} // namespace

Cta::Cta(Program &program, unsigned threadCount, std::uint32_t sharedBytes,
         const GlobalMemory &memory, const Options &options)
    : program(program), stepLimit(options.stepLimit), threads(threadCount),
      meetings(threadCount / lanes), random(options.seed), electedLane(random.below(lanes)),
      fibers(threadCount, [this](unsigned self) { body(self); }),
      shared(sharedBytes, threadCount, program.names), mbarriers(shared, fibers),
      namedBarriers(fibers), memory(memory),
      copies(shared, mbarriers, memory, options.timing, random),
      products(shared, threadCount / lanes, options.timing, random) {}

void Cta::run(unsigned block, void **kernelParameters) {
  blockIdx.x = block;
  steps = 0;
  parameters = kernelParameters;
  std::ranges::fill(threads, Thread());
  std::ranges::fill(meetings, Meeting());
  shared.reset();
  mbarriers.reset();
  namedBarriers.reset();
  copies.reset();
  products.reset();
  *program.machine = this;
  try {
    if (!fibers.run(random, [this](bool idle) { return copies.advance(idle); }))
      violate("deadlock:{}", deadlock());
    copies.checkCtaEnd();
    products.checkCtaEnd();
  } catch (const Violation &violation) {
    violate("CTA {}: {}", block, violation.what());
  }
}

void Cta::body(unsigned self) {
  threadIdx.x = self;
  line = 0;
  try {
    try {
      program.kernel(parameters);
    } catch (const ThreadExit &) {
    }
    copies.checkThreadEnd(self);
  } catch (const Violation &violation) {
    violate("{}: {}", place(self, line), violation.what());
  }
}

void Cta::exitThread() { throw ThreadExit(); }

std::string Cta::place(unsigned thread, int at) const {
  return fmt::format("{}:{}: thread {} (warp {}, lane {})", program.source, at, thread,
                     thread / lanes, thread % lanes);
}

void Cta::sleep(Thread::Sleep reason, std::uint32_t what, std::uint32_t parity, const char *name,
                const std::function<void()> &wait) {
  const unsigned self = thread();
  threads[self] = {reason, what, parity, name, line};
  wait();
  threads[self].sleep = Thread::Sleep::No;
  threadIdx.x = self;
  line = threads[self].line;
}

void Cta::sleepAt(std::uint32_t barrier, std::uint32_t parity) {
  sleep(Thread::Sleep::Mbarrier, barrier, parity, "", [&] { mbarriers.sleep(barrier); });
}

void Cta::namedBarrier(std::uint32_t id, std::uint32_t count) {
  sleep(Thread::Sleep::Named, id, 0, "", [&] { namedBarriers.sync(id, count); });
}

void Cta::together(const void *site, const char *name, void *data, const Action &action) {
  Meeting &meeting = meetings[warp()];
  if (meeting.come == 0) {
    meeting.site = site;
    meeting.name = name;
  } else if (meeting.site != site) {
    violate("`{}`, where other lanes of the warp are at `{}`", name, meeting.name);
  }
  meeting.data[lane()] = data;
  if (++meeting.come < lanes)
    return sleep(Thread::Sleep::Warp, 0, 0, name, [this] { fibers.wait(); });
  meeting.come = 0;
  action(meeting.data);
  for (unsigned other = 0; other < lanes; ++other)
    if (other != lane())
      fibers.wake(warp() * lanes + other);
}

const Statement *Cta::decode(const char *ptx) {
  const auto found = program.statements.find(ptx);
  if (found != program.statements.end())
    return &found->second;
  return &program.statements.emplace(ptx, decodePtx(ptx)).first->second;
}

void Cta::execute(const Statement &statement, Operand *operands) {
  if (++steps > stepLimit)
    violate("the CTA does not end: {} assembly statements so far", stepLimit);
  Frame frame{operands};
  while (frame.next < statement.code.size()) {
    const Instruction &instruction = statement.code[frame.next++];
    if (instruction.guarded && (frame.get(instruction.guard) != 0) == instruction.guardNegated)
      continue;
    instruction.execute(*this, instruction, frame);
  }
}

std::uint64_t Cta::shuffle(Shuffle kind, std::uint64_t value, int distance) {
  static constexpr const char *names[] = {"shfl.bfly", "shfl.up", "shfl.down"};
  struct Lane {
    std::uint64_t value;
    unsigned source;
    std::uint64_t received;
  };
  const int from = kind == Shuffle::Xor  ? static_cast<int>(lane()) ^ distance
                   : kind == Shuffle::Up ? static_cast<int>(lane()) - distance
                                         : static_cast<int>(lane()) + distance;
  const bool inside = from >= 0 && from < static_cast<int>(lanes);
  Lane own{value, inside ? static_cast<unsigned>(from) : lane(), 0};
  const char *const &name = names[static_cast<unsigned>(kind)];
  together(&name, name, &own, [](void *const(&data)[lanes]) {
    for (void *lane : data) {
      Lane &target = *static_cast<Lane *>(lane);
      target.received = static_cast<const Lane *>(data[target.source])->value;
    }
  });
  return own.received;
}

std::string Cta::sleepReason(const Thread &thread) const {
  switch (thread.sleep) {
  case Thread::Sleep::No:
    return "run";
  case Thread::Sleep::Mbarrier:
    return fmt::format("wait for {} with parity {}: {}", shared.describe(thread.what),
                       thread.parity, mbarriers.state(thread.what));
  case Thread::Sleep::Named:
    return fmt::format("wait at named barrier {}: {}", thread.what,
                       namedBarriers.state(thread.what));
  case Thread::Sleep::Warp:
    return fmt::format("wait for other lanes at `{}`", thread.name);
  }
  return "";
}

/// One line for neighbours that wait for the same thing in the same place.
std::string Cta::deadlock() const {
  std::string text;
  for (unsigned first = 0, end; first < threads.size(); first = end) {
    end = first + 1;
    if (fibers.hasEnded(first))
      continue;
    const Thread &thread = threads[first];
    while (end < threads.size() && !fibers.hasEnded(end) && threads[end] == thread)
      ++end;
    text += fmt::format("\n  {}:{}: threads {} to {} {}", program.source, thread.line, first,
                        end - 1, sleepReason(thread));
  }
  return text;
}

} // namespace flashqla::emulation
