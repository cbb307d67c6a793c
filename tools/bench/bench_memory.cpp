#include "kernels/bundle_directory.h"
#include "tools/bench/bench.h"
#include "tools/bench/pool.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace flashqla::bench {

namespace {

constexpr std::int64_t poolBytes = std::int64_t{1} << 29;

/// A device copy by the driver, which the memory-bound kernels are measured against.
class DriverCopy {
public:
  DriverCopy() {
    if (void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL))
      copy = reinterpret_cast<CopyFunction *>(dlsym(library, "cuMemcpyDtoDAsync_v2"));
  }
  Expected<void> operator()(StreamHandle stream, void *to, const void *from,
                            std::int64_t bytes) const {
    const int status =
        copy ? copy(reinterpret_cast<std::uintptr_t>(to), reinterpret_cast<std::uintptr_t>(from),
                    static_cast<std::size_t>(bytes), stream)
             : -1;
    if (status == 0)
      return {};
    return Error{"driver-call", fmt::format("cuMemcpyDtoDAsync failed with status {}", status), {}};
  }

private:
  using CopyFunction = int(std::uintptr_t, std::uintptr_t, std::size_t, StreamHandle);
  CopyFunction *copy = nullptr;
};

struct MemoryCase {
  const char *name;
  KernelRequest request;
  std::int64_t rows, columns;
  double matricesMoved; // reads and writes of rows × columns elements
};

std::vector<MemoryCase> cases() {
  const char *copy = "kernels/copy_transpose.tile", *softmax = "kernels/row_softmax.tile";
  return {
      {"copy_2d bf16", tileKernel(copy, "copy_2d", {{"E", "bf16"}}), 16384, 16384, 2},
      {"transpose_2d bf16", tileKernel(copy, "transpose_2d", {{"E", "bf16"}, {"PAD", "2"}}), 16384,
       16384, 2},
      {"row_softmax bf16", tileKernel(softmax, "row_softmax", {{"E", "bf16"}}), 262144, 1024, 2},
      {"row_softmax_long bf16", tileKernel(softmax, "row_softmax_long", {{"E", "bf16"}}), 16384,
       16384, 2},
      {"rms_norm bf16",
       tileKernel("kernels/rms_norm.tile", "rms_norm", {{"E", "bf16"}}, {{"D", 4096}}), 65536, 4096,
       4},
  };
}

std::vector<Arg> arguments(const MemoryCase &item, const std::vector<TensorRef> &matrices) {
  const std::string &kernel = item.request.kernel;
  const TensorRef &x = matrices[0], &y = matrices[1];
  if (kernel == "rms_norm") {
    const TensorRef weight = TensorRef::packed(x.data, DType::BF16, {item.columns});
    return {x, matrices[2], weight, y, 1e-5f};
  }
  if (kernel == "transpose_2d")
    return {x, TensorRef::packed(y.data, DType::BF16, {item.columns, item.rows})};
  if (kernel == "copy_2d")
    return {x, y};
  return {x, y, 1.0f};
}

} // namespace

void benchMemory(const BenchContext &context) {
  const Pool x(context.device, poolBytes, Fill::Normal, context.seed * 16 + 10);
  const Pool residual(context.device, poolBytes, Fill::Normal, context.seed * 16 + 11);
  const Pool y(context.device, poolBytes, Fill::Zero, 0);
  const DriverCopy driverCopy;
  std::vector<Candidate> candidates = {{"device copy", [&](StreamHandle stream, int) {
                                          return driverCopy(stream, y.at(0, poolBytes),
                                                            x.at(0, poolBytes), poolBytes);
                                        }}};
  std::vector<double> bytes = {2.0 * poolBytes};
  std::vector<Kernel> kernels;
  for (const MemoryCase &item : cases()) {
    Expected<Kernel> kernel = Kernel::load(context.device, context.kernels, item.request);
    if (!kernel) {
      fmt::print("{}: {}\n", item.name, kernel.error().text());
      continue;
    }
    kernels.push_back(std::move(*kernel));
    std::vector<TensorRef> matrices;
    for (const Pool *pool : {&x, &y, &residual})
      matrices.push_back(
          TensorRef::packed(pool->at(0, poolBytes), DType::BF16, {item.rows, item.columns}));
    candidates.push_back({item.name, [&, i = kernels.size() - 1,
                                      args = arguments(item, matrices)](StreamHandle stream, int) {
                            return kernels[i].launch(stream, args.data(), args.size());
                          }});
    bytes.push_back(item.matricesMoved * 2 * static_cast<double>(item.rows * item.columns));
  }
  const std::vector<Timing> times = Timer(context.device).measure(candidates, context.timing);
  fmt::print("memory-bound kernels, taking turns in one run\n");
  fmt::print("{:<24} | {:>8} | {:>7} | {:>6}\n", "kernel", "ms", "GB/s", "/ copy");
  const double copyRate = bytes[0] / times[0].medianMs;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const double rate = bytes[i] / times[i].medianMs;
    fmt::print("{:<24} | {:8.4f} | {:7.0f} | {:6.3f}\n", candidates[i].name, times[i].medianMs,
               rate * 1e-6, rate / copyRate);
  }
}

std::vector<KernelRequest> memoryBenchRequests() {
  std::vector<KernelRequest> result;
  for (MemoryCase &item : cases())
    result.push_back(std::move(item.request));
  return result;
}

} // namespace flashqla::bench
