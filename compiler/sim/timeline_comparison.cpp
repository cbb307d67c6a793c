#include "compiler/sim/timeline_output.h"

#include <fmt/format.h>

#include <algorithm>

namespace flashqla::sim {
namespace {

struct Sum {
  TimelineStep step;
  Cycles cycles[2] = {0, 0};
  int64_t times[2] = {0, 0};
};

/// Statements in the order in which the timelines have them first, role by role.
std::vector<Sum> sumsOf(const Timeline *const (&timelines)[2]) {
  std::vector<Sum> sums;
  for (size_t which = 0; which < 2; ++which)
    for (const Span &span : timelines[which]->spans) {
      if (timelines[which]->rows[span.row].engine)
        continue;
      const TimelineStep &step = timelines[which]->steps[span.step];
      auto found = std::find_if(sums.begin(), sums.end(), [&](const Sum &sum) { return sum.step == step; });
      if (found == sums.end())
        found = sums.insert(found, {step, {0, 0}, {0, 0}});
      found->cycles[which] += span.end - span.begin;
      ++found->times[which];
    }
  std::stable_sort(sums.begin(), sums.end(), [&](const Sum &a, const Sum &b) {
    const auto place = [&](const Sum &sum) {
      const std::vector<Timeline::Row> &rows = timelines[0]->rows;
      return std::find_if(rows.begin(), rows.end(), [&](const auto &row) { return row.name == sum.step.role; });
    };
    return place(a) < place(b);
  });
  return sums;
}

} // namespace

std::string timelineComparison(const Timeline &simulated, const Timeline &measured) {
  const Timeline *const both[2] = {&simulated, &measured};
  const std::vector<Sum> sums = sumsOf(both);
  size_t role = 4, text = 9;
  for (const Sum &sum : sums) {
    role = std::max(role, sum.step.role.size());
    text = std::max(text, sum.step.statement.text.size());
  }
  std::string table = fmt::format("{:<{}}  {:>4}  {:<{}}  {:>5}  {:>9}  {:>8}\n", "role", role, "line", "statement", text,
                                  "times", "simulated", "measured");
  for (const Sum &sum : sums) {
    const auto average = [&](size_t which) {
      return sum.times[which] ? std::to_string(sum.cycles[which] / sum.times[which]) : std::string("-");
    };
    table += fmt::format("{:<{}}  {:>4}  {:<{}}  {:>5}  {:>9}  {:>8}\n", sum.step.role, role, sum.step.statement.line,
                         sum.step.statement.text, text, std::max(sum.times[0], sum.times[1]), average(0), average(1));
  }
  return table;
}

} // namespace flashqla::sim
