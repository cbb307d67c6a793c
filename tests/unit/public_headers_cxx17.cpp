// Compiled as C++17, as engines that embed the runtime are: the public headers must need no more.
#include "flashqla/bundle.h"
#include "flashqla/device.h"
#include "flashqla/environment.h"
#include "flashqla/error.h"
#include "flashqla/executor.h"
#include "flashqla/runtime.h"
#include "flashqla/tensor.h"

#if __cplusplus != 201703L
#error "this file is the test that C++17 is enough"
#endif

/// The example of the manual, as an application would write it. a: bf16[m, k], b: bf16[n, k], c:
/// bf16[m, n].
flashqla::Expected<void> multiply(const flashqla::Kernel &gemm, flashqla::StreamHandle stream,
                                  void *a, void *b, void *c, std::int64_t m, std::int64_t n,
                                  std::int64_t k) {
  using flashqla::DType;
  using flashqla::TensorRef;
  return gemm.launch(stream, {TensorRef::packed(a, DType::BF16, {m, k}),
                              TensorRef::packed(b, DType::BF16, {n, k}),
                              TensorRef::packed(c, DType::BF16, {m, n})});
}
