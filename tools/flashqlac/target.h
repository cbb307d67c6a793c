// What `run` runs on: a GPU, or the simulator in its place.
#pragma once

#include "compiler/driver/jit.h"
#include "compiler/driver/sim_executor.h"
#include "tools/flashqlac/verbs.h"

#include <memory>
#include <string>

namespace flashqla::cli {

/// The GPU. Errors: those of opening it; kernel-arch for one of another family.
Expected<Device> openGpu(Context &context);

class Target {
public:
  /// By the value of --device: `auto` is the GPU where there is one that can run kernels, and the
  /// simulator elsewhere. Errors: usage; those of opening a GPU, with a note that says what to do.
  static Expected<Target> open(Context &context, const DeviceOptions &options);

  const Device &device() const { return *opened; }
  bool isSimulator() const { return simulator != nullptr; }
  /// What kernels are compiled to.
  JitProvider::Output output() const {
    return isSimulator() ? JitProvider::Output::Text : JitProvider::Output::Cubin;
  }
  /// Threads of the simulator.
  unsigned threads() const { return simulator->threads(); }

  /// Before the first launch: says why it is the simulator, where nobody asked for it.
  void announce(Context &context) const;
  /// Reports what a launch came to, findings of the simulator at their places in the text.
  int fail(Context &context, const Error &error) const;

private:
  Target() = default;

  std::unique_ptr<SimExecutor> simulator; // before the device on it
  std::unique_ptr<Device> opened;
  std::string whyNoGpu;
};

} // namespace flashqla::cli
