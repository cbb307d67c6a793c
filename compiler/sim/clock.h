/// Vector clocks: what an agent knows to have happened.
///
/// Each agent – a role, or the asynchronous operations of one kind that a role or barrier has – is a component. Its
/// operations have times 1, 2, … A clock that has n in an agent's component comes after the agent's operations up to n.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace flashqla::sim {

using Agent = uint32_t;

/// An operation of an agent.
struct Epoch {
  Agent agent = 0;
  int32_t time = 0;
};

class Clock {
public:
  explicit Clock(size_t agents = 0) : times(agents, 0) {}

  int32_t &operator[](Agent agent) { return times[agent]; }
  int32_t operator[](Agent agent) const { return times[agent]; }
  void clear() { std::fill(times.begin(), times.end(), 0); }
  bool knows(Epoch epoch) const { return times[epoch.agent] >= epoch.time; }
  void join(const Clock &other) {
    for (size_t i = 0; i < times.size(); ++i)
      times[i] = std::max(times[i], other.times[i]);
  }
  /// Whether it knows all that the other knows.
  bool includes(const Clock &other) const {
    for (size_t i = 0; i < times.size(); ++i)
      if (times[i] < other.times[i])
        return false;
    return true;
  }

private:
  std::vector<int32_t> times;
};

/// What proxy fences of threads cover: of their writes to shared tiles, and of those to tensors.
struct Fenced {
  Clock tiles, tensors;

  explicit Fenced(size_t agents = 0) : tiles(agents), tensors(agents) {}
  void clear() {
    tiles.clear();
    tensors.clear();
  }
  void join(const Fenced &other) {
    tiles.join(other.tiles);
    tensors.join(other.tensors);
  }
  bool includes(const Fenced &other) const { return tiles.includes(other.tiles) && tensors.includes(other.tensors); }
};

} // namespace flashqla::sim
