#include "tests/emulation/hand_kernel.h"

#include "runtime/manifest.h"
#include "tests/emulation/emulator.h"
#include "tests/gpu/gpu_harness.h"

#include <bit>

namespace flashqla::emulation {

namespace {

Manifest manifestOf(const HandKernel::Shape &shape) {
  Manifest manifest;
  manifest.kernel = manifest.entry = "hand";
  manifest.file = "hand.tile";
  manifest.arch = "sm_90a";
  manifest.dims = {{"M", {}}, {"N", {}}};
  manifest.arguments = {{"data",
                         Access::InOut,
                         DType::I32,
                         {*DimExpr::parse("M"), *DimExpr::parse("N")},
                         Layout::Packed,
                         16},
                        {"which", Access::Scalar, DType::I32, {}, Layout::Packed, 0}};
  TensorMapRecipe recipe;
  recipe.element = DType::I32;
  recipe.dimensions = {{1, 1, 0, 32}, {0, 1, 0, 8}};
  manifest.tensorMaps = {recipe};
  manifest.cudaParams = {{CudaParam::Kind::TensorMap, 0, 0},
                         {CudaParam::Kind::Pointer, 0, 0},
                         {CudaParam::Kind::Scalar, 1, 0}};
  manifest.blockThreads = shape.threads;
  manifest.dynamicSharedBytes = shape.sharedBytes;
  return manifest;
}

} // namespace

HandKernel::HandKernel(const std::string &body, Shape shape) : device(must(openDevice())) {
  Bundle bundle;
  bundle.manifest = writeManifest(manifestOf(shape));
  bundle.cuda =
      std::string(codegen::prelude()) + shape.instructions.text() +
      "extern \"C\" __global__ void hand(const __grid_constant__ TensorMap map0, u32 *data,\n"
      "                                const int which) {\n"
      "  extern __shared__ __align__(1024) u8 shared_memory[];\n"
      "  const u32 shared = shared_address(shared_memory);\n"
      "  const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;\n" +
      body + "\n}\n";
  kernel = must(Kernel::load(*device, must(hostBundle(std::move(bundle), testFolder()))));
  buffer = must(DeviceBuffer::allocate(*device, 4 * data.size()));
}

std::string HandKernel::run(int which, const Options &options) {
  launchOptions() = options;
  must(buffer->copyFrom(data.data(), 4 * data.size()));
  const Expected<void> done = kernel->launch(
      nullptr, {TensorRef::packed(buffer->data(), DType::I32, {rows, columns}), which});
  must(buffer->copyTo(data.data(), 4 * data.size()));
  return done ? "" : done.error().text();
}

float HandKernel::number(std::size_t index) const { return std::bit_cast<float>(data[index]); }
void HandKernel::setNumber(std::size_t index, float x) {
  data[index] = std::bit_cast<std::uint32_t>(x);
}

} // namespace flashqla::emulation
