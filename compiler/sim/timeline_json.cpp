#include "compiler/sim/timeline_output.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flashqla::sim {
namespace {

using Json = nlohmann::ordered_json;

class Writer {
public:
  void add(const Json &event) {
    text += text.empty() ? "\n  " : ",\n  ";
    text += event.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
  }
  void process(const Timeline &timeline, int pid);
  std::string text;

private:
  static Json span(const Timeline &timeline, const Span &span, int pid);
};

Json Writer::span(const Timeline &timeline, const Span &span, int pid) {
  const TimelineStep &step = timeline.steps[span.step];
  Json event = {{"name", step.statement.text},
                {"cat", statementKindName(step.statement.kind)},
                {"ph", "X"},
                {"ts", span.begin},
                {"dur", span.end - span.begin},
                {"pid", pid},
                {"tid", span.row + 1}};
  Json args = Json::object();
  if (step.statement.line)
    args["line"] = step.statement.line;
  if (timeline.rows[span.row].engine && !step.role.empty())
    args["role"] = step.role;
  if (span.generation >= 0)
    args["generation"] = span.generation;
  if (std::string cause = causeText(timeline, span); !cause.empty())
    args["for"] = cause;
  event["args"] = std::move(args);
  return event;
}

void Writer::process(const Timeline &timeline, int pid) {
  const auto name = [&](const char *kind, size_t tid, Json args) {
    Json event = {{"name", kind}, {"ph", "M"}, {"pid", pid}};
    if (tid)
      event["tid"] = tid;
    event["args"] = std::move(args);
    add(event);
  };
  name("process_name", 0,
       {{"name", fmt::format("{} {}, CTA {} of {}", timeline.source, timeline.kernel, timeline.block, timeline.blocks)}});
  name("process_sort_index", 0, {{"sort_index", pid}});
  for (size_t row = 0; row < timeline.rows.size(); ++row) {
    name("thread_name", row + 1, {{"name", timeline.rows[row].name}});
    name("thread_sort_index", row + 1, {{"sort_index", row}});
  }
  std::vector<Span> spans = timeline.spans;
  std::stable_sort(spans.begin(), spans.end(), [](const Span &a, const Span &b) {
    return std::tie(a.row, a.begin) < std::tie(b.row, b.begin);
  });
  for (const Span &each : spans)
    add(span(timeline, each, pid));
}

} // namespace

std::string causeText(const Timeline &timeline, const Span &span) {
  if (span.cause == Span::none)
    return {};
  const TimelineStep &cause = timeline.steps[span.cause];
  return fmt::format("{}: {} (line {})", cause.role, cause.statement.text, cause.statement.line);
}

std::string timelineJson(std::span<const Timeline> timelines) {
  Writer writer;
  int pid = 0;
  for (const Timeline &timeline : timelines)
    writer.process(timeline, ++pid);
  return fmt::format("{{\"displayTimeUnit\": \"ns\", \"otherData\": {{\"unit\": \"a microsecond is a cycle\"}}, "
                     "\"traceEvents\": [{}\n]}}\n",
                     writer.text);
}

} // namespace flashqla::sim
