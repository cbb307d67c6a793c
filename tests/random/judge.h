// Who is asked about a program. Each is compared with the one before it, so that a difference names what lies between.
//
//     Judge judge({.emulated = true});
//     Verdict verdict = judge(generate(7));
//     if (!verdict.good())
//       layerOf(verdict);              // "a pass that lowers it, or the simulator"
//
// Always: the compiler, which must accept the program, and the simulator with both forms. Then, where asked for, the
// emitted text on the emulated machine, or a GPU.
#pragma once

#include "compiler/driver/sim_executor.h"
#include "tests/random/launched.h"

#include <memory>

namespace flashqla::random {

struct JudgeOptions {
  bool protocol = false;  ///< all that `flashqlac check` does, more shapes among it
  bool assembled = false; ///< NVRTC must take the text
  bool emulated = false;  ///< the text compiled by the host's compiler
  bool gpu = false;
};

class Judge {
public:
  explicit Judge(const JudgeOptions &options);

  /// Why nothing can be asked: no GPU, no C++ compiler. Empty when all is there.
  const std::string &missing() const { return whyNot; }
  Verdict operator()(const Program &program);
  /// False when a launch has failed in a way after which its device is of no use.
  bool usable() const { return !broken; }

private:
  void add(Expected<Device> device, std::string name, Compiler compiler, int launches = 1);

  struct Engine {
    std::unique_ptr<Device> device; ///< behind a pointer: the launcher refers to it
    Launcher launcher;
  };

  JudgeOptions options;
  SimExecutor simulator;
  std::vector<Engine> engines;
  std::string whyNot;
  bool broken = false;
};

/// Where to look for the mistake.
std::string layerOf(const Verdict &verdict);

} // namespace flashqla::random
