// example_jit [--device sim]: compiles a kernel from a string and the GDN forward while it runs, on
// the GPU or in the simulator.
#include "compiler/driver/jit.h"
#include "compiler/driver/sim_executor.h"
#include "flashqla/environment.h"
#include "kernels/examples/forward.h"

#include <string_view>

using namespace flashqla;

namespace {

int run(const Device &device, JitProvider compiler) {
  if (const Expected<void> done = example::runScale(device, compiler); !done)
    return example::report(done);
  return example::report(example::runForward(device, compiler));
}

} // namespace

int main(int argc, char **argv) {
  const Environment environment = Environment::read();
  if (argc == 3 && std::string_view(argv[1]) == "--device" && std::string_view(argv[2]) == "sim") {
    SimExecutor simulator;
    return run(Device::on(simulator), JitProvider(environment, JitProvider::Output::Text));
  }
  const Expected<Device> device = Device::current(environment.libcuda);
  if (!device)
    return example::report(device.error());
  return run(*device, JitProvider(environment));
}
