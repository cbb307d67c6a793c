#include "kernels/bundle_directory.h"
#include "tools/bench/bench.h"
#include "tools/bench/cublas.h"
#include "tools/bench/pool.h"

#include <fmt/format.h>

#include <optional>

namespace flashqla::bench {

namespace {

constexpr std::int64_t extent = 8192; // M = N = K
constexpr double teraFlop = 2.0 * extent * extent * extent * 1e-12;

const std::vector<KernelParams> &tilings() {
  static const std::vector<KernelParams> list = {
      {},
      {{"STAGES", "5"}},
      {{"BN", "192"}},
      {{"BN", "256"}, {"STAGES", "3"}},
      {{"BN", "256"}, {"STAGES", "3"}, {"GROUP", "16"}},
  };
  return list;
}

std::string text(const KernelParams &params) {
  std::string result;
  for (const auto &[name, value] : params)
    result += " " + name + "=" + value;
  return "gemm_nt" + (result.empty() ? " (defaults)" : result);
}

KernelRequest request(const KernelParams &params) {
  return tileKernel("kernels/gemm_nt.tile", "gemm_nt", params);
}

} // namespace

void benchGemm(const BenchContext &context) {
  constexpr std::int64_t bytes = extent * extent * 2;
  const Pool a(context.device, bytes, Fill::Normal, context.seed * 16 + 8);
  const Pool b(context.device, bytes, Fill::Normal, context.seed * 16 + 9);
  const Pool c(context.device, bytes, Fill::Zero, 0);
  auto matrix = [](const Pool &pool) {
    return TensorRef::packed(pool.at(0, bytes), DType::BF16, {extent, extent});
  };
  std::vector<Candidate> candidates;
  std::vector<Kernel> kernels; // captured by index: the vector grows
  for (const KernelParams &params : tilings()) {
    Expected<Kernel> kernel = Kernel::load(context.device, context.kernels, request(params));
    if (!kernel) {
      fmt::print("{}: {}\n", text(params), kernel.error().text());
      continue;
    }
    kernels.push_back(std::move(*kernel));
    candidates.push_back({text(params), [&, i = kernels.size() - 1](StreamHandle stream, int) {
                            return kernels[i].launch(stream, {matrix(a), matrix(b), matrix(c)});
                          }});
  }
  const Expected<Cublas> cublas = Cublas::open(context.device, context.libcublas);
  if (cublas)
    candidates.push_back(
        {fmt::format("cuBLAS {}", cublas->version()), [&](StreamHandle stream, int) {
           return cublas->gemmNt(stream, a.at(0, bytes), b.at(0, bytes), c.at(0, bytes), extent,
                                 extent, extent);
         }});
  else
    fmt::print("{}\n", cublas.error().text());

  const std::vector<Timing> times = Timer(context.device).measure(candidates, context.timing);
  fmt::print("C = A Bᵀ, bf16, M = N = K = {}, taking turns in one run\n", extent);
  fmt::print("{:<36} | {:>8} | {:>8} | {}\n", "kernel", "ms", "TFLOP/s", cublas ? "/ cuBLAS" : "");
  for (std::size_t i = 0; i < candidates.size(); ++i)
    fmt::print("{:<36} | {:8.4f} | {:8.1f} | {}\n", candidates[i].name, times[i].medianMs,
               teraFlop / times[i].medianMs * 1000,
               cublas ? fmt::format("{:.3f}", times.back().medianMs / times[i].medianMs) : "");
}

std::vector<KernelRequest> gemmBenchRequests() {
  std::vector<KernelRequest> result;
  for (const KernelParams &params : tilings())
    result.push_back(request(params));
  return result;
}

} // namespace flashqla::bench
