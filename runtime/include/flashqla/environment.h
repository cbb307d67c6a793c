// The environment variables of the project, read once in `main` and passed down.
//
//     int main() {
//       const Environment environment = Environment::read();
//       Expected<Device> device = Device::current(environment.libcuda);
#pragma once

#include <string>

namespace flashqla {

struct Environment {
  std::string cacheDir; // FLASHQLA_CACHE_DIR, else $XDG_CACHE_HOME/flashqla, else
                        // ~/.cache/flashqla; empty when none is set: no cache
  std::string trace;            // FLASHQLA_TRACE: directory of numbered dumps; empty: none
  bool alwaysCompile = false;   // FLASHQLA_ALWAYS_COMPILE: do not load from the cache
  bool spillsAreErrors = false; // FLASHQLA_PTXAS_CHECK
  std::string libcuda;          // FLASHQLA_LIBCUDA: another driver library
  std::string libnvrtc;         // FLASHQLA_LIBNVRTC: another NVRTC library

  /// Reads the variables above. A flag is set unless it is missing, empty or "0".
  static Environment read();

  /// One line "NAME = value   # what it does" per variable.
  std::string describe() const;
};

} // namespace flashqla
