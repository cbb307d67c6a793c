#include "compiler/sim/timeline_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace flashqla::sim {
namespace {

constexpr double labelWidth = 150, rowHeight = 22, headHeight = 26, axisHeight = 20, margin = 10;

constexpr std::string_view style = R"(<style>
text { font: 12px sans-serif; fill: #222 }
.head { font-weight: bold }
.axis { fill: #777; font-size: 10px }
.grid { stroke: #e4e4e4 }
.row { fill: #f6f6f6 }
.wait { fill: #d9534f }
.await { fill: #eba5a3 }
.sync { fill: #b39ddb }
.copy { fill: #4a90d9 }
.product { fill: #4caf50 }
.map { fill: #f0a830 }
.other { fill: #c8c8c8 }
</style>
)";

std::string escaped(std::string_view text) {
  std::string result;
  for (char c : text)
    switch (c) {
    case '&': result += "&amp;"; break;
    case '<': result += "&lt;"; break;
    case '>': result += "&gt;"; break;
    case '"': result += "&quot;"; break;
    default: result += c;
    }
  return result;
}

/// 1, 2 or 5 times a power of ten, so that there are some ten of them.
Cycles tickOf(Cycles cycles) {
  Cycles tick = 1;
  while (tick * 10 <= cycles / 10)
    tick *= 10;
  for (Cycles factor : {2, 5})
    if (tick * factor <= cycles / 10)
      return cycles / (tick * 5) >= 10 ? tick * 5 : tick * factor;
  return tick;
}

class Picture {
public:
  explicit Picture(std::span<const Timeline> timelines) : timelines(timelines) {
    for (const Timeline &timeline : timelines)
      cycles = std::max(cycles, timeline.cycles);
    // Short spans stay visible; very long runs stay small enough to open.
    scale = std::clamp(12000.0 / static_cast<double>(std::max<Cycles>(cycles, 1)), 0.02, 0.5);
    scale = std::max(scale, 900.0 / static_cast<double>(std::max<Cycles>(cycles, 1)));
  }
  std::string draw();

private:
  double x(Cycles at) const { return labelWidth + scale * static_cast<double>(at); }
  void axis(double top, double bottom);
  void process(const Timeline &timeline, double &y);
  void span(const Timeline &timeline, const Span &span, double top);
  void legend(double y);

  std::span<const Timeline> timelines;
  Cycles cycles = 0;
  double scale = 1;
  std::string body;
};

void Picture::axis(double top, double bottom) {
  const Cycles tick = tickOf(cycles);
  for (Cycles at = 0; at <= cycles; at += tick) {
    body += fmt::format("<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.0f}\" y2=\"{2:.0f}\"/>\n", x(at), top,
                        bottom);
    body += fmt::format("<text class=\"axis\" x=\"{:.1f}\" y=\"{:.0f}\">{}</text>\n", x(at) + 2, bottom + 12, at);
  }
}

void Picture::span(const Timeline &timeline, const Span &span, double top) {
  const TimelineStep &step = timeline.steps[span.step];
  const bool other = step.role.empty();
  std::string title = fmt::format("{}\n{} … {}: {} cycles", step.statement.text, span.begin, span.end,
                                  span.end - span.begin);
  if (step.statement.line)
    title += fmt::format("\nline {}", step.statement.line);
  if (timeline.rows[span.row].engine && !other)
    title += ", " + step.role;
  if (span.generation >= 0)
    title += fmt::format("\ngeneration {}", span.generation);
  if (std::string cause = causeText(timeline, span); !cause.empty())
    title += "\nfor " + cause;
  body += fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"{:.0f}\"><title>{}</title></rect>\n",
                      other ? "other" : statementKindName(step.statement.kind), x(span.begin), top + 2,
                      std::max(scale * static_cast<double>(span.end - span.begin), 0.5), rowHeight - 4, escaped(title));
}

void Picture::process(const Timeline &timeline, double &y) {
  body += fmt::format("<text class=\"head\" x=\"{}\" y=\"{:.0f}\">{}</text>\n", margin, y + 17,
                      escaped(fmt::format("{} {}, CTA {} of {}: {} cycles", timeline.source, timeline.kernel,
                                          timeline.block, timeline.blocks, timeline.cycles)));
  y += headHeight;
  const double top = y;
  axis(top, top + rowHeight * static_cast<double>(timeline.rows.size()));
  for (const Timeline::Row &row : timeline.rows) {
    if (!row.engine)
      body += fmt::format("<rect class=\"row\" x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"{:.0f}\"/>\n",
                          x(row.begin), y + 1, scale * static_cast<double>(row.end - row.begin), rowHeight - 2);
    body += fmt::format("<text x=\"{}\" y=\"{:.0f}\">{}</text>\n", margin, y + 15, escaped(row.name));
    y += rowHeight;
  }
  for (const Span &each : timeline.spans)
    span(timeline, each, top + rowHeight * static_cast<double>(each.row));
  y += axisHeight;
}

void Picture::legend(double y) {
  double at = labelWidth;
  for (std::string_view name : {"wait", "await", "sync", "copy", "product", "map"}) {
    body += fmt::format("<rect class=\"{0}\" x=\"{1:.0f}\" y=\"{2:.0f}\" width=\"12\" height=\"12\"/>"
                        "<text x=\"{3:.0f}\" y=\"{4:.0f}\">{0}</text>\n",
                        name, at, y, at + 16, y + 11);
    at += 80;
  }
}

std::string Picture::draw() {
  double y = margin;
  for (const Timeline &timeline : timelines)
    process(timeline, y);
  legend(y + 4);
  const double width = x(cycles) + 60, height = y + 30;
  return fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
                     "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n{2}<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{3}</svg>\n",
                     width, height, style, body);
}

} // namespace

std::string timelineSvg(std::span<const Timeline> timelines) { return Picture(timelines).draw(); }

} // namespace flashqla::sim
