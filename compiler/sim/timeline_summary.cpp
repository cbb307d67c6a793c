#include "compiler/sim/timeline_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace flashqla::sim {
namespace {

constexpr size_t longest = 8; ///< waits that are shown

struct WaitSum {
  uint32_t step = 0;
  Cycles cycles = 0;
  int64_t times = 0;
  std::map<uint32_t, Cycles> causes;
};

double percent(Cycles part, Cycles whole) {
  return whole > 0 ? 100 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::string roleTable(const Timeline &timeline, size_t width) {
  std::vector<Cycles> waiting(timeline.rows.size(), 0);
  for (const Span &span : timeline.spans)
    if (!timeline.rows[span.row].engine && isWaiting(timeline.steps[span.step].statement.kind))
      waiting[span.row] += span.end - span.begin;
  std::string text = fmt::format("{:<{}}  {:>8}  {:>14}  {:>14}\n", "role", width, "cycles", "busy", "waiting");
  for (size_t row = 0; row < timeline.rows.size(); ++row) {
    if (timeline.rows[row].engine)
      continue;
    const Cycles life = timeline.rows[row].end - timeline.rows[row].begin;
    text += fmt::format("{:<{}}  {:>8}  {:>8} {:>3.0f} %  {:>8} {:>3.0f} %\n", timeline.rows[row].name, width, life,
                        life - waiting[row], percent(life - waiting[row], life), waiting[row],
                        percent(waiting[row], life));
  }
  return text;
}

std::vector<WaitSum> waitSums(const Timeline &timeline) {
  std::map<uint32_t, WaitSum> sums;
  for (const Span &span : timeline.spans) {
    if (timeline.rows[span.row].engine || !isWaiting(timeline.steps[span.step].statement.kind))
      continue;
    WaitSum &sum = sums[span.step];
    sum.step = span.step;
    sum.cycles += span.end - span.begin;
    ++sum.times;
    if (span.cause != Span::none)
      sum.causes[span.cause] += span.end - span.begin;
  }
  std::vector<WaitSum> sorted;
  for (auto &[step, sum] : sums)
    sorted.push_back(std::move(sum));
  std::stable_sort(sorted.begin(), sorted.end(), [](const WaitSum &a, const WaitSum &b) { return a.cycles > b.cycles; });
  sorted.resize(std::min(sorted.size(), longest));
  return sorted;
}

/// The cause of most of the time.
std::string mainCause(const Timeline &timeline, const WaitSum &sum) {
  auto most = std::max_element(sum.causes.begin(), sum.causes.end(),
                               [](const auto &a, const auto &b) { return a.second < b.second; });
  if (most == sum.causes.end())
    return {};
  return "  " + causeText(timeline, {0, sum.step, 0, 0, -1, most->first});
}

std::string waitTable(const Timeline &timeline, size_t width) {
  const std::vector<WaitSum> sums = waitSums(timeline);
  if (sums.empty())
    return {};
  size_t textWidth = 4;
  bool causes = false;
  for (const WaitSum &sum : sums) {
    textWidth = std::max(textWidth, timeline.steps[sum.step].statement.text.size());
    causes |= !sum.causes.empty();
  }
  std::string text = fmt::format("\n{:<{}}  {:>4}  {:<{}}  {:>8}  {:>5}  {:>7}{}\n", "role", width, "line", "wait",
                                 textWidth, "cycles", "times", "average", causes ? "  mostly for" : "");
  for (const WaitSum &sum : sums) {
    const TimelineStep &step = timeline.steps[sum.step];
    text += fmt::format("{:<{}}  {:>4}  {:<{}}  {:>8}  {:>5}  {:>7}{}\n", step.role, width, step.statement.line,
                        step.statement.text, textWidth, sum.cycles, sum.times, sum.cycles / sum.times,
                        mainCause(timeline, sum));
  }
  return text;
}

} // namespace

std::string timelineSummary(const Timeline &timeline) {
  size_t width = 4;
  for (const Timeline::Row &row : timeline.rows)
    if (!row.engine)
      width = std::max(width, row.name.size());
  std::string text = fmt::format("{} {}, CTA {} of {}: {} cycles\n\n", timeline.source, timeline.kernel, timeline.block,
                                 timeline.blocks, timeline.cycles);
  text += roleTable(timeline, width) + waitTable(timeline, width);
  std::string engines;
  for (const Timeline::Row &row : timeline.rows)
    if (row.engine)
      engines += fmt::format("{}{} {:.0f} %", engines.empty() ? "\nbusy: " : ", ", row.name, 100 * row.use);
  text += engines.empty() ? "" : engines + "\n";
  if (timeline.truncated)
    text += "\nthe end is missing: records found no room\n";
  return text;
}

} // namespace flashqla::sim
