// example_aot DIR: the GDN forward without a compiler. DIR is filled ahead of time by
//
//     tools/compile_bundles.sh FLASHQLAC DIR example_aot
#include "flashqla/environment.h"
#include "kernels/bundle_directory.h"
#include "kernels/examples/forward.h"

#include <cstdio>
#include <string>

using namespace flashqla;

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s DIR | --list-bundles\n", argv[0]);
    return 2;
  }
  const std::string argument = argv[1];
  if (argument == "--list-bundles") {
    std::fputs(bundleList(gdn::kernelRequests(example::forwardConfig())).c_str(), stdout);
    return 0;
  }
  const Expected<Device> device = Device::current(Environment::read().libcuda);
  if (!device)
    return example::report(device.error());
  BundleDirectory bundles(argument);
  return example::report(example::runForward(*device, bundles));
}
