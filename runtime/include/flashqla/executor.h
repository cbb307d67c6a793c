// What runs kernels where there is no GPU.
//
// A `Device` can be made from an executor instead of the driver: its memory is host memory, its
// streams are always idle, and a launch – after all the checks of a launch – calls the executor and
// returns when the kernel has ended. Everything that runs on a device runs on it, but for graphs.
//
//     SimExecutor simulator;                       // compiler/driver/sim_executor.h
//     Device device = Device::on(simulator);
//     Expected<Kernel> kernel = Kernel::load(device, bundle);
#pragma once

#include "flashqla/runtime.h"

#include <cstdint>
#include <memory>

namespace flashqla {

/// A launch that was found right. Pointers are those of host memory.
struct CheckedLaunch {
  const Arg *args;          // in the order of the manifest's arguments
  const std::int64_t *dims; // values of the manifest's dims, in their order
};

class Executor {
public:
  /// A kernel ready to run. The bundle and the manifest that it was loaded from need not outlive
  /// the call.
  class Program {
  public:
    virtual ~Program() = default;
    /// Runs it to its end. May be called by several threads, one after the other.
    virtual Expected<void> launch(const CheckedLaunch &launch) = 0;
  };

  virtual ~Executor() = default;
  /// Of the device that it stands for.
  virtual DeviceProperties properties() const = 0;
  virtual Expected<std::unique_ptr<Program>> load(const Bundle &bundle,
                                                  const Manifest &manifest) = 0;
};

} // namespace flashqla
