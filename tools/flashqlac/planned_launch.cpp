#include "tools/flashqlac/planned_launch.h"

namespace flashqla::cli {

Expected<PlannedLaunch> PlannedLaunch::upload(const Device &device, LaunchPlan &plan) {
  PlannedLaunch made(device, plan);
  for (PlannedArgument &argument : plan.arguments) {
    if (argument.access == Access::Scalar) {
      made.args.push_back(argument.scalar);
      continue;
    }
    NamedTensor &tensor = argument.tensor;
    Expected<DeviceBuffer> buffer =
        DeviceBuffer::upload(device, tensor.data.data(), tensor.data.size());
    if (!buffer)
      return buffer.error();
    TensorRef ref = tensor.ref();
    ref.data = buffer->data();
    made.args.emplace_back(ref);
    made.buffers.push_back(std::move(*buffer));
  }
  return made;
}

Expected<void> PlannedLaunch::start(const Kernel &kernel) const {
  LaunchOptions options;
  options.dims = plan->dims.data();
  options.dimCount = plan->dims.size();
  return kernel.launch(nullptr, args.data(), args.size(), options);
}

Expected<void> PlannedLaunch::run(const Kernel &kernel) const {
  if (auto done = start(kernel); !done)
    return done;
  if (auto done = device->synchronize(); !done)
    return done;
  return kernel.takeFailedAssert();
}

Expected<void> PlannedLaunch::download() const {
  std::size_t next = 0;
  for (PlannedArgument &argument : plan->arguments) {
    if (argument.access == Access::Scalar)
      continue;
    const DeviceBuffer &buffer = buffers[next++];
    NamedTensor &tensor = argument.tensor;
    if (argument.access != Access::In)
      if (auto done = buffer.copyTo(tensor.data.data(), tensor.data.size()); !done)
        return done;
  }
  return {};
}

} // namespace flashqla::cli
