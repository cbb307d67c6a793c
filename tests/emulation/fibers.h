// The threads of a CTA as fibers: each runs until it has to wait for something.
//
// Whoever lets a fiber wait keeps its number and wakes it later; nothing polls. When no fiber can
// run and none can be woken, that is a deadlock, and it is noticed at once. Which warp runs next,
// and the order of its lanes, are drawn at random from a seed: kernels that are right give the same
// result for every order.
//
//     Fibers fibers(384, [&](unsigned thread) { kernel(); });
//     fibers.run(random, [&](bool idle) { return idle && landACopy(); });
#pragma once

#include <boost/context/fiber.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

namespace flashqla::emulation {

/// Numbers that depend on the seed alone (splitmix64).
class Random {
public:
  explicit Random(std::uint64_t seed) : state(seed) {}
  /// In 0 … bound - 1.
  unsigned below(unsigned bound) { return static_cast<unsigned>(next() >> 32) % bound; }
  bool coin() { return next() >> 63; }

private:
  std::uint64_t next();
  std::uint64_t state;
};

class Fibers {
public:
  /// `body` runs in every fiber, with its number. Fibers are made once and started again by each
  /// `run`. An exception that leaves it ends `run`.
  Fibers(unsigned count, std::function<void(unsigned)> body);
  ~Fibers();
  Fibers(const Fibers &) = delete;
  Fibers &operator=(const Fibers &) = delete;

  /// Runs until all have ended, and calls `between` after each turn of a warp; `idle` says that no
  /// fiber can run. It returns whether it did anything. False: a deadlock, nobody can go on.
  bool run(Random &random, const std::function<bool(bool idle)> &between);

  /// The fiber that runs.
  unsigned current() const { return running; }
  /// Called by a fiber: waits until somebody calls `wake` for it.
  void wait();
  void wake(unsigned fiber);
  bool hasEnded(unsigned fiber) const { return ended[fiber]; }

private:
  void main(unsigned fiber, boost::context::fiber &&caller);
  unsigned nextWarp(Random &random) const;
  void turn(unsigned warp, Random &random);

  static constexpr unsigned lanes = 32;
  std::function<void(unsigned)> body;
  std::vector<boost::context::fiber> contexts;
  boost::context::fiber scheduler;  // while a fiber runs: how it goes back
  std::vector<std::uint32_t> ready; // by warp, a bit for each lane
  std::vector<bool> ended;
  std::vector<unsigned> ranks; // of warps, best first; empty: all are equal
  unsigned alive = 0, running = 0;
  std::exception_ptr failure;
};

} // namespace flashqla::emulation
