// The kernels other than GDN on the GPU against their f64 references, tails included.
#include "kernels/reference.h"
#include "tests/gpu/gpu_harness.h"
#include "tests/gpu/kernel_requests.h"

#include <cmath>

using namespace flashqla;

namespace {

/// What no kernel may leave in an output or write into a gap.
constexpr double sentinel = -77;

/// Rounding of a sum in f32 to the element type: half an ulp at random is 0.29 ulp rms.
double roundingTolerance(DType dtype) {
  switch (dtype) {
  case DType::BF16:
    return 4e-3;
  case DType::F16:
    return 1e-3;
  default:
    return 1e-5;
  }
}

HostTensor normal(DType dtype, std::vector<std::int64_t> sizes, std::uint64_t seed) {
  HostTensor tensor(dtype, std::move(sizes));
  fillNormal(tensor, seed);
  return tensor;
}

/// [rows, columns] whose rows begin at multiples of 16 bytes with at least one gap element.
HostTensor gapped(DType dtype, std::int64_t rows, std::int64_t columns) {
  const std::int64_t step = 16 / dtypeBytes(dtype);
  const std::int64_t pitch = (columns / step + 1) * step;
  return HostTensor::strided(dtype, {rows, columns}, {pitch, 1}, rows * pitch);
}

HostTensor gappedNormal(DType dtype, std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  HostTensor tensor = gapped(dtype, rows, columns);
  tensor.fillStorage(NAN);
  fillNormal(tensor, seed);
  return tensor;
}

struct MatrixSize {
  std::int64_t rows, columns;
};
constexpr MatrixSize matrixSizes[] = {{1, 1}, {3, 5}, {32, 256}, {35, 300}, {64, 64}, {130, 1001}};

} // namespace

class KernelsTest : public GpuTest {};

TEST_F(KernelsTest, Copy2d) {
  for (const char *element : {"bf16", "f32"}) {
    const Kernel copy = kernel(requests::copy2d(element));
    const DType dtype = *dtypeFromName(element);
    for (const auto [rows, columns] : matrixSizes) {
      DeviceTensor x(gappedNormal(dtype, rows, columns, 1));
      DeviceTensor y(gapped(dtype, rows, columns), sentinel);
      must(copy.launch(nullptr, {x.ref(), y.ref()}));
      EXPECT_EQ(y.download().values(), x.host().values()) << rows << " x " << columns;
      EXPECT_TRUE(gapsHold(y.host(), sentinel)) << rows << " x " << columns;
    }
  }
}

TEST_F(KernelsTest, Transpose2d) {
  for (const char *element : {"bf16", "f32"}) {
    const Kernel transpose = kernel(requests::transpose2d(element));
    const DType dtype = *dtypeFromName(element);
    for (const auto [rows, columns] : matrixSizes) {
      DeviceTensor x(gappedNormal(dtype, rows, columns, 2));
      DeviceTensor y(gapped(dtype, columns, rows), sentinel);
      must(transpose.launch(nullptr, {x.ref(), y.ref()}));
      EXPECT_EQ(y.download().values(), reference::transpose(x.host())) << rows << " x " << columns;
      EXPECT_TRUE(gapsHold(y.host(), sentinel)) << rows << " x " << columns;
    }
  }
}

TEST_F(KernelsTest, RowSoftmax) {
  for (const char *element : {"bf16", "f32"}) {
    const DType dtype = *dtypeFromName(element);
    for (const bool lengthy : {false, true}) {
      const Kernel softmax =
          kernel(lengthy ? requests::rowSoftmaxLong(element) : requests::rowSoftmax(element));
      for (const std::int64_t columns : lengthy ? std::vector<std::int64_t>{5, 2048, 5000}
                                                : std::vector<std::int64_t>{1, 5, 1000, 1024}) {
        DeviceTensor x(gappedNormal(dtype, 7, columns, 3));
        DeviceTensor y(gapped(dtype, 7, columns), sentinel);
        must(softmax.launch(nullptr, {x.ref(), y.ref(), 3.0f}));
        EXPECT_LE(relativeError(y.download().values(), reference::rowSoftmax(x.host(), 3.0)),
                  roundingTolerance(dtype))
            << columns;
        EXPECT_TRUE(gapsHold(y.host(), sentinel)) << columns;
      }
    }
  }
}

TEST_F(KernelsTest, RmsNorm) {
  for (const auto &[element, columns] : {std::pair{"bf16", 4096}, std::pair{"f16", 2880}}) {
    const DType dtype = *dtypeFromName(element);
    const Kernel norm = kernel(requests::rmsNorm(element, columns));
    DeviceTensor x(gappedNormal(dtype, 5, columns, 4)),
        residual(gappedNormal(dtype, 5, columns, 5));
    DeviceTensor weight(normal(dtype, {columns}, 6)), y(HostTensor(dtype, {5, columns}), sentinel);
    const reference::RmsNorm want =
        reference::rmsNorm(x.host(), residual.host(), weight.host(), 1e-5);
    must(norm.launch(nullptr, {x.ref(), residual.ref(), weight.ref(), y.ref(), 1e-5f}));
    EXPECT_EQ(residual.download().values(), want.residual);
    EXPECT_LE(relativeError(y.download().values(), want.y), roundingTolerance(dtype));
  }
}

