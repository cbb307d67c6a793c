// Kernels on a device that is the simulator: tensors in and out, findings as errors.
#include "compiler/driver/sim_executor.h"

#include "compiler/driver/jit.h"
#include "compiler/driver/sim_tensors.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

using namespace flashqla;
using namespace flashqla::driver;

namespace {

constexpr const char *text = R"(
/// y = factor · x, in some rows
kernel scale[M, N]<E = f32>(
    x: in  E[M, N] strided,
    y: out E[M, N] strided,
    factor: E)
  grid (i: M / 2)
{
  warpgroup work regs 64 {
    map (c: 64) y[2*i, c] = E(f32(x[2*i, c]) * f32(factor)) where c < N
  }
}

/// The last row has no next one.
kernel next[N](x: in f32[N, 64], y: out f32[N, 64])
  grid (p: N)
{
  warpgroup work regs 64 {
    map (c: 64) y[p, c] = x[p + 1, c]
  }
}

/// How often each row runs is in a table.
kernel repeat[N](count: in i32[N], y: inout f32[N, 64])
  grid (p: N)
{
  warpgroup work regs 64 {
    for i in 0 .. count[p] {
      map (c: 64) y[p, c] += 1
    }
  }
}

/// The slot of generation 0 is handed to generation 2 in parts.
kernel parts(y: out f32[64])
  grid (p: 1)
{
  shared a_s: f32[2][2, 64]
  warpgroup work regs 80 {
    map (r: 2, c: 64) a_s[0][r, c] = 1
    sync
    map (c: 64) a_s[2][0, c] = 2
    sync
    map (c: 64) y[c] = a_s[0][1, c] + a_s[2][0, c]
  }
}
)";

KernelRequest request(const char *kernel, const char *element = nullptr) {
  KernelRequest made;
  made.file = "text.tile";
  made.source = text;
  made.kernel = kernel;
  if (element)
    made.params = {{"E", element}};
  return made;
}

struct Simulated {
  explicit Simulated(SimOptions options = {}) : simulator(std::move(options)), device(Device::on(simulator)) {}
  Kernel load(const KernelRequest &wanted) {
    JitProvider compiler(Environment{}, JitProvider::Output::Text);
    Expected<Kernel> kernel = Kernel::load(device, compiler, wanted);
    EXPECT_TRUE(kernel) << kernel.error().text();
    return *std::move(kernel);
  }
  SimExecutor simulator;
  Device device;
};

SimOptions form(bool lowered) {
  SimOptions options;
  options.lowered = lowered;
  return options;
}

} // namespace

TEST(SimTensors, every_element_type_survives) {
  const uint16_t halves[] = {0x3f80, 0xffff, 0x8000, 0x0001, 0x7c00, 0xc0de};
  const int64_t integers[] = {-1, INT64_MIN, INT64_MAX};
  auto both = [](const void *memory, DType dtype, int64_t count) {
    std::vector<char> before(count * dtypeBytes(dtype));
    std::memcpy(before.data(), memory, before.size());
    std::vector<char> after = before;
    const TensorRef source = TensorRef::packed(before.data(), dtype, {count});
    sim::TensorValues values = readTensor(source);
    const TensorRef target = TensorRef::packed(after.data(), dtype, {count});
    writeTensor(values, target);
    EXPECT_EQ(before, after) << dtypeName(dtype) << ": what is not changed keeps its bits";
    std::fill(after.begin(), after.end(), 0);
    writeTensor(values, target);
    for (const auto &[x, y] : {std::pair(values, readTensor(target))}) {
      for (size_t i = 0; i < x.reals.size(); ++i)
        EXPECT_TRUE(x.reals[i] == y.reals[i] || (std::isnan(x.reals[i]) && std::isnan(y.reals[i])));
      EXPECT_EQ(x.ints, y.ints);
    }
    return values;
  };
  EXPECT_EQ(both(halves, DType::BF16, 6).reals[0], 1.0f);
  EXPECT_EQ(both(halves, DType::F16, 6).reals[4], INFINITY);
  EXPECT_EQ(both(halves, DType::F32, 3).reals[1], std::bit_cast<float>(0x00018000u));
  EXPECT_EQ(both(integers, DType::I32, 6).ints, (std::vector<int64_t>{-1, -1, 0, INT32_MIN, -1, INT32_MAX}));
  EXPECT_EQ(both(integers, DType::I64, 3).ints, std::vector<int64_t>(integers, integers + 3));
  EXPECT_EQ(both("\0\1\1", DType::Bool, 3).ints, (std::vector<int64_t>{0, 1, 1}));
}

