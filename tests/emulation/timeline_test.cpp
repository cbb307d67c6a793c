// Instrumented kernels record what the simulator says that they do, statement by statement.
#include "compiler/driver/sim_executor.h"
#include "compiler/driver/timeline.h"
#include "compiler/sim/measured_timeline.h"
#include "tests/emulation/emulator.h"
#include "tests/file_test.h"
#include "tools/flashqlac/case_plan.h"
#include "tools/flashqlac/planned_launch.h"

#include <gtest/gtest.h>

using namespace flashqla;

namespace {

/// A kernel of the tree at a shape; `block` records.
driver::TimelineRequest requestOf(const std::string &file, const std::string &kernel,
                                  const std::map<std::string, std::int64_t> &dims,
                                  std::int64_t block) {
  driver::TimelineRequest request;
  request.compile.file = (fq_test::testsFolder() / "../kernels" / file).string();
  request.compile.kernel = kernel;
  request.dims = dims;
  request.block = block;
  return request;
}

std::vector<std::string> textsOf(const sim::Timeline &timeline, std::uint32_t row) {
  std::vector<std::string> texts;
  for (const sim::Span &span : timeline.spans)
    if (span.row == row)
      texts.push_back(timeline.steps[span.step].statement.text);
  return texts;
}

void expectLife(const sim::Timeline &timeline) {
  EXPECT_FALSE(timeline.truncated);
  for (const sim::Timeline::Row &row : timeline.rows) {
    EXPECT_LT(0, row.begin) << row.name;
    EXPECT_LT(row.begin, row.end) << row.name;
  }
  std::vector<sim::Cycles> reached(timeline.rows.size(), 0);
  for (const sim::Span &span : timeline.spans) {
    EXPECT_LE(timeline.rows[span.row].begin, span.begin);
    EXPECT_LE(reached[span.row], span.begin);
    EXPECT_LE(span.begin, span.end);
    EXPECT_LE(span.end, timeline.rows[span.row].end);
    reached[span.row] = span.end;
  }
}

/// Simulated, then compiled instrumented without being assembled.
class Instrumented {
public:
  explicit Instrumented(driver::TimelineRequest request) : block(request.block) {
    driver::Session session{Environment{}};
    simulated = session.timeline(request);
    request.compile.bindings = simulated.shape.bindings;
    request.compile.instrument = true;
    request.compile.assemble = request.compile.useCache = false;
    bundle = session.compile(request.compile).bundle;
  }

  /// Errors: those of launching and of reading what was recorded.
  Expected<sim::Timeline> record(const Device &device, const Bundle &loaded) const {
    const Expected<Kernel> kernel = Kernel::load(device, loaded);
    if (!kernel)
      return kernel.error();
    Expected<cli::LaunchPlan> plan = cli::planCase(kernel->manifest(), simulated.shape);
    if (!plan)
      return plan.error();
    const Expected<cli::PlannedLaunch> launch = cli::PlannedLaunch::upload(device, *plan);
    if (!launch)
      return launch.error();
    if (Expected<void> done = kernel->recordTimeline(block); !done)
      return std::move(done).error();
    if (Expected<void> done = launch->run(*kernel); !done)
      return std::move(done).error();
    const auto records = kernel->takeTimeline();
    if (!records)
      return records.error();
    return sim::measuredTimeline(kernel->manifest(), *records);
  }

  driver::TimelineResult simulated;
  std::optional<Bundle> bundle;
  std::int64_t block;
};

class InstrumentedTest : public ::testing::Test {
protected:
  void SetUp() override {
    if (!emulation::hasCompiler())
      GTEST_SKIP() << "no C++ compiler for the emulation (c++)";
    emulation::launchOptions() = {}; // other tests limit the steps
    Expected<Device> opened = emulation::openDevice();
    ASSERT_TRUE(opened);
    device.emplace(std::move(*opened));
  }

