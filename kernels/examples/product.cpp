// example_product: C = A · Bᵀ from an application. The kernel is compiled when the program starts,
// for the GPU or, where there is none, for the simulator. Runs in the root of the repository.
#include "compiler/driver/jit.h"
#include "compiler/driver/sim_executor.h"
#include "flashqla/environment.h"
#include "flashqla/runtime.h"

#include <cstdint>
#include <cstdio>
#include <vector>

using namespace flashqla;

/// A of ones and B of twos, so that every element of C is 2 K.
Expected<void> product(const Device &device, KernelProvider &compiler) {
  constexpr std::int64_t m = 300, n = 200, k = 64;
  const std::vector<std::uint16_t> ones(m * k, 0x3f80), twos(n * k, 0x4000); // bf16
  std::vector<std::uint16_t> result(m * n);

  KernelRequest request;
  request.file = "kernels/gemm_nt.tile";
  request.kernel = "gemm_nt";
  request.params = {{"BN", "256"}, {"STAGES", "3"}};
  const Expected<Kernel> gemm =
      Kernel::load(device, compiler, request); // once; it outlives its launches
  if (!gemm)
    return gemm.error();

  const Expected<DeviceBuffer> a = DeviceBuffer::upload(device, ones.data(), 2 * ones.size());
  const Expected<DeviceBuffer> b = DeviceBuffer::upload(device, twos.data(), 2 * twos.size());
  const Expected<DeviceBuffer> c = DeviceBuffer::allocate(device, 2 * result.size());
  if (!a || !b || !c)
    return (!a ? a : !b ? b : c).error();

  const StreamHandle stream = nullptr; // the default one; a cudaStream_t is one, too
  const Expected<void> launched =
      gemm->launch(stream, {TensorRef::packed(a->data(), DType::BF16, {m, k}),
                            TensorRef::packed(b->data(), DType::BF16, {n, k}),
                            TensorRef::packed(c->data(), DType::BF16, {m, n})});
  if (!launched)
    return launched;
  if (const Expected<void> done = c->copyTo(result.data(), 2 * result.size()); !done)
    return done;
  for (const std::uint16_t element : result)
    if (element != 0x4300) // 128
      return Error{"product-off", "C is not 2 K everywhere", {}};
  std::printf("C is 2 K everywhere, on %s\n", device.properties().name.c_str());
  return {};
}

int main() {
  const Environment environment = Environment::read();
  SimExecutor simulator;
  Expected<Device> gpu = Device::current(environment.libcuda);
  const bool found = static_cast<bool>(gpu);
  const Device device = found ? std::move(*gpu) : Device::on(simulator);
  JitProvider compiler(environment,
                       found ? JitProvider::Output::Cubin : JitProvider::Output::Text); // no NVRTC
  const Expected<void> done = product(device, compiler);
  if (!done)
    std::fprintf(stderr, "%s\n", done.error().text().c_str());
  return done ? 0 : 1;
}