TEST(SimTensors, strides_and_extents_of_zero) {
  float memory[24];
  for (int i = 0; i < 24; ++i)
    memory[i] = static_cast<float>(i);
  const TensorRef view = TensorRef::strided(memory + 1, DType::F32, {2, 3}, {12, 4});
  sim::TensorValues values = readTensor(view);
  EXPECT_EQ(values.extents, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(values.reals, (std::vector<float>{1, 5, 9, 13, 17, 21}));
  values.reals[4] = -1;
  writeTensor(values, view);
  EXPECT_EQ(memory[17], -1);
  EXPECT_EQ(memory[18], 18);
  EXPECT_TRUE(readTensor(TensorRef::packed(nullptr, DType::F32, {0, 4})).reals.empty());
  EXPECT_TRUE(readTensor(TensorRef::packed(nullptr, DType::F32, {4, 0})).reals.empty());
  EXPECT_EQ(readTensor(TensorRef::packed(memory, DType::F32, {})).reals, std::vector<float>{0});
}

TEST(SimExecutor, both_forms_compute_and_leave_alone_what_the_kernel_does) {
  for (bool lowered : {false, true})
    for (unsigned threads : {1u, 3u}) {
      SimOptions options = form(lowered);
      options.threads = threads;
      Simulated simulated(options);
      const Kernel scale = simulated.load(request("scale", "bf16"));
      std::vector<uint16_t> x(4 * 8, 0x3fc0), y(4 * 8, 0xffff); // 1.5, NaN
      ASSERT_TRUE(scale.launch(nullptr, {TensorRef::strided(x.data(), DType::BF16, {4, 5}, {8, 1}),
                                         TensorRef::strided(y.data(), DType::BF16, {4, 5}, {8, 1}), 1.001}));
      for (size_t i = 0; i < y.size(); ++i)
        EXPECT_EQ(y[i], i / 8 % 2 == 0 && i % 8 < 5 ? 0x3fc0 : 0xffff) << i << ": the factor is a bf16";
    }
}

TEST(SimExecutor, findings_are_the_error_of_their_launch) {
  for (bool lowered : {false, true}) {
    Simulated simulated(form(lowered));
    const Kernel next = simulated.load(request("next"));
    std::vector<float> x(3 * 64, 1), y(3 * 64);
    const auto launch = [&](int64_t rows) {
      return next.launch(nullptr, {TensorRef::packed(x.data(), DType::F32, {rows, 64}),
                                   TensorRef::packed(y.data(), DType::F32, {rows, 64})});
    };
    const Expected<void> done = launch(3);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, "sim-findings");
    EXPECT_EQ(done.error().message, "launch of next: the simulator found 1 mistake");
    EXPECT_EQ(done.error().notes.front(),
              "text.tile:19:27: error: index 3 of dimension 0 of `x`, which has 3 [out-of-bounds]\n"
              "   19 |     map (c: 64) y[p, c] = x[p + 1, c]\n"
              "      |                           ^^^^^^^^^^^\n"
              "  note: found in a launch at N = 3");
    EXPECT_EQ(y[64], 1) << "what was written is there";
    EXPECT_FALSE(launch(2)) << "again";
    EXPECT_EQ(simulated.simulator.diagnostics().all().size(), 1u);
  }
}

TEST(SimExecutor, without_values_tables_still_steer) {
  SimOptions options;
  options.values = false;
  options.progress = [](const std::string &kernel, int64_t done, int64_t blocks) {
    EXPECT_EQ(kernel, "repeat");
    EXPECT_LE(done, blocks);
  };
  Simulated protocol(options), numbers;
  std::vector<int32_t> count = {0, 1, 5};
  std::vector<float> y(3 * 64);
  for (Simulated *simulated : {&protocol, &numbers}) {
    const Kernel repeat = simulated->load(request("repeat"));
    ASSERT_TRUE(repeat.launch(nullptr, {TensorRef::packed(count.data(), DType::I32, {3}),
                                        TensorRef::packed(y.data(), DType::F32, {3, 64})}));
    EXPECT_EQ(y[3 * 64 - 1], simulated == &numbers ? 5 : 0);
  }
}

TEST(SimExecutor, parts_of_a_slot_have_generations_of_their_own) {
  for (bool lowered : {false, true}) {
    Simulated simulated(form(lowered));
    std::vector<float> y(64);
    const Expected<void> done =
        simulated.load(request("parts")).launch(nullptr, {TensorRef::packed(y.data(), DType::F32, {64})});
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(y, std::vector<float>(64, 3));
  }
}

TEST(SimExecutor, a_bundle_without_its_text_cannot_run) {
  Simulated simulated;
  JitProvider compiler(Environment{}, JitProvider::Output::Text);
  Expected<Bundle> bundle = compiler.provide(request("next"));
  ASSERT_TRUE(bundle) << bundle.error().text();
  EXPECT_TRUE(bundle->cubin.empty());
  EXPECT_TRUE(Kernel::load(simulated.device, *bundle));
  bundle->source = "kernel other() grid (i: 1) { }";
  EXPECT_EQ(Kernel::load(simulated.device, *bundle).error().code, "sim-load");
}
