// example_jit: compiles a kernel from a string and the GDN forward while it runs.
#include "compiler/driver/jit.h"
#include "flashqla/environment.h"
#include "kernels/examples/forward.h"

using namespace flashqla;

int main() {
  const Environment environment = Environment::read();
  const Expected<Device> device = Device::current(environment.libcuda);
  if (!device)
    return example::report(device.error());
  JitProvider compiler(environment);
  if (const Expected<void> done = example::runScale(*device, compiler); !done)
    return example::report(done);
  return example::report(example::runForward(*device, compiler));
}
