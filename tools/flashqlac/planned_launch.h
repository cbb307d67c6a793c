// A planned launch on a device: its tensors uploaded, launched as often as wanted, copied back.
#pragma once

#include "tools/flashqlac/launch_plan.h"

namespace flashqla::cli {

class PlannedLaunch {
public:
  /// The plan must outlive it. Error: device-memory.
  static Expected<PlannedLaunch> upload(const Device &device, LaunchPlan &plan);

  /// Launches. Errors: launch-…, driver-call.
  Expected<void> start(const Kernel &kernel) const;
  /// Launches and waits. Errors: launch-…, driver-call, assert-failed.
  Expected<void> run(const Kernel &kernel) const;
  /// What the kernel wrote, into the plan. Error: driver-call.
  Expected<void> download() const;

private:
  PlannedLaunch(const Device &device, LaunchPlan &plan) : device(&device), plan(&plan) {}

  const Device *device;
  LaunchPlan *plan;
  std::vector<DeviceBuffer> buffers; // of the tensors, in order
  std::vector<Arg> args;
};

} // namespace flashqla::cli
