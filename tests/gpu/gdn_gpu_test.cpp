// GDN forward on the GPU against the token recurrence in f64.
#include "tests/engines/gdn_run.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace flashqla;

namespace {

constexpr double quietNan = std::numeric_limits<double>::quiet_NaN();

gdn::Forward load(const gdn::Config &config) {
  return must(gdn::Forward::create(*Gpu::instance().device, *Gpu::instance().kernels, config));
}

std::string caseName(const testing::TestParamInfo<GdnCase> &info) { return info.param.name; }

} // namespace

class GdnForwardTest : public GpuTest, public testing::WithParamInterface<GdnCase> {};

TEST_P(GdnForwardTest, AgreesWithTheRecurrence) {
  const GdnCase &item = GetParam();
  const reference::GdnInputs inputs = makeInputs(item, 1000);
  GdnRun run(device(), item, inputs);
  const gdn::Forward forward = load(item.config);
  run.launch(forward);
  const std::vector<Wanted> want = wantedResults(item, inputs); // while the device works
  must(device().synchronize());
  expectResults(want, run.results());
}

INSTANTIATE_TEST_SUITE_P(Small, GdnForwardTest, testing::ValuesIn(smallGdnCases()), caseName);
INSTANTIATE_TEST_SUITE_P(Full, GdnForwardTest, testing::ValuesIn(fullGdnCases()), caseName);

class GdnPropertyTest : public GpuTest {
protected:
  static GdnCase packedCase() {
    GdnCase item;
    item.config = baseConfig(64);
    item.lengths = {31, 64, 0, 130, 75};
    item.padding = 20;
    return item;
  }
};

TEST_F(GdnPropertyTest, NeighboursAndPaddingFullOfNanChangeNothing) {
  for (int block : {64, 128}) {
    GdnCase item = packedCase();
    item.config.valueBlock = block;
    const reference::GdnInputs clean = makeInputs(item, 7);
    const gdn::Forward forward = load(item.config);
    GdnRun cleanRun(device(), item, clean);
    cleanRun.launch(forward);
    const std::vector<double> cleanO = cleanRun.output().values();
    const std::vector<double> cleanState = cleanRun.state().values();
    const auto perToken = static_cast<std::int64_t>(item.config.headsV * item.config.dimV);
    const auto perState = perToken * item.config.dimK;
    for (std::size_t s = 0; s < item.lengths.size(); ++s) {
      reference::GdnInputs poisoned = clean;
      for (HostTensor *tensor :
           {&poisoned.q, &poisoned.k, &poisoned.v, &poisoned.gate, &poisoned.beta}) {
        const std::int64_t tokenElements = tensor->elementCount() / item.extents().tokens;
        for (std::int64_t i = 0; i < tensor->elementCount(); ++i)
          if (i / tokenElements < clean.cuSeqlens[s] || i / tokenElements >= clean.cuSeqlens[s + 1])
            tensor->set(i, quietNan);
      }
      GdnRun run(device(), item, poisoned);
      run.launch(forward);
      const std::vector<double> o = run.output().values(), state = run.state().values();
      const auto oBegin = perToken * clean.cuSeqlens[s], oEnd = perToken * clean.cuSeqlens[s + 1];
      EXPECT_TRUE(std::equal(o.begin() + oBegin, o.begin() + oEnd, cleanO.begin() + oBegin)) << s;
      const auto first = perState * static_cast<std::int64_t>(s);
      EXPECT_TRUE(std::equal(state.begin() + first, state.begin() + first + perState,
                             cleanState.begin() + first))
          << s;
    }
  }
}

TEST_F(GdnPropertyTest, TwoHundredRepeatsAreBitIdentical) {
  for (int block : {64, 128}) {
    GdnCase item = packedCase();
    item.config.valueBlock = block;
    const reference::GdnInputs inputs = makeInputs(item, 8);
    const gdn::Forward forward = load(item.config);
    GdnRun run(device(), item, inputs);
    run.launch(forward);
    const std::vector<std::byte> first = run.resultBytes();
    for (int repeat = 1; repeat < 200; ++repeat) {
      run.launch(forward);
      ASSERT_TRUE(first == run.resultBytes()) << "repeat " << repeat;
    }
  }
}

TEST_F(GdnPropertyTest, NoNanForNegativeEigenvalues) {
  GdnCase item = packedCase();
  item.keys = KeyData::Repeated;
  item.gates = GateData::Zero;
  reference::GdnInputs inputs = makeInputs(item, 9);
  for (std::int64_t i = 0; i < inputs.beta.elementCount(); ++i)
    if (!std::isnan(inputs.beta.get(i)))
      inputs.beta.set(i, 2);
  GdnRun run(device(), item, inputs);
  run.launch(load(item.config));
  auto finite = [](double value) { return std::isfinite(value); };
  EXPECT_TRUE(std::ranges::all_of(run.output().values(), finite));
  EXPECT_TRUE(std::ranges::all_of(run.state().values(), finite));
}

TEST_F(GdnPropertyTest, GraphsAndDependentLaunchChangeNothing) {
  const GdnCase item = packedCase();
  const reference::GdnInputs inputs = makeInputs(item, 10);
  const gdn::Forward forward = load(item.config);
  GdnRun plain(device(), item, inputs), captured(device(), item, inputs);
  plain.launch(forward, nullptr, {.dependentLaunch = false});
  const std::vector<std::byte> want = plain.resultBytes();
  const Stream stream = must(Stream::create(device()));
  const Graph graph = must(Graph::capture(device(), stream, [&]() -> Expected<void> {
    for (int i = 0; i < 5; ++i)
      captured.launch(forward, stream.handle());
    return {};
  }));
  must(graph.launch(stream.handle()));
  must(stream.synchronize());
  EXPECT_TRUE(want == captured.resultBytes());
}

TEST_F(GdnPropertyTest, ScaleIsAnArgumentOfTheRun) {
  const GdnCase item = packedCase();
  reference::GdnInputs inputs = makeInputs(item, 11);
  inputs.scale = 0.37f;
  GdnRun run(device(), item, inputs);
  run.args.scale = 0.37f;
  run.launch(load(item.config));
  expectResults(wantedResults(item, inputs), run.results());
}
