// The command line of `flashqlac` as a library, so that tests run it in process.
//
//     cli::Context context{Environment::read(), std::cin, std::cout, std::cerr};
//     return cli::run({"check", "kernels"}, context);
//
// cli.cpp knows the options, one file per verb does the work. Results go to `out`; messages about
// what is wrong go to `err`, as text or, with --diagnostics=json, as one JSON object per line.
#pragma once

#include "flashqla/device.h"
#include "flashqla/environment.h"

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace flashqla::cli {

/// What the process returns.
enum ExitCode : int {
  Done = 0,
  Mistakes = 1, ///< in what was given: kernels with errors, files not formatted, results off
  Usage = 2,    ///< the command line cannot be understood
  Failed = 3,   ///< something around it is missing or failed: a file, NVRTC, the driver, a GPU
};

/// What a verb needs from outside.
struct Context {
  Environment environment;
  std::istream &in;
  std::ostream &out;
  std::ostream &err;
  bool outIsTerminal = false;
  bool errIsTerminal = false;
  /// Opens the GPU to run on; tests give a recording one.
  std::function<Expected<Device>(const Environment &)> openDevice =
      [](const Environment &environment) { return Device::current(environment.libcuda); };
  bool jsonDiagnostics = false; ///< set by --diagnostics
};

/// Runs a command line without the program's name. Never throws.
int run(const std::vector<std::string> &args, Context &context);

} // namespace flashqla::cli
