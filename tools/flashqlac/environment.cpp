#include "compiler/codegen/nvrtc.h"
#include "runtime/cache.h"
#include "tools/flashqlac/verbs.h"

#include "llvm/Config/llvm-config.h"

#include <fmt/format.h>

#include <ostream>

namespace flashqla::cli {

namespace {

void line(Context &context, std::string_view what, std::string_view found) {
  context.out << fmt::format("{:<9} {}\n", what, found);
}

/// What failed, and below it what to do about it.
void missing(Context &context, std::string_view what, const Error &error, std::string_view remedy) {
  line(context, what, error.message);
  line(context, "", fmt::format("-> {}", remedy));
}

void describeNvrtc(Context &context) {
  const Expected<codegen::Nvrtc> nvrtc = codegen::Nvrtc::open(context.environment.libnvrtc);
  if (nvrtc)
    line(context, "NVRTC", nvrtc->version());
  else
    missing(context, "NVRTC", nvrtc.error(),
            "needed to compile kernels for a GPU: install the CUDA toolkit (12.8 or newer), or the "
            "wheel "
            "nvidia-cuda-nvrtc, and name its libnvrtc.so.13 in FLASHQLA_LIBNVRTC");
}

void describeDevice(Context &context) {
  const Expected<Device> device = context.openDevice(context.environment);
  if (!device) {
    const bool driver = device.error().code.starts_with("driver-");
    missing(context, driver ? "driver" : "GPU", device.error(),
            "`run` simulates kernels; to run them on the hardware: an NVIDIA GPU of the Hopper "
            "family and its driver; FLASHQLA_LIBCUDA names another driver library");
    return;
  }
  const DeviceProperties &gpu = device->properties();
  line(context, "driver",
       fmt::format("CUDA {}.{}", gpu.driverVersion / 1000, gpu.driverVersion % 1000 / 10));
  line(context, "GPU",
       fmt::format("{}, sm_{}{}, {} multiprocessors, {:.0f} GiB", gpu.name, gpu.major, gpu.minor,
                   gpu.multiprocessors, double(gpu.memoryBytes) / (1 << 30)));
  if (gpu.major != 9)
    line(context, "", "-> kernels are compiled for sm_90a and run on sm_90 only");
}

void describeCache(Context &context) {
  const std::string &directory = context.environment.cacheDir;
  if (directory.empty()) {
    line(context, "cache", "none");
    line(context, "", "-> every compile starts anew: set FLASHQLA_CACHE_DIR or HOME");
    return;
  }
  const std::vector<CacheEntry> entries = Cache(directory).list();
  std::uint64_t bytes = 0;
  for (const CacheEntry &entry : entries)
    bytes += entry.bytes;
  line(context, "cache",
       fmt::format("{}, {}, {:.1f} MB", directory, counted(entries.size(), "kernel"),
                   double(bytes) / 1e6));
}

} // namespace

int environmentVerb(Context &context) {
  line(context, "flashqla", FLASHQLA_VERSION);
  line(context, "LLVM", LLVM_VERSION_STRING);
  describeNvrtc(context);
  describeDevice(context);
  describeCache(context);
  context.out << "\n" << context.environment.describe();
  return Done;
}

} // namespace flashqla::cli
