// A random program on a device: a GPU, or what emulates one.
//
//     Launcher launcher(device, [](const Program &program, const frontend::Bindings &bindings) { return bundle; });
//     Verdict verdict = launcher.run(program, simulated);     // compared with what the simulator computed
#pragma once

#include "flashqla/bundle.h"
#include "flashqla/environment.h"
#include "flashqla/runtime.h"
#include "tests/random/simulated.h"

#include <functional>

namespace flashqla::random {

/// One instance of a program compiled. Errors: those of the compiler, diagnostics among the notes.
using Compiler = std::function<Expected<Bundle>(const std::string &text, const frontend::Bindings &bindings)>;

/// By flashqlac; with NVRTC where `assemble`.
Compiler compilerOf(const Environment &environment, bool assemble);

class Launcher {
public:
  /// Each case is launched so many times.
  Launcher(const Device &device, std::string name, Compiler compiler, int launches = 1)
      : device(device), name(std::move(name)), compiler(std::move(compiler)), launches(launches) {}

  Verdict run(const Program &program, const Simulated &simulated);
  /// False when a launch has failed: a GPU's context is of no use afterwards.
  bool usable() const { return !broken; }

private:
  Verdict runCase(const Kernel &kernel, const Program &program, const CaseRun &test);

  const Device &device;
  std::string name;
  Compiler compiler;
  int launches;
  bool broken = false;
};

} // namespace flashqla::random