  Expected<sim::Timeline> record(const Instrumented &instrumented) const {
    Expected<Bundle> bundle = emulation::hostBundle(*instrumented.bundle, emulation::testFolder());
    return bundle ? instrumented.record(*device, *bundle) : bundle.error();
  }

  void expectTheSame(const driver::TimelineRequest &request) const {
    const Instrumented instrumented(request);
    ASSERT_TRUE(instrumented.simulated.timeline);
    ASSERT_TRUE(instrumented.bundle);
    const Expected<sim::Timeline> recorded = record(instrumented);
    ASSERT_TRUE(recorded) << recorded.error().text();
    expectLife(*recorded);
    const sim::Timeline &simulated = *instrumented.simulated.timeline;
    for (std::uint32_t row = 0; row < recorded->rows.size(); ++row) {
      EXPECT_EQ(recorded->rows[row].name, simulated.rows[row].name);
      EXPECT_FALSE(textsOf(*recorded, row).empty());
      EXPECT_EQ(textsOf(*recorded, row), textsOf(simulated, row)) << recorded->rows[row].name;
    }
  }

  std::optional<Device> device;
};

} // namespace

TEST_F(InstrumentedTest, a_product) {
  expectTheSame(requestOf("gemm_nt.tile", "", {{"M", 140}, {"N", 200}, {"K", 456}}, 1));
}

TEST_F(InstrumentedTest, attention) {
  expectTheSame(requestOf("linear_attn.tile", "", {{"B", 1}, {"T", 260}, {"H", 2}}, 1));
}

TEST_F(InstrumentedTest, the_forward_of_gdn) {
  expectTheSame(requestOf("gdn/forward.tile", "gdn_prepare", {}, 3));
  expectTheSame(requestOf("gdn/forward.tile", "gdn_chain", {}, 4));
}

TEST_F(InstrumentedTest, roles_of_one_warp_each) {
  expectTheSame(requestOf("row_softmax.tile", "row_softmax", {}, 0));
}

TEST_F(InstrumentedTest, asynchronous_copies_by_threads) {
  expectTheSame(requestOf("rms_norm.tile", "", {}, 2));
}

TEST_F(InstrumentedTest, what_finds_no_room_is_left_out) {
  constexpr std::uint32_t room = 10;
  Instrumented instrumented(requestOf("gemm_nt.tile", "", {{"K", 456}}, 0));
  ASSERT_TRUE(instrumented.bundle);
  const std::string end = ", 16385, "; // of what the first role may write
  std::string &text = instrumented.bundle->cuda;
  ASSERT_NE(text.find(end), std::string::npos);
  for (std::size_t at = 0; (at = text.find(end, at)) != std::string::npos;)
    text.replace(at, end.size(), ", 11, ");
  const Expected<sim::Timeline> recorded = record(instrumented);
  ASSERT_TRUE(recorded) << recorded.error().text();
  EXPECT_TRUE(recorded->truncated);
  std::vector<std::string> want = textsOf(*instrumented.simulated.timeline, 0);
  ASSERT_GT(want.size(), room);
  want.resize(room - 1); // the first record is the role's begin
  EXPECT_EQ(textsOf(*recorded, 0), want);
  EXPECT_EQ(textsOf(*recorded, 1), textsOf(*instrumented.simulated.timeline, 1));
}

TEST(Instrumented, records_nothing_in_the_simulator) {
  SimExecutor simulator;
  const Device device = Device::on(simulator);
  const Instrumented instrumented(requestOf("gemm_nt.tile", "", {}, 0));
  ASSERT_TRUE(instrumented.bundle);
  EXPECT_EQ(instrumented.record(device, *instrumented.bundle).error().text(),
            "gemm_nt recorded nothing: it was not launched on a GPU, or its grid has no such CTA "
            "[kernel-timeline]");
}

TEST_F(InstrumentedTest, a_cta_that_the_grid_does_not_have_records_nothing) {
  Instrumented instrumented(requestOf("gemm_nt.tile", "", {}, 0));
  instrumented.block = 1;
  EXPECT_EQ(record(instrumented).error().code, "kernel-timeline");
}
