// Engines against the reference and against each other, and the table of it.
#pragma once

#include "tests/engines/engine.h"
#include "tests/engines/kernel_cases.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace flashqla {

class Comparison {
public:
  explicit Comparison(std::vector<Engine> engines) : engines(std::move(engines)) {}

  /// One case of a kernel: runs it on every engine that is there, compares each with the reference
  /// and with its neighbour, and names the layer that is wrong. Failures are GoogleTest's.
  using Run = std::function<std::vector<HostTensor>(Engine &)>;
  void compare(const std::string &kernel, const std::vector<Wanted> &wanted, const Run &run);

  /// A line for each kernel: the largest error of the first engine, the largest difference of each
  /// other one from its neighbour, and seconds.
  std::string table() const;

private:
  struct Cell {
    double difference = 0;
    double seconds = 0;
    bool failed = false;
  };
  struct Row {
    int cases = 0;
    std::vector<Cell> cells; // of the engines
  };
  std::string text(const Engine &engine, const Cell &cell) const;

  std::vector<Engine> engines;
  std::map<std::string, Row> rows;
};

} // namespace flashqla
