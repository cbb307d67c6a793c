#include "tests/gpu/kernel_requests.h"

#include "kernels/gdn/gdn.h"
#include "tests/gpu/gdn_cases.h"

namespace flashqla::requests {

KernelRequest copy2d(const char *element) {
  return tileKernel("kernels/copy_transpose.tile", "copy_2d", {{"E", element}});
}

KernelRequest transpose2d(const char *element) {
  const bool wide = std::string(element) == "f32";
  return tileKernel("kernels/copy_transpose.tile", "transpose_2d",
                    {{"E", element}, {"PAD", wide ? "1" : "2"}});
}

KernelRequest rowSoftmax(const char *element) {
  return tileKernel("kernels/row_softmax.tile", "row_softmax", {{"E", element}});
}

KernelRequest rowSoftmaxLong(const char *element) {
  return tileKernel("kernels/row_softmax.tile", "row_softmax_long", {{"E", element}});
}

KernelRequest rmsNorm(const char *element, int columns) {
  return tileKernel("kernels/rms_norm.tile", "rms_norm", {{"E", element}}, {{"D", columns}});
}

KernelRequest gemmNt(const KernelParams &params) {
  return tileKernel("kernels/gemm_nt.tile", "gemm_nt", params);
}

KernelRequest gemm(const KernelParams &params) {
  return tileKernel("kernels/gemm.tile", "gemm", params);
}

KernelRequest gemmSiluA(const KernelParams &params) {
  return tileKernel("kernels/gemm.tile", "gemm_silu_a", params);
}

KernelRequest linearAttn(int heads, int dimV) {
  return tileKernel("kernels/linear_attn.tile", "linear_attn", {},
                    {{"H", heads}, {"DK", 128}, {"DV", dimV}});
}

std::vector<KernelRequest> all() {
  std::vector<KernelRequest> result = {
      copy2d("bf16"),
      copy2d("f32"),
      transpose2d("bf16"),
      transpose2d("f32"),
      rowSoftmax("bf16"),
      rowSoftmax("f32"),
      rowSoftmaxLong("bf16"),
      rowSoftmaxLong("f32"),
      rmsNorm("bf16", 4096),
      rmsNorm("f16", 2880),
      gemmNt(),
      gemmNt({{"BN", "256"}, {"STAGES", "3"}}),
      gemmNt({{"BN", "192"}}),
      gemm(),
      gemm({{"TA", "true"}}),
      gemm({{"TA", "true"}, {"TB", "true"}}),
      gemm({{"TB", "true"}, {"E", "f16"}}),
      gemmSiluA(),
      linearAttn(2, 128),
      linearAttn(3, 256),
  };
  for (const GdnCase &item : allGdnCases())
    for (KernelRequest &wanted : gdn::kernelRequests(item.config))
      result.push_back(std::move(wanted));
  return result;
}

} // namespace flashqla::requests
