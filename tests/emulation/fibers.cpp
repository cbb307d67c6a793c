#include "tests/emulation/fibers.h"

#include <algorithm>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <utility>

namespace flashqla::emulation {

namespace context = boost::context;

namespace {

/// Fragments and the operands of assembly statements are in the stack; pages are not touched before
/// they are used.
constexpr std::size_t stackBytes = 256 * 1024;

} // namespace

std::uint64_t Random::next() {
  std::uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

Fibers::Fibers(unsigned count, std::function<void(unsigned)> body)
    : body(std::move(body)), ready((count + lanes - 1) / lanes), ended(count, true) {
  for (unsigned fiber = 0; fiber < count; ++fiber)
    contexts.emplace_back(std::allocator_arg, context::protected_fixedsize_stack(stackBytes),
                          [this, fiber](context::fiber &&caller) {
                            main(fiber, std::move(caller));
                            return std::move(scheduler);
                          });
}

Fibers::~Fibers() = default; // unwinds the stacks of fibers that wait

void Fibers::main(unsigned fiber, context::fiber &&caller) {
  scheduler = std::move(caller);
  for (;;) {
    try {
      body(fiber);
    } catch (const std::exception &) {
      failure = std::current_exception();
    }
    ended[fiber] = true;
    --alive;
    scheduler = std::move(scheduler).resume(); // until the next run
  }
}

void Fibers::wait() { scheduler = std::move(scheduler).resume(); }

void Fibers::wake(unsigned fiber) { ready[fiber / lanes] |= std::uint32_t{1} << fiber % lanes; }

/// Each lane of the warp that can run now runs until it waits, in an order drawn at random.
void Fibers::turn(unsigned warp, Random &random) {
  const unsigned first = random.below(lanes);
  const bool down = random.coin();
  std::uint32_t todo = std::exchange(ready[warp], 0);
  for (unsigned i = 0; i < lanes && !failure; ++i) {
    const unsigned lane = (down ? first + lanes - i : first + i) % lanes;
    if (!(todo >> lane & 1))
      continue;
    running = warp * lanes + lane;
    contexts[running] = std::move(contexts[running]).resume();
  }
}

/// There is one.
unsigned Fibers::nextWarp(Random &random) const {
  auto canRun = [this](unsigned warp) { return ready[warp] != 0; };
  if (!ranks.empty())
    return *std::ranges::find_if(ranks, canRun);
  const auto count = std::ranges::count_if(ready, [](std::uint32_t mask) { return mask != 0; });
  unsigned choice = random.below(static_cast<unsigned>(count)), warp = 0;
  while (!canRun(warp) || choice--)
    ++warp;
  return warp;
}

bool Fibers::run(Random &random, const std::function<bool(bool)> &between) {
  failure = nullptr;
  alive = static_cast<unsigned>(contexts.size());
  for (unsigned fiber = 0; fiber < alive; ++fiber) {
    ended[fiber] = false;
    wake(fiber);
  }
  ranks.resize(random.coin() ? ready.size() : 0);
  for (unsigned i = 0; i < ranks.size(); ++i) { // a permutation
    ranks[i] = i;
    std::swap(ranks[i], ranks[random.below(i + 1)]);
  }
  auto canRun = [this] {
    return std::ranges::any_of(ready, [](std::uint32_t mask) { return mask != 0; });
  };
  while (alive) {
    if (canRun())
      turn(nextWarp(random), random);
    if (failure)
      std::rethrow_exception(failure);
    const bool idle = !canRun();
    if (alive && !between(idle) && idle)
      return false;
  }
  return true;
}

} // namespace flashqla::emulation
