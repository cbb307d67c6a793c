#include "compiler/driver/case_launch.h"
#include "compiler/driver/timeline.h"
#include "compiler/sim/timeline_output.h"
#include "runtime/files.h"
#include "tools/flashqlac/verbs.h"

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
  const std::span<const sim::Timeline> timelines(&*result.timeline, 1);
  for (const auto &[path, text] : {std::pair(options.output, &sim::timelineJson),
                                   std::pair(options.svg, &sim::timelineSvg)})
    if (!path.empty())
      if (const Expected<void> written = writeFile(path, text(timelines)); !written)
        return fail(context, written.error());
  context.out << fmt::format("{} at {}\n", result.kernel, driver::shapeText(result.shape));
  for (const sim::Timeline &timeline : timelines)
    context.out << sim::timelineSummary(timeline);
  return session.diagnostics().hasErrors() ? Mistakes : Done;
}

} // namespace flashqla::cli
