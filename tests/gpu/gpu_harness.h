// What the tests on the GPU share: the device, the directory of bundles, tensors that live on both
// sides.
//
//     class MyTest : public GpuTest {};              // skips without a GPU
//     TEST_F(MyTest, CopiesTails) {
//       DeviceTensor x(device(), std::move(host));
//       Kernel copy = kernel(request);
//       must(copy.launch(nullptr, {x.ref(), y.ref()}));
//       EXPECT_EQ(y.download().values(), x.host().values());
//     }
#pragma once

#include "flashqla/runtime.h"
#include "kernels/host_tensor.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace flashqla {

/// The value, or an exception with the error's text, which fails the test.
template <class T> T must(Expected<T> result) {
  if (!result)
    throw std::runtime_error(result.error().text());
  if constexpr (!std::is_void_v<T>)
    return std::move(*result);
}

/// Set up once for all tests, by `main`.
struct Gpu {
  std::optional<Device> device;
  std::string whyNot;                      // the reason when there is no device
  std::unique_ptr<KernelProvider> kernels; // where they come from
  std::string bundles;                     // the folder of CUDA modules and golden files

  static Gpu &instance();
};

class GpuTest : public testing::Test {
protected:
  void SetUp() override {
    if (!Gpu::instance().device)
      GTEST_SKIP() << "no GPU: " << Gpu::instance().whyNot;
  }
  static const Device &device() { return *Gpu::instance().device; }
  static Kernel kernel(const KernelRequest &request) {
    return must(Kernel::load(device(), *Gpu::instance().kernels, request));
  }
};

/// A tensor in host memory and a copy of its storage on the device.
class DeviceTensor {
public:
  DeviceTensor(const Device &device, HostTensor tensor)
      : hostSide(std::move(tensor)),
        buffer(
            must(DeviceBuffer::upload(device, hostSide.bytes().data(), hostSide.bytes().size()))) {}
  /// With every element and gap set to `value`, which a kernel has to overwrite or to leave.
  DeviceTensor(const Device &device, HostTensor tensor, double value)
      : DeviceTensor(device, filled(std::move(tensor), value)) {}

  const HostTensor &host() const { return hostSide; }
  TensorRef ref() const { return hostSide.ref(buffer.data()); }
  /// The host side after a copy from the device.
  const HostTensor &download();
  void upload();

private:
  static HostTensor filled(HostTensor tensor, double value) {
    tensor.fillStorage(value);
    return tensor;
  }
  HostTensor hostSide;
  DeviceBuffer buffer;
};

/// Whether the gaps of a tensor that was filled with `value` still hold it.
bool gapsHold(const HostTensor &tensor, double value);

} // namespace flashqla
