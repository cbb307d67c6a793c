// Phases, arrivals and byte counts of barriers
// (tests/gpu/cuda/litmus_barriers.cuh).
#include "tests/gpu/litmus.h"
#include "tests/gpu/raw_kernel.h"

using namespace flashqla;

namespace {

using Answers = std::vector<std::uint32_t>;

std::string text(const Answers &answers) { return fmt::format("{}", fmt::join(answers, " ")); }

class LitmusBarriersTest : public GpuTest {
protected:
  /// The first `count` words that the kernel wrote.
  template <class... Args>
  Answers run(const std::string &entry, unsigned threads, std::size_t count, const Args &...args) {
    const DeviceArray<std::uint32_t> out(count);
    module.emplace("litmus_barriers");
    module->launch(entry, {.blocks = 1, .threads = threads, .shared = 32768}, args...,
                   out.pointer());
    return out.download();
  }
  std::optional<RawModule> module;
};

} // namespace

TEST_F(LitmusBarriersTest, ParityNamesTheLastCompletedPhase) {
  const Answers seen = run("parity", 32, 10);
  EXPECT_TRUE(litmus("fresh-barrier", "a wait for parity 0 blocks, for parity 1 passes",
                     fmt::format("{} {}", seen[0], seen[1]), seen[0] == 0 && seen[1] == 1));
  // Generation g waits for parity g mod 2. After c completions the last was
  // generation c - 1, so g passes wrongly where it is c + 1, two ahead of it,
  // and blocks where it is c - 2, a phase too late.
  EXPECT_TRUE(litmus("parity-aliasing", "after c completions parity p passes if c + p is odd",
                     text(seen), seen == Answers{0, 1, 1, 0, 0, 1, 1, 0, 0, 1}));
}

TEST_F(LitmusBarriersTest, ArrivalsBeyondTheCountBelongToTheNextPhase) {
  const Answers seen = run("over_arrival", 32, 8);
  EXPECT_TRUE(litmus("over-arrival",
                     "count 2: the third arrival is the first of the next "
                     "phase, the fourth completes it",
                     text(seen), seen == Answers{0, 1, 1, 0, 1, 0, 0, 1}));
}

TEST_F(LitmusBarriersTest, ArrivalCounts) {
  const Answers seen = run("arrival_counts", 128, 5);
  EXPECT_TRUE(litmus("count-128", "127 of 128 arrivals do not complete, 128 do",
                     fmt::format("{} {}", seen[0], seen[1]), seen[0] == 0 && seen[1] == 1));
  EXPECT_TRUE(litmus("arrive-with-count", "one arrival of 128 completes count 128",
                     fmt::format("{}", seen[2]), seen[2] == 1));
  EXPECT_TRUE(litmus("largest-count",
                     "2^20 - 1; the state that an arrival returns has the count before it",
                     fmt::format("pending {}, complete {}", seen[3], seen[4]),
                     seen[3] == (1 << 20) - 1 && seen[4] == 1));
  const Answers phases = run("arrivals_of_warps", 128, 2, 32u);
  EXPECT_TRUE(litmus("count-32-of-128-threads", "four warps at count 32 are four phases, as fresh",
                     text(phases), phases == Answers{0, 1}));
}

TEST_F(LitmusBarriersTest, TransactionBytes) {
  const DeviceArray<std::uint16_t> tensor(64 * 64);
  const CUtensorMap map =
      encodeMap(tensor.pointer(), {.extents = {64, 64}, .strides = {128}, .box = {64, 8}});
  const Answers seen = run("transaction_bytes", 32, 9, map);
  EXPECT_TRUE(litmus("expect-before-complete", "completes", text({seen[0]}), seen[0] == 1));
  EXPECT_TRUE(litmus("complete-before-expect",
                     "stays incomplete until the arrival that expects the bytes",
                     text({seen[1], seen[2]}), seen[1] == 0 && seen[2] == 1));
  EXPECT_TRUE(litmus("arrive-before-expect",
                     "landed bytes that nobody expects keep the phase open; "
                     "expecting them closes it",
                     text({seen[3], seen[4]}), seen[3] == 0 && seen[4] == 1));
  observe("expect-too-little",
          "half of the bytes expected: does the phase complete when half has "
          "landed?",
          text({seen[5]}));
  EXPECT_TRUE(litmus("clipped-box-bytes", "boxes that are clipped or outside count all their bytes",
                     text({seen[6], seen[7], seen[8]}),
                     seen[6] == 1 && seen[7] == 1 && seen[8] == 1));
}

TEST_F(LitmusBarriersTest, RegistersComeFromThePoolOfTheCta) {
  const Answers seen = run("register_pool", 384, 3);
  EXPECT_TRUE(litmus("setmaxnreg", "504 registers are shared out: inc waits for dec",
                     fmt::format("dec after {} cycles, inc {} and {}", seen[0], seen[1], seen[2]),
                     seen[1] > 90000 && seen[2] > 90000));
}
