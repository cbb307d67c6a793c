#include "compiler/driver/case_launch.h"
#include "compiler/driver/timeline.h"
#include "compiler/sim/timeline_output.h"
#include "runtime/files.h"
#include "tools/flashqlac/measure.h"

#include <fmt/format.h>

#include <ostream>

namespace flashqla::cli {

namespace {

Expected<driver::TimelineRequest> makeTimelineRequest(Context &context,
                                                      const TraceOptions &options) {
  const auto dims = parseDefinitions(options.dims, "--dim");
  const auto values = parseDefinitions(options.values, "--set");
  if (!dims || !values)
    return dims ? values.error() : dims.error();
  Expected<driver::CompileRequest> compile = makeRequest(context, options.kernel);
  if (!compile)
    return compile.error();
  driver::TimelineRequest request;
  request.compile = std::move(*compile);
  request.number = options.number - 1;
  request.block = options.block;
  if (options.resident > 0)
    request.resident = options.resident;
  for (const auto &[name, value] : *values)
    request.values[name] = value;
  for (const auto &[name, value] : *dims) {
    const std::optional<frontend::Constant> constant = frontend::parseConstant(value);
    if (!constant || !std::holds_alternative<std::int64_t>(*constant))
      return usageError(fmt::format("--dim {}={}: a dim is an integer", name, value));
    request.dims[name] = std::get<std::int64_t>(*constant);
  }
  if (!options.costs.empty()) {
    const Expected<std::string> text = readFile(options.costs);
    if (!text)
      return text.error();
    if (Expected<void> read = sim::readCosts(*text, request.costs); !read)
      return Error(read.error()).withNote("in " + options.costs);
  }
  return request;
}

} // namespace

int traceVerb(Context &context, const TraceOptions &options) {
  if (options.device != "none" && options.device != "gpu")
    return fail(context,
                usageError(fmt::format("--device is none or gpu, not `{}`: a timeline is simulated "
                                       "in any case",
                                       options.device)));
  const Expected<driver::TimelineRequest> request = makeTimelineRequest(context, options);
  if (!request)
    return fail(context, request.error());
  driver::Session session(context.environment);
  const driver::TimelineResult result = session.timeline(*request);
  report(context, session.diagnostics());
  if (result.error)
    return fail(context, *result.error);
  if (!result.timeline)
    return Mistakes;
  std::vector<sim::Timeline> timelines = {*result.timeline};
  std::string overhead;
  if (options.device == "gpu") {
    const Expected<std::optional<Measurement>> measured =
        measureTimeline(context, *request, result);
    if (!measured)
      return fail(context, measured.error());
    if (!*measured)
      return Mistakes;
    timelines.push_back((*measured)->timeline);
    overhead = overheadText(**measured);
  }
  for (const auto &[path, text] :
       {std::pair(options.output, &sim::timelineJson), std::pair(options.svg, &sim::timelineSvg)})
    if (!path.empty())
      if (const Expected<void> written = writeFile(path, text(timelines)); !written)
        return fail(context, written.error());
  context.out << fmt::format("{} at {}\n", result.kernel, driver::shapeText(result.shape));
  context.out << sim::timelineSummary(timelines[0]);
  if (timelines.size() == 2)
    context.out << "\n"
                << sim::timelineSummary(timelines[1]) << "\n"
                << sim::timelineComparison(timelines[0], timelines[1]) << "\n"
                << overhead;
  return session.diagnostics().hasErrors() ? Mistakes : Done;
}

} // namespace flashqla::cli
