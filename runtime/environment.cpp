#include "flashqla/environment.h"

#include <cstdlib>
#include <fmt/format.h>

namespace flashqla {

namespace {

std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

bool flag(const char *name) {
  const std::string value = variable(name);
  return !value.empty() && value != "0";
}

/// $FLASHQLA_CACHE_DIR, else where the XDG base directory specification puts caches.
std::string cacheDirectory() {
  if (std::string own = variable("FLASHQLA_CACHE_DIR"); !own.empty())
    return own;
  if (const std::string xdg = variable("XDG_CACHE_HOME"); !xdg.empty())
    return xdg + "/flashqla";
  if (const std::string home = variable("HOME"); !home.empty())
    return home + "/.cache/flashqla";
  return "";
}

} // namespace

Environment Environment::read() {
  Environment environment;
  environment.cacheDir = cacheDirectory();
  environment.trace = variable("FLASHQLA_TRACE");
  environment.alwaysCompile = flag("FLASHQLA_ALWAYS_COMPILE");
  environment.spillsAreErrors = flag("FLASHQLA_PTXAS_CHECK");
  environment.libcuda = variable("FLASHQLA_LIBCUDA");
  environment.libnvrtc = variable("FLASHQLA_LIBNVRTC");
  return environment;
}

std::string Environment::describe() const {
  std::string text;
  const auto line = [&](const char *name, const std::string &value, const char *meaning) {
    text += fmt::format("{:<24} = {:<32} # {}\n", name, value, meaning);
  };
  line("FLASHQLA_CACHE_DIR", cacheDir, "compiled kernels; empty: no cache");
  line("FLASHQLA_TRACE", trace, "directory of numbered dumps of every compile");
  line("FLASHQLA_ALWAYS_COMPILE", alwaysCompile ? "1" : "0", "do not load from the cache");
  line("FLASHQLA_PTXAS_CHECK", spillsAreErrors ? "1" : "0", "register spills are errors");
  line("FLASHQLA_LIBCUDA", libcuda, "driver library, if not libcuda.so.1");
  line("FLASHQLA_LIBNVRTC", libnvrtc, "NVRTC library, if not the default one");
  return text;
}

} // namespace flashqla
