#include "tests/random/judge.h"

#include "tests/emulation/emulator.h"

namespace flashqla::random {
namespace {

/// Compiled by `c++` as well, into the folder in which tests keep such code.
Compiler hostCompiler() {
  return [text = compilerOf(Environment(), /*assemble=*/false),
          folder = emulation::testFolder()](const std::string &source, const frontend::Bindings &bindings) {
    Expected<Bundle> bundle = text(source, bindings);
    return bundle ? emulation::hostBundle(std::move(*bundle), folder) : bundle;
  };
}

SimOptions oneThread() {
  SimOptions options;
  options.threads = 1;
  return options;
}

} // namespace

void Judge::add(Expected<Device> device, std::string name, Compiler compiler, int launches) {
  if (!device) {
    whyNot = device.error().text();
    return;
  }
  auto kept = std::make_unique<Device>(std::move(*device));
  Launcher launcher(*kept, std::move(name), std::move(compiler), launches);
  engines.push_back({std::move(kept), std::move(launcher)});
}

Judge::Judge(const JudgeOptions &given) : options(given), simulator(oneThread()) {
  const Environment environment = Environment::read();
  if (options.assembled)
    add(Device::on(simulator), "assembled", compilerOf(environment, /*assemble=*/true));
  if (options.emulated && !emulation::hasCompiler())
    whyNot = "there is no C++ compiler (c++)";
  else if (options.emulated)
    add(emulation::openDevice(), "emulated", hostCompiler());
  if (options.gpu) // what depends on time may show in one of several launches
    add(Device::open(0, environment.libcuda), "gpu", compilerOf(environment, /*assemble=*/true), /*launches=*/3);
}

Verdict Judge::operator()(const Program &program) {
  const Simulated simulated = simulate(program, options.protocol);
  if (!simulated.verdict.good())
    return simulated.verdict;
  emulation::launchOptions() = {.timing = emulation::Timing::Late, .seed = program.seed, .stepLimit = 50'000'000};
  for (Engine &engine : engines) {
    const Verdict verdict = engine.launcher.run(program, simulated);
    broken |= options.gpu && !engine.launcher.usable();
    if (!verdict.good())
      return verdict;
  }
  return {};
}

std::string layerOf(const Verdict &verdict) {
  const std::string engine = verdict.name.substr(0, verdict.name.find(':'));
  if (engine == "surface-lowered")
    return "a pass that lowers it, or the simulator";
  if (engine == "assembled")
    return "the emitted text, or NVRTC";
  if (engine == "emulated")
    return "code generation, the runtime, or the emulation of PTX";
  if (engine == "gpu")
    return "what the emulation agrees with as well (--emulated): the assembler, the hardware; else code generation";
  return "a check that refuses what is right, or the generator";
}

} // namespace flashqla::random
