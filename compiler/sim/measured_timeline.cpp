#include "compiler/sim/measured_timeline.h"

#include "runtime/manifest.h"

namespace flashqla::sim {
namespace {

/// Adds the records of a role as spans. `start`: the clock where the CTA began.
void addRole(Timeline &timeline, uint32_t row, uint32_t start, const std::vector<TimelineRecord> &records) {
  const auto since = [&](uint32_t clock) -> Cycles { return static_cast<int32_t>(clock - start); }; // the clock wraps
  Timeline::Row &life = timeline.rows[row];
  int lives = 0;
  for (const TimelineRecord &record : records) {
    life.end = since(record.end);
    if (record.code == ManifestTimeline::life) {
      if (++lives == 1)
        life.begin = life.end;
      continue;
    }
    const int64_t step = record.code - ManifestTimeline::firstStep;
    if (step < static_cast<int64_t>(timeline.steps.size()))
      timeline.spans.push_back({row, static_cast<uint32_t>(step), since(record.begin), life.end});
  }
  timeline.truncated |= lives < 2;
}

} // namespace

Timeline measuredTimeline(const Manifest &manifest, std::span<const std::vector<TimelineRecord>> recorded) {
  Timeline timeline;
  timeline.kernel = manifest.kernel;
  timeline.source = "measured";
  for (const ManifestTimeline::Step &step : manifest.timeline->steps)
    timeline.steps.push_back({step.role,
                              {statementKindNamed(step.kind).value_or(StatementKind::Map), step.text,
                               static_cast<uint32_t>(step.line)}});
  for (const std::string &role : manifest.timeline->roles)
    timeline.rows.push_back({role});
  // The warps of a CTA do not begin in the same cycle.
  std::optional<uint32_t> start;
  for (const std::vector<TimelineRecord> &records : recorded)
    if (!records.empty() && (!start || static_cast<int32_t>(records[0].begin - *start) < 0))
      start = records[0].begin;
  for (uint32_t row = 0; row < recorded.size() && row < timeline.rows.size(); ++row) {
    addRole(timeline, row, start.value_or(0), recorded[row]);
    timeline.cycles = std::max(timeline.cycles, timeline.rows[row].end);
  }
  return timeline;
}

} // namespace flashqla::sim
