#include "tools/flashqlac/measure.h"

#include "compiler/sim/measured_timeline.h"
#include "tools/flashqlac/case_plan.h"
#include "tools/flashqlac/planned_launch.h"
#include "tools/flashqlac/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace flashqla::cli {

namespace {

using Records = std::vector<std::vector<TimelineRecord>>;

/// Clocks rise while the GPU works.
constexpr std::chrono::milliseconds warmUp(200);
constexpr int timedLaunches = 20; // one after the other, between two events
constexpr int rounds = 5;         // of which the fastest counts

Expected<void> warm(const PlannedLaunch &launch, const Kernel &kernel) {
  const auto begin = std::chrono::steady_clock::now();
  Expected<void> done;
  do
    done = launch.run(kernel);
  while (done && std::chrono::steady_clock::now() - begin < warmUp);
  return done;
}

/// Microseconds of a launch.
Expected<double> timeLaunches(const Device &device, const PlannedLaunch &launch,
                              const Kernel &kernel) {
  const Expected<Event> begin = Event::create(device), end = Event::create(device);
  if (!begin || !end)
    return (!begin ? begin : end).error();
  Expected<void> done = begin->record(nullptr);
  for (int i = 0; i < timedLaunches && done; ++i)
    done = launch.start(kernel);
  if (done)
    done = end->record(nullptr);
  if (!done)
    return std::move(done).error();
  const Expected<float> ms = end->elapsedMs(*begin);
  if (!ms)
    return ms.error();
  return 1000.0 * *ms / timedLaunches;
}

/// Of both kernels in turn, so that both find the GPU in the same state.
Expected<void> timeBoth(const Device &device, const PlannedLaunch &launch, const Kernel &plain,
                        const Kernel &instrumented, Measurement &measured) {
  for (int round = 0; round < rounds; ++round)
    for (const auto &[kernel, least] :
         {std::pair(&plain, &measured.plain), std::pair(&instrumented, &measured.instrumented)}) {
      const Expected<double> time = timeLaunches(device, launch, *kernel);
      if (!time)
        return time.error();
      *least = round == 0 ? *time : std::min(*least, *time);
    }
  return {};
}

Expected<Records> record(const PlannedLaunch &launch, const Kernel &kernel, std::int64_t block) {
  if (auto done = kernel.recordTimeline(block); !done)
    return std::move(done).error();
  if (auto done = launch.run(kernel); !done)
    return std::move(done).error();
  return kernel.takeTimeline();
}

/// The kernel of the simulated launch, plain or instrumented; empty where there are mistakes.
Expected<std::optional<Bundle>> compile(Context &context, const driver::TimelineRequest &request,
                                        const driver::TimelineResult &simulated, bool instrument) {
  driver::CompileRequest wanted = request.compile;
  wanted.kernel = simulated.kernel;
  wanted.bindings = simulated.shape.bindings;
  wanted.instrument = instrument;
  wanted.allowSlow = true;
  driver::Session session(context.environment);
  driver::CompileResult compiled = session.compile(wanted);
  report(context, session.diagnostics());
  if (compiled.error)
    return *compiled.error;
  return std::move(compiled.bundle);
}

} // namespace

Expected<std::optional<Measurement>> measureTimeline(Context &context,
                                                     const driver::TimelineRequest &request,
                                                     const driver::TimelineResult &simulated) {
  const Expected<Device> device = openGpu(context);
  if (!device)
    return Error(device.error())
        .withNote("without `--device gpu` the timeline is simulated only, which needs no GPU");
  std::vector<Kernel> kernels; // plain, instrumented
  for (const bool instrument : {false, true}) {
    const Expected<std::optional<Bundle>> bundle = compile(context, request, simulated, instrument);
    if (!bundle)
      return bundle.error();
    if (!*bundle)
      return std::optional<Measurement>();
    Expected<Kernel> kernel = Kernel::load(*device, **bundle);
    if (!kernel)
      return kernel.error();
    kernels.push_back(std::move(*kernel));
  }
  Expected<LaunchPlan> planned = planCase(kernels[1].manifest(), simulated.shape);
  if (!planned)
    return planned.error();
  const Expected<PlannedLaunch> launch = PlannedLaunch::upload(*device, *planned);
  if (!launch)
    return launch.error();
  Measurement measured;
  if (auto done = warm(*launch, kernels[1]); !done)
    return std::move(done).error();
  if (auto done = timeBoth(*device, *launch, kernels[0], kernels[1], measured); !done)
    return std::move(done).error();
  const Expected<Records> records = record(*launch, kernels[1], request.block);
  if (!records)
    return records.error();
  measured.timeline = sim::measuredTimeline(kernels[1].manifest(), *records);
  measured.timeline.block = request.block;
  measured.timeline.blocks = planned->blocks;
  return std::optional(std::move(measured));
}

std::string overheadText(const Measurement &measured) {
  return fmt::format("a launch takes {:.1f} µs, {:.1f} µs with records ({:+.1f} %)\n",
                     measured.plain, measured.instrumented,
                     100 * (measured.instrumented / measured.plain - 1));
}

} // namespace flashqla::cli
