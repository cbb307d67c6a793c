#include "tests/engines/comparison.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>

namespace flashqla {

namespace {

using Results = std::vector<HostTensor>;

std::vector<std::vector<double>> valuesOf(const Results &results) {
  std::vector<std::vector<double>> values;
  for (const HostTensor &tensor : results)
    values.push_back(tensor.values());
  return values;
}

std::vector<std::vector<double>> valuesOf(const std::vector<Wanted> &wanted) {
  std::vector<std::vector<double>> values;
  for (const Wanted &want : wanted)
    values.push_back(want.values);
  return values;
}

/// The largest relative difference of a result.
double differenceOf(const Results &results, const std::vector<std::vector<double>> &from) {
  double most = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const double difference = relativeError(results[i].values(), from[i]);
    most = difference <= most ? most : difference; // NaN counts
  }
  return most;
}

bool sameBits(const Results &a, const Results &b) {
  return std::ranges::equal(a, b, [](const HostTensor &x, const HostTensor &y) {
    return std::ranges::equal(x.bytes(), y.bytes());
  });
}

/// The largest tolerance of a case: two right results may be as far apart as one of them may be
/// from the reference.
double boundOf(const std::vector<Wanted> &wanted) {
  double most = 0;
  for (const Wanted &want : wanted)
    most = std::max(most, want.tolerance);
  return most;
}

int failures() {
  return testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
}

} // namespace

void Comparison::compare(const std::string &kernel, const std::vector<Wanted> &wanted,
                         const Run &run) {
  Row &row = rows[kernel];
  ++row.cases;
  row.cells.resize(engines.size());
  std::string neighbour = "the reference";
  std::optional<Results> before;
  for (std::size_t i = 0; i < engines.size(); ++i) {
    Engine &engine = engines[i];
    if (!engine.device)
      continue;
    Cell &cell = row.cells[i];
    const int failuresBefore = failures();
    const auto begin = std::chrono::steady_clock::now();
    std::optional<Results> results;
    try {
      results = run(engine);
    } catch (const std::exception &error) {
      ADD_FAILURE() << engine.name << ": " << error.what();
    }
    cell.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (results) {
      expectResults(wanted, *results, engine.name);
      const double difference =
          differenceOf(*results, before ? valuesOf(*before) : valuesOf(wanted));
      if (!(difference <= cell.difference))
        cell.difference = difference;
      const bool same = before && sameBits(*results, *before);
      if (before && engine.exact ? !same : !same && !(difference <= boundOf(wanted)))
        ADD_FAILURE() << fmt::format("{} differs from {} by {:.1e}: the mistake is in {}",
                                     engine.name, neighbour, difference, engine.between);
      before = std::move(results);
      neighbour = engine.name;
    }
    cell.failed |= failures() != failuresBefore;
  }
}

std::string Comparison::text(const Engine &engine, const Cell &cell) const {
  if (!engine.device)
    return "-";
  const std::string difference = cell.failed            ? "FAILED"
                                 : cell.difference == 0 ? "equal"
                                                        : fmt::format("{:.1e}", cell.difference);
  return fmt::format("{:<7} {:>6.1f} s", difference, cell.seconds);
}

std::string Comparison::table() const {
  std::string table = fmt::format("{:<18}{:>6}", "kernel", "cases");
  for (const Engine &engine : engines)
    table += fmt::format(" | {:<16}", engine.name);
  for (const auto &[kernel, row] : rows) {
    table += fmt::format("\n{:<18}{:>6}", kernel, row.cases);
    for (std::size_t i = 0; i < engines.size(); ++i)
      table += fmt::format(" | {:<16}", text(engines[i], row.cells[i]));
  }
  table += fmt::format("\n{}: the largest error against f64; others: the largest difference from "
                       "the column before\n",
                       engines.front().name);
  for (const Engine &engine : engines)
    if (!engine.device)
      table += fmt::format("{} is not here: {}\n", engine.name, engine.whyNot);
  return table;
}

} // namespace flashqla
