#include "tools/bench/timing.h"

#include <algorithm>

namespace flashqla::bench {

Timer::Timer(const Device &device)
    : device(device), stream(must(Stream::create(device))), begin(must(Event::create(device))),
      end(must(Event::create(device))) {}

double Timer::replayMs(const Graph &graph) {
  must(begin.record(stream.handle()));
  must(graph.launch(stream.handle()));
  must(end.record(stream.handle()));
  return must(end.elapsedMs(begin));
}

int Timer::callsPerGraph(const Candidate &candidate, const TimingOptions &options) {
  must(candidate.launch(stream.handle(), 0)); // loads code, encodes tensor maps
  must(stream.synchronize());
  const Graph graph = must(Graph::capture(device, stream, [&]() -> Expected<void> {
    for (int call = 0; call < 2; ++call)
      if (auto done = candidate.launch(stream.handle(), call); !done)
        return done;
    return {};
  }));
  replayMs(graph);
  const double callMs = replayMs(graph) / 2;
  return std::clamp(static_cast<int>(options.graphMs / callMs), 2, options.maxCalls);
}

std::vector<Timing> Timer::measure(const std::vector<Candidate> &candidates,
                                   const TimingOptions &options) {
  std::vector<Graph> graphs;
  std::vector<int> calls;
  for (const Candidate &candidate : candidates) {
    calls.push_back(callsPerGraph(candidate, options));
    graphs.push_back(must(Graph::capture(device, stream, [&]() -> Expected<void> {
      for (int call = 0; call < calls.back(); ++call)
        if (auto done = candidate.launch(stream.handle(), call); !done)
          return done;
      return {};
    })));
    replayMs(graphs.back());
  }
  std::vector<std::vector<double>> times(candidates.size());
  for (int replay = 0; replay < options.replays; ++replay)
    for (std::size_t i = 0; i < candidates.size(); ++i)
      times[i].push_back(replayMs(graphs[i]) / calls[i]);
  std::vector<Timing> result;
  for (std::vector<double> &list : times) {
    std::ranges::sort(list);
    result.push_back({list[list.size() / 2], list.front()});
  }
  return result;
}

} // namespace flashqla::bench
