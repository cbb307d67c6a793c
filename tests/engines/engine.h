// What can run a kernel, in an order in which one layer lies between two neighbours:
//
//     the recurrence or formula in f64
//       | the text of the kernel, the frontend, the simulator
//     simulator, as written
//       | the passes that lower
//     simulator, as lowered
//       | code generation, the runtime, the emulation of PTX
//     emulated text
//       | the assembler, the hardware, PTX that is not as it is emulated
//     GPU
//
// Where two neighbours differ, the mistake is in what lies between them.
#pragma once

#include "compiler/driver/sim_executor.h"
#include "flashqla/bundle.h"
#include "flashqla/runtime.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flashqla {

/// Bundles of another provider, each asked for once.
class RememberingProvider final : public KernelProvider {
public:
  explicit RememberingProvider(std::unique_ptr<KernelProvider> source)
      : source(std::move(source)) {}
  Expected<Bundle> provide(const KernelRequest &request) override;

private:
  std::unique_ptr<KernelProvider> source;
  std::map<std::string, Bundle> known;
};

struct Engine {
  std::string name;
  std::string between; // it and its neighbour above
  bool exact = false;  // its results are those of its neighbour, bit for bit
  std::string whyNot;  // the reason when there is no device
  std::shared_ptr<KernelProvider> kernels;
  std::unique_ptr<SimExecutor> simulator;
  std::optional<Device> device; // on the simulator
};

/// All of them, those that are missing here included. With `bundles` kernels come from that
/// directory and are not compiled.
std::vector<Engine> makeEngines(const std::string &bundles);

} // namespace flashqla
