// gpu_tests [--bundles DIR] [--list-bundles] [--gtest_…]
//
// DIR holds the compiled kernels (also FLASHQLA_BUNDLES; default: bundles). `--list-bundles` prints
// a line per kernel, the file name and the arguments of `flashqlac compile` separated by a tab, and
// needs no GPU.
#include "flashqla/environment.h"
#include "kernels/bundle_directory.h"
#include "tests/gpu/gpu_harness.h"
#include "tests/gpu/kernel_requests.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

using namespace flashqla;

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  Gpu &gpu = Gpu::instance();
  const char *const variable = std::getenv("FLASHQLA_BUNDLES");
  gpu.bundles = variable ? variable : "bundles";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--list-bundles") {
      std::fputs(bundleList(requests::all()).c_str(), stdout);
      return 0;
    }
    if (argument == "--bundles" && i + 1 < argc) {
      gpu.bundles = argv[++i];
    } else {
      std::fprintf(stderr, "usage: gpu_tests [--bundles DIR] [--list-bundles] [--gtest_...]\n");
      return 2;
    }
  }
  gpu.kernels = std::make_unique<BundleDirectory>(gpu.bundles);
  Expected<Device> device = Device::open(0, Environment::read().libcuda);
  if (device)
    gpu.device = std::move(*device);
  else
    gpu.whyNot = device.error().text();
  const int status = RUN_ALL_TESTS();
  if (!gpu.device)
    std::printf("%d tests skipped, no GPU: %s\n",
                testing::UnitTest::GetInstance()->skipped_test_count(), gpu.whyNot.c_str());
  gpu.device.reset();
  return status;
}
