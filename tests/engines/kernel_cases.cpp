#include "tests/engines/kernel_cases.h"

#include "kernels/reference.h"
#include "tests/gpu/gpu_harness.h"
#include "tests/gpu/kernel_requests.h"

#include <fmt/format.h>

#include <cmath>

namespace flashqla {

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

CaseArgument input(HostTensor tensor) { return {std::move(tensor), 0, false}; }
CaseArgument inout(HostTensor tensor) { return {std::move(tensor), 0, true}; }
CaseArgument output(HostTensor tensor) {
  tensor.fillStorage(sentinel);
  return inout(std::move(tensor));
}
CaseArgument scalar(Arg value) { return {std::nullopt, value, false}; }

Wanted equal(std::string name, std::vector<double> values, double gaps = sentinel) {
  return {std::move(name), std::move(values), 0, gaps};
}
Wanted near(std::string name, std::vector<double> values, double tolerance) {
  return {std::move(name), std::move(values), tolerance, sentinel};
}

KernelCase copyCase(const char *element, std::int64_t rows, std::int64_t columns) {
  return {fmt::format("copy_2d_{}_{}x{}", element, rows, columns), requests::copy2d(element), [=] {
            const DType dtype = *dtypeFromName(element);
            const HostTensor x = gappedNormal(dtype, rows, columns, 1);
            return CaseData{{input(x), output(gapped(dtype, rows, columns))},
                            {equal("y", x.values())}};
          }};
}

KernelCase transposeCase(const char *element, std::int64_t rows, std::int64_t columns) {
  return {fmt::format("transpose_2d_{}_{}x{}", element, rows, columns),
          requests::transpose2d(element), [=] {
            const DType dtype = *dtypeFromName(element);
            const HostTensor x = gappedNormal(dtype, rows, columns, 2);
            return CaseData{{input(x), output(gapped(dtype, columns, rows))},
                            {equal("y", reference::transpose(x))}};
          }};
}

KernelCase softmaxCase(const char *element, bool lengthy, std::int64_t columns) {
  return {fmt::format("row_softmax{}_{}_{}", lengthy ? "_long" : "", element, columns),
          lengthy ? requests::rowSoftmaxLong(element) : requests::rowSoftmax(element), [=] {
            const DType dtype = *dtypeFromName(element);
            const HostTensor x = gappedNormal(dtype, 7, columns, 3);
            return CaseData{{input(x), output(gapped(dtype, 7, columns)), scalar(3.0f)},
                            {near("y", reference::rowSoftmax(x, 3.0), roundingTolerance(dtype))}};
          }};
}

KernelCase rmsNormCase(const char *element, int columns) {
  return {fmt::format("rms_norm_{}_{}", element, columns), requests::rmsNorm(element, columns),
          [=] {
            const DType dtype = *dtypeFromName(element);
            const HostTensor x = gappedNormal(dtype, 5, columns, 4);
            const HostTensor residual = gappedNormal(dtype, 5, columns, 5);
            const HostTensor weight = normal(dtype, {columns}, 6);
            const reference::RmsNorm want = reference::rmsNorm(x, residual, weight, 1e-5);
            return CaseData{
                {input(x), inout(residual), input(weight), output(HostTensor(dtype, {5, columns})),
                 scalar(1e-5f)},
                {equal("res", want.residual, NAN), near("y", want.y, roundingTolerance(dtype))}};
          }};
}

struct GemmSize {
  std::int64_t m, n, k;
};

/// C = op(A) · op(B).
KernelCase gemmCase(const KernelRequest &request, DType dtype, GemmSize size, bool transposeA,
                    bool transposeB, const std::function<double(double)> &activation = nullptr) {
  const auto [m, n, k] = size;
  std::string name = request.kernel;
  for (const auto &[key, value] : request.params)
    name += fmt::format("_{}{}", key, value);
  name += fmt::format("_{}x{}x{}", m, n, k);
  return {name, request, [=] {
            const HostTensor a =
                normal(dtype, transposeA ? std::vector{k, m} : std::vector{m, k}, 7);
            const HostTensor b =
                normal(dtype, transposeB ? std::vector{n, k} : std::vector{k, n}, 8);
            return CaseData{{input(a), input(b), output(HostTensor(dtype, {m, n}))},
                            {near("c", reference::gemm(a, b, transposeA, transposeB, activation),
                                  roundingTolerance(dtype))}};
          }};
}

KernelCase attentionCase(std::int64_t heads, std::int64_t dimV, std::int64_t batch,
                         std::int64_t tokens) {
  return {fmt::format("linear_attn_{}x{}x{}x{}", batch, tokens, heads, dimV),
          requests::linearAttn(static_cast<int>(heads), static_cast<int>(dimV)), [=] {
            const HostTensor q = normal(DType::BF16, {batch, tokens, heads, 128}, 9);
            const HostTensor k = normal(DType::BF16, {batch, tokens, heads, 128}, 10);
            const HostTensor v = normal(DType::BF16, {batch, tokens, heads, dimV}, 11);
            constexpr float scale = 0.08838834764f;
            return CaseData{{input(q), input(k), input(v),
                             output(HostTensor(DType::BF16, {batch, tokens, heads, dimV})),
                             scalar(scale)},
                            {near("o", reference::linearAttention(q, k, v, scale), 5e-3)}};
          }};
}

void addGemms(std::vector<KernelCase> &cases) {
  for (const KernelParams &params :
       {KernelParams{}, {{"BN", "256"}, {"STAGES", "3"}}, {{"BN", "192"}}})
    for (const GemmSize size :
         {GemmSize{128, 128, 64}, {1, 8, 8}, {300, 200, 504}, {1300, 520, 256}})
      cases.push_back(gemmCase(requests::gemmNt(params), DType::BF16, size, false, true));
  const struct {
    KernelParams params;
    DType dtype;
    bool transposeA, transposeB;
  } variants[] = {{{}, DType::BF16, false, false},
                  {{{"TA", "true"}}, DType::BF16, true, false},
                  {{{"TA", "true"}, {"TB", "true"}}, DType::BF16, true, true},
                  {{{"TB", "true"}, {"E", "f16"}}, DType::F16, false, true}};
  for (const auto &[params, dtype, transposeA, transposeB] : variants)
    for (const GemmSize size :
         {GemmSize{128, 128, 64}, {8, 8, 8}, {304, 200, 504}, {520, 264, 192}})
      cases.push_back(gemmCase(requests::gemm(params), dtype, size, transposeA, transposeB));
  auto silu = [](double x) { return x / (1 + std::exp(-x)); };
  for (const GemmSize size : {GemmSize{128, 128, 64}, {1, 8, 8}, {300, 200, 504}})
    cases.push_back(gemmCase(requests::gemmSiluA(), DType::BF16, size, false, true, silu));
}

} // namespace

