#include "tests/gpu/gpu_harness.h"

#include <algorithm>

namespace flashqla {

Gpu &Gpu::instance() {
  static Gpu gpu;
  return gpu;
}

const HostTensor &DeviceTensor::download() {
  must(buffer.copyTo(hostSide.bytes().data(), hostSide.bytes().size()));
  return hostSide;
}

void DeviceTensor::upload() {
  must(buffer.copyFrom(hostSide.bytes().data(), hostSide.bytes().size()));
}

bool gapsHold(const HostTensor &tensor, double value) {
  HostTensor expected = tensor;
  expected.fillStorage(value);
  expected.setValues(tensor.values());
  return std::ranges::equal(expected.bytes(), tensor.bytes());
}

} // namespace flashqla
