#include "tools/flashqlac/target.h"

#include <fmt/format.h>

#include <chrono>
#include <mutex>
#include <ostream>

namespace flashqla::cli {

namespace {

using Clock = std::chrono::steady_clock;

/// How far a long launch is: on a terminal a line that is written over, else a line now and then.
class Progress {
public:
  explicit Progress(Context &context) : context(context) {}

  void operator()(const std::string &kernel, std::int64_t done, std::int64_t blocks) {
    const std::lock_guard lock(mutex);
    const auto now = Clock::now();
    if (done == blocks) {
      clear();
      begin = now;
    } else if (now - begin > std::chrono::seconds(2) && now - shown > pause()) {
      show(kernel, done, blocks);
      shown = now;
    }
  }

private:
  std::chrono::milliseconds pause() const {
    return std::chrono::milliseconds(context.errIsTerminal ? 200 : 5000);
  }
  void show(const std::string &kernel, std::int64_t done, std::int64_t blocks) {
    const std::string text = fmt::format("{}: {} of {} CTAs", kernel, done, blocks);
    context.err << (context.errIsTerminal ? "\r\x1b[K" + text : text + "\n") << std::flush;
    visible = context.errIsTerminal;
  }
  void clear() {
    if (visible)
      context.err << "\r\x1b[K" << std::flush;
    visible = false;
  }

  Context &context;
  std::mutex mutex;
  Clock::time_point begin = Clock::now(), shown;
  bool visible = false;
};

} // namespace

Expected<Device> openGpu(Context &context) {
  Expected<Device> device = context.openDevice(context.environment);
  if (!device || device->properties().major == 9)
    return device;
  const DeviceProperties &found = device->properties();
  return Error{
      "kernel-arch", fmt::format("{} is sm_{}{}", found.name, found.major, found.minor), {}};
}

Expected<Target> Target::open(Context &context, const DeviceOptions &options) {
  if (options.name != "auto" && options.name != "gpu" && options.name != "sim")
    return usageError(fmt::format("--device is auto, gpu or sim, not `{}`", options.name));
  if (options.threads != 0 && options.name == "gpu")
    return usageError("--threads is for the simulator: --device sim");
  Target target;
  if (options.name != "sim") {
    Expected<Device> gpu = openGpu(context);
    if (gpu) {
      target.opened = std::make_unique<Device>(std::move(*gpu));
      return target;
    }
    if (options.name == "gpu")
      return Error(gpu.error())
          .withNote("kernels run on an NVIDIA GPU of the Hopper family (sm_90); `flashqlac env` "
                    "shows what was found, and `--device sim` runs without one");
    target.whyNoGpu = gpu.error().message;
  }
  SimOptions simulation;
  simulation.threads = options.threads;
  if (!context.jsonDiagnostics)
    simulation.progress = [progress = std::make_shared<Progress>(context)](
                              const std::string &kernel, std::int64_t done, std::int64_t blocks) {
      (*progress)(kernel, done, blocks);
    };
  target.simulator = std::make_unique<SimExecutor>(std::move(simulation));
  target.opened = std::make_unique<Device>(Device::on(*target.simulator));
  return target;
}

void Target::announce(Context &context) const {
  if (!whyNoGpu.empty())
    note(context,
         fmt::format("there is no GPU to run on ({}): running in the simulator", whyNoGpu));
}

int Target::fail(Context &context, const Error &error) const {
  if (error.code != "sim-findings")
    return cli::fail(context, error);
  report(context, simulator->diagnostics());
  return Mistakes;
}

} // namespace flashqla::cli