std::vector<KernelCase> kernelCases() {
  std::vector<KernelCase> cases;
  for (const char *element : {"bf16", "f32"}) {
    const std::pair<std::int64_t, std::int64_t> sizes[] = {{1, 1},    {3, 5},   {32, 256},
                                                           {35, 300}, {64, 64}, {130, 1001}};
    for (const auto &[rows, columns] : sizes) {
      cases.push_back(copyCase(element, rows, columns));
      cases.push_back(transposeCase(element, rows, columns));
    }
    for (const std::int64_t columns : {1, 5, 1000, 1024})
      cases.push_back(softmaxCase(element, false, columns));
    for (const std::int64_t columns : {5, 2048, 5000})
      cases.push_back(softmaxCase(element, true, columns));
  }
  cases.push_back(rmsNormCase("bf16", 4096));
  cases.push_back(rmsNormCase("f16", 2880));
  addGemms(cases);
  cases.push_back(attentionCase(2, 128, 1, 1));
  cases.push_back(attentionCase(2, 128, 2, 64));
  cases.push_back(attentionCase(2, 128, 2, 500));
  cases.push_back(attentionCase(3, 256, 1, 131));
  return cases;
}

std::vector<HostTensor> launchCase(const Device &device, const Kernel &kernel,
                                   const CaseData &data) {
  std::vector<DeviceTensor> tensors;
  tensors.reserve(data.arguments.size());
  std::vector<Arg> args;
  for (const CaseArgument &argument : data.arguments) {
    if (argument.tensor)
      tensors.emplace_back(device, *argument.tensor);
    args.push_back(argument.tensor ? Arg(tensors.back().ref()) : argument.scalar);
  }
  must(kernel.launch(nullptr, args.data(), args.size()));
  must(device.synchronize());
  must(kernel.takeFailedAssert());
  std::vector<HostTensor> results;
  std::size_t next = 0;
  for (const CaseArgument &argument : data.arguments) {
    if (argument.written)
      results.push_back(tensors[next].download());
    next += argument.tensor ? 1 : 0;
  }
  return results;
}

void expectResults(const std::vector<Wanted> &wanted, const std::vector<HostTensor> &results,
                   const std::string &who) {
  ASSERT_EQ(results.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Wanted &want = wanted[i];
    const std::vector<double> got = results[i].values();
    if (want.tolerance == 0)
      EXPECT_EQ(got, want.values) << want.name << " of " << who;
    else
      EXPECT_LE(relativeError(got, want.values), want.tolerance) << want.name << " of " << who;
    EXPECT_TRUE(gapsHold(results[i], want.gaps))
        << want.name << " of " << who << ": written outside its elements";
  }
}

} // namespace flashqla
