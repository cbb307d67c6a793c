// Kernels of plain CUDA text on the GPU: cubins that compile_cuda.cpp put beside the bundles.
//
//     const RawModule litmus("litmus_barriers");
//     litmus.launch("fresh_parity", {.blocks = 1, .threads = 32, .shared = 1024}, out.pointer());
//
// `launch` waits for the kernel. Parameters are passed with the types that they have here, which
// must be those of the kernel.
#pragma once

#include "tests/gpu/gpu_harness.h"

#include <cuda.h>
#include <span>
#include <string>
#include <vector>

namespace flashqla {

struct LaunchShape {
  unsigned blocks = 1, threads = 32, shared = 0; // bytes of dynamic shared memory
};

/// Device memory for `count` elements, zero at first.
template <class T> class DeviceArray {
public:
  explicit DeviceArray(std::size_t count)
      : count(count),
        buffer(must(DeviceBuffer::allocate(*Gpu::instance().device, count * sizeof(T)))) {
    must(buffer.fill(0));
  }
  explicit DeviceArray(std::span<const T> values)
      : count(values.size()), buffer(must(DeviceBuffer::upload(
                                  *Gpu::instance().device, values.data(), values.size_bytes()))) {}

  T *pointer() const { return static_cast<T *>(buffer.data()); }
  std::vector<T> download() const {
    std::vector<T> values(count);
    must(buffer.copyTo(values.data(), count * sizeof(T)));
    return values;
  }
  void fill(std::uint8_t byte) const { must(buffer.fill(byte)); }

private:
  std::size_t count;
  DeviceBuffer buffer;
};

class RawModule {
public:
  /// NAME.cubin in the folder of bundles. Throws where it is missing.
  explicit RawModule(const std::string &name);
  ~RawModule();
  RawModule(const RawModule &) = delete;
  RawModule &operator=(const RawModule &) = delete;

  template <class... Args>
  void launch(const std::string &entry, LaunchShape shape, const Args &...args) const {
    const void *parameters[] = {&args..., nullptr};
    launchWith(entry, shape, const_cast<void **>(parameters));
  }

private:
  void launchWith(const std::string &entry, LaunchShape shape, void **parameters) const;
  CUmodule module = nullptr;
};

/// A tensor map as cuTensorMapEncodeTiled makes it; innermost dimension first, strides in bytes of
/// all dimensions but the innermost.
struct MapShape {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  std::vector<std::uint64_t> extents, strides;
  std::vector<std::uint32_t> box;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
};
CUtensorMap encodeMap(void *memory, const MapShape &shape);

/// The text of a file beside the bundles. Throws where it is missing.
std::string bundleFile(const std::string &name);

} // namespace flashqla
