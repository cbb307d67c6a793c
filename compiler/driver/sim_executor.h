/// The simulator behind the runtime's interface: kernels run where there is no GPU, and every launch is checked for races
/// and deadlocks at its own shapes.
///
///     SimExecutor simulator;
///     Device device = Device::on(simulator);
///     JitProvider compiler(environment, JitProvider::Output::Text);
///     Expected<gdn::Forward> forward = gdn::Forward::create(device, compiler, config);
///
/// A bundle has its kernel's text: any bundle can be run, with a cubin or without.
#pragma once

#include "compiler/support/diagnostics.h"
#include "compiler/support/source.h"
#include "flashqla/executor.h"

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace flashqla {

struct SimOptions {
  bool lowered = true;  ///< run what the hardware gets; otherwise what was written
  bool values = true;   ///< otherwise the protocol alone is followed, and tensors stay as they are
  unsigned threads = 0; ///< that share the CTAs of a launch; 0: one for each core
  /// Called now and then during a launch, from any thread: the kernel, CTAs done, CTAs in all.
  std::function<void(const std::string &, int64_t, int64_t)> progress;
};

class SimExecutor final : public Executor {
public:
  explicit SimExecutor(SimOptions options = {});
  ~SimExecutor() override;

  /// Those of an H200, under the name "the simulator".
  DeviceProperties properties() const override;
  /// Errors: sim-load, whose notes are the diagnostics as text.
  /// Errors of a launch: sim-findings, whose notes are the diagnostics as text, when the kernel has ended and what it
  /// wrote is written; sim-launch; those of dimension expressions.
  Expected<std::unique_ptr<Program>> load(const Bundle &bundle, const Manifest &manifest) override;

  /// All findings so far. Not to be called during a launch.
  const Diagnostics &diagnostics() const { return found; }
  unsigned threads() const { return options.threads; }

private:
  class LoadedKernel;

  SimOptions options;
  std::mutex mutex; ///< over what follows
  std::vector<std::unique_ptr<SourceFile>> files;
  Diagnostics found;
};

} // namespace flashqla
