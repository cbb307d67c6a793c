// cuBLAS, loaded at run time: the measure for gemm_nt.
#pragma once

#include "flashqla/device.h"

#include <cstdint>
#include <memory>
#include <string>

namespace flashqla::bench {

class Cublas {
public:
  /// Loads the named library, or libcublas.so.13, .12, .11 where the loader finds them. Error:
  /// cublas-missing, cublas-call.
  static Expected<Cublas> open(const Device &device, const std::string &library);
  Cublas(Cublas &&) noexcept;
  ~Cublas();

  int version() const;
  /// C = A · Bᵀ, bf16, f32 accumulation. a: [m, k], b: [n, k], c: [m, n], row-major. Error:
  /// cublas-call.
  Expected<void> gemmNt(StreamHandle stream, const void *a, const void *b, void *c, std::int64_t m,
                        std::int64_t n, std::int64_t k) const;

private:
  struct Library;
  explicit Cublas(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library;
};

} // namespace flashqla::bench
