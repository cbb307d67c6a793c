// The device memory that an instrumented kernel records in (ManifestTimeline).
#pragma once

#include "flashqla/runtime.h"
#include "runtime/device_state.h"
#include "runtime/manifest.h"

namespace flashqla {

/// Its owner calls `release`, with the device's context current.
class TimelineBuffer {
public:
  Expected<void> allocate(const DeviceState &device, const ManifestTimeline &layout);
  void release(const DeviceState &device);
  std::uint64_t address() const { return buffer; }

  /// Empties it; CTA `block` records from then on.
  Expected<void> reset(const DeviceState &device, const ManifestTimeline &layout,
                       std::int64_t block) const;
  /// What each role recorded.
  Expected<std::vector<std::vector<TimelineRecord>>> read(const DeviceState &device,
                                                          const ManifestTimeline &layout) const;

private:
  CUdeviceptr buffer = 0;
};

} // namespace flashqla
