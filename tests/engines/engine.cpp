#include "tests/engines/engine.h"

#include "compiler/driver/jit.h"
#include "flashqla/environment.h"
#include "kernels/bundle_directory.h"
#include "tests/emulation/emulator.h"

namespace flashqla {

namespace {

Engine simulated(std::string name, std::string between, bool lowered,
                 std::shared_ptr<KernelProvider> kernels) {
  Engine engine;
  engine.name = std::move(name);
  engine.between = std::move(between);
  engine.exact = lowered;
  engine.kernels = std::move(kernels);
  SimOptions options;
  options.lowered = lowered;
  engine.simulator = std::make_unique<SimExecutor>(options);
  engine.device.emplace(Device::on(*engine.simulator));
  return engine;
}

/// The CUDA text on the emulated machine, with copies and products as late as they can be.
Engine emulated(const std::shared_ptr<KernelProvider> &texts) {
  Engine engine;
  engine.name = "emulated text";
  engine.between = "code generation, the runtime or the emulation of PTX";
  engine.kernels =
      std::shared_ptr<KernelProvider>(new emulation::HostProvider(*texts, emulation::testFolder()),
                                      [texts](KernelProvider *provider) { delete provider; });
  emulation::launchOptions().timing = emulation::Timing::Late;
  if (emulation::hasCompiler())
    engine.device.emplace(*emulation::openDevice());
  else
    engine.whyNot = "there is no C++ compiler (c++)";
  return engine;
}

Engine gpu(std::shared_ptr<KernelProvider> kernels) {
  Engine engine;
  engine.name = "GPU";
  engine.between = "the assembler or the hardware";
  engine.kernels = std::move(kernels);
  Expected<Device> device = Device::open(0, Environment::read().libcuda);
  if (!device)
    engine.whyNot = device.error().message;
  else if (device->properties().major != 9)
    engine.whyNot = device->properties().name + " is no GPU of the Hopper family";
  else
    engine.device.emplace(std::move(*device));
  return engine;
}

} // namespace

Expected<Bundle> RememberingProvider::provide(const KernelRequest &request) {
  const std::string name = bundleFileName(request);
  if (const auto found = known.find(name); found != known.end())
    return found->second;
  Expected<Bundle> bundle = source->provide(request);
  if (bundle)
    known[name] = *bundle;
  return bundle;
}

std::vector<Engine> makeEngines(const std::string &bundles) {
  const auto provider = [&](JitProvider::Output output) -> std::shared_ptr<KernelProvider> {
    if (!bundles.empty())
      return std::make_shared<BundleDirectory>(bundles);
    return std::make_shared<RememberingProvider>(
        std::make_unique<JitProvider>(Environment::read(), output));
  };
  const std::shared_ptr<KernelProvider> texts = provider(JitProvider::Output::Text);
  std::vector<Engine> engines;
  engines.push_back(simulated("as written", "the text of the kernel, the frontend or the simulator",
                              /*lowered=*/false, texts));
  engines.push_back(simulated("as lowered", "a pass that lowers it", /*lowered=*/true, texts));
  engines.push_back(emulated(texts));
  engines.push_back(gpu(provider(JitProvider::Output::Cubin)));
  return engines;
}

} // namespace flashqla
