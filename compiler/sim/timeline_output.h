/// Timelines for people: a trace for Perfetto (ui.perfetto.dev) or chrome://tracing, a picture, a table.
#pragma once

#include "compiler/sim/timeline.h"

#include <span>

namespace flashqla::sim {

/// Trace Event Format: a process for each timeline, a thread for each row. A microsecond of the trace is a cycle.
std::string timelineJson(std::span<const Timeline> timelines);

/// A picture, the timelines below each other on one axis.
std::string timelineSvg(std::span<const Timeline> timelines);

/// Busy and waiting cycles of each role, the longest waits, how much the engines work.
std::string timelineSummary(const Timeline &timeline);

/// The statements of both, with their average cycles.
std::string timelineComparison(const Timeline &simulated, const Timeline &measured);

/// What a span shows, for its tooltip and the arguments of the trace: who completed what it waited for; empty: nobody.
std::string causeText(const Timeline &timeline, const Span &span);

/// Whether a span of this kind is time in which the role waits.
inline bool isWaiting(StatementKind kind) {
  return kind == StatementKind::Wait || kind == StatementKind::Await || kind == StatementKind::Sync;
}

} // namespace flashqla::sim
