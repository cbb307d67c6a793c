// Times work on the GPU by CUDA graphs, so that launch costs of the host do not count.
//
//     Timer timer(device);
//     std::vector<Timing> times = timer.measure({{"ours", [&](StreamHandle stream, int call) { …
//     }},
//                                                {"theirs", …}});
//
// Candidates of one call of `measure` take turns, replay by replay, so that clocks and temperature
// are the same for all.
#pragma once

#include "flashqla/device.h"

#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace flashqla::bench {

/// The value, or an exception with the error's text.
template <class T> T must(Expected<T> result) {
  if (!result)
    throw std::runtime_error(result.error().text());
  if constexpr (!std::is_void_v<T>)
    return std::move(*result);
}

struct Candidate {
  std::string name;
  /// Gives the work of one call to the stream. Calls are numbered so that they can take turns over
  /// several sets of inputs.
  std::function<Expected<void>(StreamHandle, int call)> launch;
};

struct Timing {
  double medianMs = 0; // of one call: replays of a graph of many calls, median over replays
  double minMs = 0;
};

struct TimingOptions {
  int replays = 25;
  double graphMs = 4; // calls per graph are chosen for about this time
  int maxCalls = 200;
};

class Timer {
public:
  /// Errors are exceptions.
  explicit Timer(const Device &device);
  /// One result per candidate. Warms each up, captures a graph, replays.
  std::vector<Timing> measure(const std::vector<Candidate> &candidates,
                              const TimingOptions &options = {});
  Timing measure(const Candidate &candidate, const TimingOptions &options = {}) {
    return measure(std::vector{candidate}, options).front();
  }

private:
  double replayMs(const Graph &graph);
  int callsPerGraph(const Candidate &candidate, const TimingOptions &options);

  const Device &device;
  Stream stream;
  Event begin, end;
};

} // namespace flashqla::bench
