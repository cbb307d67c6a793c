// The kernels other than GDN on the GPU against their f64 references, tails included.
#include "tests/engines/kernel_cases.h"
#include "tests/gpu/gpu_harness.h"
#include "tests/gpu/kernel_requests.h"

using namespace flashqla;

class KernelsTest : public GpuTest, public testing::WithParamInterface<KernelCase> {};

TEST_P(KernelsTest, AgreesWithTheReference) {
  const CaseData data = GetParam().make();
  expectResults(data.wanted, launchCase(device(), kernel(GetParam().request), data));
}

INSTANTIATE_TEST_SUITE_P(All, KernelsTest, testing::ValuesIn(kernelCases()),
                         [](const auto &info) { return info.param.name; });

class LaunchTest : public GpuTest {};

TEST_F(LaunchTest, ErrorsNameTheValues) {
  const Kernel gemm = kernel(requests::gemmNt());
  const HostTensor tensor(DType::BF16, {128, 500});
  DeviceTensor a(device(), tensor), b(device(), tensor);
  DeviceTensor c(device(), HostTensor(DType::BF16, {128, 128}));
  const Expected<void> done = gemm.launch(nullptr, {a.ref(), b.ref(), c.ref()});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, "launch-where");
  EXPECT_NE(done.error().message.find("K = 500"), std::string::npos) << done.error().message;
}
