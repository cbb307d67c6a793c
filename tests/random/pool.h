// Seeds dealt to processes: a program that crashes its process, or hangs, costs that process alone.
//
//     runPool(options, [&](const Report &report) { … });      // one for each seed, in no order
//
// A worker is this binary with `--worker`. It reads a seed a line and answers with a line "SEED KIND NAME", what is to be
// kept lying in the folder for results. Behind "SEED KIND NAME last" it ends: its GPU has had a fault.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace flashqla::random {

struct Report {
  std::uint64_t seed = 0;
  std::string kind; ///< good, refused, differs, crashed, hung
  std::string name;
};

struct PoolOptions {
  std::vector<std::string> command; ///< of a worker
  std::uint64_t first = 0, count = 0;
  unsigned workers = 1;
  double seconds = 0;     ///< after which no seed is dealt; 0: no limit
  double seedSeconds = 0; ///< for one seed
};

/// False where a worker could not be started.
bool runPool(const PoolOptions &options, const std::function<void(const Report &)> &report);

} // namespace flashqla::random
