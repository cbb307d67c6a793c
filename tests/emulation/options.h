// How a launch is emulated.
#pragma once

#include <cstdint>

namespace flashqla::emulation {

/// When asynchronous copies and products take effect. A kernel that waits for everything that it
/// uses gives the same result for all three.
enum class Timing : std::uint8_t {
  Early,  // when they are issued
  Late,   // when somebody waits for them, or when nothing else can go on
  Random, // in between, by the seed
};

struct Options {
  Timing timing = Timing::Early;
  std::uint64_t seed = 0; // of the order of warps and lanes, and of random timing
  /// Assembly statements that the threads of one CTA execute together; more is an endless loop.
  std::uint64_t stepLimit = 1'000'000'000;
};

} // namespace flashqla::emulation