namespace {

struct GemmSize {
  std::int64_t m, n, k;
};

/// C = op(A) · op(B) with operands of `dtype` through `gemm`, against the reference.
void checkGemm(const Kernel &gemm, DType dtype, GemmSize size, bool transposeA, bool transposeB,
               const std::function<double(double)> &activation = nullptr) {
  const auto [m, n, k] = size;
  DeviceTensor a(normal(dtype, transposeA ? std::vector{k, m} : std::vector{m, k}, 7));
  DeviceTensor b(normal(dtype, transposeB ? std::vector{n, k} : std::vector{k, n}, 8));
  DeviceTensor c(HostTensor(dtype, {m, n}), sentinel);
  must(gemm.launch(nullptr, {a.ref(), b.ref(), c.ref()}));
  const std::vector<double> want =
      reference::gemm(a.host(), b.host(), transposeA, transposeB, activation);
  EXPECT_LE(relativeError(c.download().values(), want), roundingTolerance(dtype))
      << m << " x " << n << " x " << k;
}

} // namespace

TEST_F(KernelsTest, GemmNt) {
  for (const KernelParams &params :
       {KernelParams{}, {{"BN", "256"}, {"STAGES", "3"}}, {{"BN", "192"}}}) {
    const Kernel gemm = kernel(requests::gemmNt(params));
    for (const GemmSize size :
         {GemmSize{128, 128, 64}, {1, 8, 8}, {300, 200, 504}, {1300, 520, 256}})
      checkGemm(gemm, DType::BF16, size, false, true);
  }
}

TEST_F(KernelsTest, GemmOtherMajors) {
  const struct {
    KernelParams params;
    DType dtype;
    bool transposeA, transposeB;
  } variants[] = {{{}, DType::BF16, false, false},
                  {{{"TA", "true"}}, DType::BF16, true, false},
                  {{{"TA", "true"}, {"TB", "true"}}, DType::BF16, true, true},
                  {{{"TB", "true"}, {"E", "f16"}}, DType::F16, false, true}};
  for (const auto &[params, dtype, transposeA, transposeB] : variants) {
    const Kernel gemm = kernel(requests::gemm(params));
    for (const GemmSize size :
         {GemmSize{128, 128, 64}, {8, 8, 8}, {304, 200, 504}, {520, 264, 192}})
      checkGemm(gemm, dtype, size, transposeA, transposeB);
  }
}

TEST_F(KernelsTest, GemmWithAnOperandFromRegisters) {
  const Kernel gemm = kernel(requests::gemmSiluA());
  auto silu = [](double x) { return x / (1 + std::exp(-x)); };
  for (const GemmSize size : {GemmSize{128, 128, 64}, {1, 8, 8}, {300, 200, 504}})
    checkGemm(gemm, DType::BF16, size, false, true, silu);
}

TEST_F(KernelsTest, LinearAttention) {
  const struct {
    std::int64_t heads, dimV, batch, tokens;
  } variants[] = {{2, 128, 1, 1}, {2, 128, 2, 64}, {2, 128, 2, 500}, {3, 256, 1, 131}};
  for (const auto &[heads, dimV, batch, tokens] : variants) {
    const Kernel attention =
        kernel(requests::linearAttn(static_cast<int>(heads), static_cast<int>(dimV)));
    DeviceTensor q(normal(DType::BF16, {batch, tokens, heads, 128}, 9));
    DeviceTensor k(normal(DType::BF16, {batch, tokens, heads, 128}, 10));
    DeviceTensor v(normal(DType::BF16, {batch, tokens, heads, dimV}, 11));
    DeviceTensor o(HostTensor(DType::BF16, {batch, tokens, heads, dimV}), sentinel);
    must(attention.launch(nullptr, {q.ref(), k.ref(), v.ref(), o.ref(), 0.08838834764f}));
    const std::vector<double> want =
        reference::linearAttention(q.host(), k.host(), v.host(), 0.08838834764f);
    EXPECT_LE(relativeError(o.download().values(), want), 5e-3) << tokens;
  }
}

TEST_F(KernelsTest, LaunchErrorsNameTheValues) {
  const Kernel gemm = kernel(requests::gemmNt());
  DeviceTensor a(HostTensor(DType::BF16, {128, 500})), b(HostTensor(DType::BF16, {128, 500}));
  DeviceTensor c(HostTensor(DType::BF16, {128, 128}));
  const Expected<void> done = gemm.launch(nullptr, {a.ref(), b.ref(), c.ref()});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, "launch-where");
  EXPECT_NE(done.error().message.find("K = 500"), std::string::npos) << done.error().message;
}
