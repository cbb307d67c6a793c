// Litmus tests: one line for each fact about the chip that the compiler or a
// model of it rests on (docs/hopper.md).
//
//     litmus fresh-barrier | parity 0 blocks, parity 1 passes | 0 1 | holds
//     litmus write-store-no-fence | not promised: … | 0 stale in 5280000 rounds
//     | seen
//
// What PTX promises, or what always was so on this chip, is asserted too; where
// the outcome is left open, `observe` only prints what was seen.
#pragma once

#include <cstdio>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>

namespace flashqla {

/// Prints the line; returns `holds`.
inline bool litmus(const std::string &name, const std::string &fact, const std::string &seen,
                   bool holds) {
  std::printf("litmus %s | %s | %s | %s\n", name.c_str(), fact.c_str(), seen.c_str(),
              holds ? "holds" : "DOES NOT HOLD");
  return holds;
}

inline void observe(const std::string &name, const std::string &question, const std::string &seen) {
  std::printf("litmus %s | not promised: %s | %s | seen\n", name.c_str(), question.c_str(),
              seen.c_str());
}

} // namespace flashqla
