// Whole kernels on the emulation: results do not depend on when copies and products take effect,
// and texts with a mistake in them are found out.
#include "kernels/gdn/gdn.h"
#include "tests/emulation/emulator.h"
#include "tests/gpu/gpu_harness.h"
#include "tests/gpu/kernel_requests.h"

#include <algorithm>

using namespace flashqla;
using emulation::Options;
using emulation::Timing;

namespace {

constexpr double sentinel = -77;

DeviceTensor normal(std::vector<std::int64_t> sizes, std::uint64_t seed) {
  HostTensor tensor(DType::BF16, std::move(sizes));
  fillNormal(tensor, seed);
  return DeviceTensor(*Gpu::instance().device, std::move(tensor));
}

/// C = A Bᵀ with tails on all sides and more k-tiles than the ring of operands has.
class GemmRun {
public:
  std::vector<double> run(const Kernel &kernel, const Options &options) {
    DeviceTensor c(*Gpu::instance().device, HostTensor(DType::BF16, {m, n}), sentinel);
    emulation::launchOptions() = options;
    must(kernel.launch(nullptr, {a.ref(), b.ref(), c.ref()}));
    return c.download().values();
  }

private:
  static constexpr std::int64_t m = 140, n = 200, k = 456;
  DeviceTensor a = normal({m, k}, 1), b = normal({n, k}, 2);
};

class AttentionRun {
public:
  std::vector<double> run(const Kernel &kernel, const Options &options) {
    DeviceTensor o(*Gpu::instance().device, HostTensor(DType::BF16, {1, tokens, 2, 128}), sentinel);
    emulation::launchOptions() = options;
    must(kernel.launch(nullptr, {q.ref(), k.ref(), v.ref(), o.ref(), 0.1f}));
    return o.download().values();
  }

private:
  static constexpr std::int64_t tokens = 260;
  DeviceTensor q = normal({1, tokens, 2, 128}, 1), k = normal({1, tokens, 2, 128}, 2),
               v = normal({1, tokens, 2, 128}, 3);
};

std::vector<Options> schedules() {
  std::vector<Options> list;
  for (std::uint64_t seed = 0; seed < 3; ++seed)
    for (const Timing timing : {Timing::Late, Timing::Early, Timing::Random})
      list.push_back({.timing = timing, .seed = seed});
  return list;
}

template <class Run> class Mistakes {
public:
  explicit Mistakes(const KernelRequest &request)
      : original(must(Gpu::instance().kernels->provide(request))),
        want(run.run(load(original), {})) {}

  /// What shows when `text`, which is there, is replaced: an error that contains `shows`, or wrong
  /// numbers.
  void expect(const std::string &text, const std::string &replacement,
              const std::string &shows = "wrong numbers") {
    Bundle changed = original;
    const std::size_t at = changed.cuda.find(text, changed.cuda.find("extern \"C\""));
    ASSERT_NE(at, changed.cuda.npos) << text;
    changed.cuda.replace(at, text.size(), replacement);
    const Kernel kernel = load(must(emulation::hostBundle(changed, emulation::testFolder())));
    std::string found;
    for (const Options &options : schedules())
      if (found.empty())
        found = mistake(kernel, options);
    EXPECT_NE(found.find(shows), found.npos)
        << "`" << text << "` -> `" << replacement << "`: " << (found.empty() ? "not found" : found);
  }

private:
  std::string mistake(const Kernel &kernel, const Options &options) {
    try {
      return run.run(kernel, options) == want ? "" : "wrong numbers";
    } catch (const std::exception &error) {
      return error.what();
    }
  }
  static Kernel load(const Bundle &bundle) {
    return must(Kernel::load(*Gpu::instance().device, bundle));
  }
  Run run;
  Bundle original;
  std::vector<double> want;
};

class EmulatedKernelsTest : public GpuTest {
protected:
  ~EmulatedKernelsTest() override { emulation::launchOptions() = {.timing = Timing::Late}; }

  template <class Run> static void expectOneResult(const Kernel &kernel) {
    Run run;
    const std::vector<double> want = run.run(kernel, {});
    for (const Options &options : schedules())
      EXPECT_EQ(run.run(kernel, options), want)
          << "timing " << static_cast<int>(options.timing) << ", seed " << options.seed;
  }
};

} // namespace

TEST_F(EmulatedKernelsTest, SchedulesOfAGemmGiveOneResult) {
  expectOneResult<GemmRun>(kernel(requests::gemmNt()));
}

TEST_F(EmulatedKernelsTest, SchedulesOfAttentionGiveOneResult) {
  expectOneResult<AttentionRun>(kernel(requests::linearAttn(2, 128)));
}

TEST_F(EmulatedKernelsTest, WrongAddressesAndBytesShow) {
  Mistakes<GemmRun> gemm(requests::gemmNt());
  gemm.expect("wgmma_descriptor(b + 32 * k, 16, 1024, 1)",
              "wgmma_descriptor(b + 32 * k, 16, 512, 1)");
  gemm.expect("wgmma_descriptor(a + 32 * k, 16, 1024, 1)",
              "wgmma_descriptor(a + 32 * k, 16, 1024, 2)");
  gemm.expect("wgmma_descriptor(a + 32 * k", "wgmma_descriptor(a + 16 * k");
  gemm.expect("swizzle128(", "swizzle64(");
  gemm.expect("v_3, 32768)", "v_3, 16384)", "where an asynchronous copy has not landed");
  gemm.expect("(int)(n * 128)", "(int)(n * 64)");
}

TEST_F(EmulatedKernelsTest, MissingSynchronisationShows) {
  const std::string inFlight =
      "asynchronous write at a_s, which an asynchronous operation in flight";
  Mistakes<GemmRun> gemm(requests::gemmNt());
  gemm.expect("mbarrier_wait_parity(shared + empty_at", "(void)(shared + empty_at",
              "asynchronous write at a_s");
  gemm.expect("mbarrier_wait_parity(shared + full_at", "(void)(shared + full_at",
              "where an asynchronous copy has not landed");
  gemm.expect("k_1 >> 2 & 1)", "k_1 >> 1 & 1)", "has not landed");
  gemm.expect("wgmma_wait_group_1();", "", inFlight);
  gemm.expect("if (k_1 >= 1) mbarrier_arrive", "if (k_1 >= 5) mbarrier_arrive", "deadlock");
  gemm.expect("wgmma_wait_group_0_64(acc);", "", "ends with a product of line");
  gemm.expect("fence_proxy_async();", "", "without a fence.proxy.async since");
  gemm.expect("named_barrier(1, 256);", "", "without a fence.proxy.async since");
  gemm.expect("bulk_wait_group<0>();", "", "ends before its bulk store of line");
}

TEST_F(EmulatedKernelsTest, MissingWaitsOfOtherRolesShow) {
  Mistakes<AttentionRun> attention(requests::linearAttn(2, 128));
  // A warp that is a whole phase late cannot tell so from the parity.
  attention.expect("mbarrier_wait_parity(shared + o_free_at", "(void)(shared + o_free_at",
                   "deadlock");
  attention.expect("wgmma_wait_group_1_32(p);", "", "was written while a product was in flight");
}
