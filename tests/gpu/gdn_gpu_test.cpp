// GDN forward on the GPU against the token recurrence in f64.
#include "tests/gpu/gdn_cases.h"
#include "tests/gpu/gpu_harness.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

using namespace flashqla;

namespace {

constexpr double quietNan = std::numeric_limits<double>::quiet_NaN();

/// The tensors of one case on the device. Outputs and the workspace are full of NaN at first.
class GdnRun {
public:
  GdnRun(const GdnCase &item, const reference::GdnInputs &inputs)
      : item(item), q(inputs.q), k(inputs.k), v(inputs.v), gate(inputs.gate), beta(inputs.beta),
        o(inputs.v, quietNan), // with the gaps of v
        workspaceBytes(gdn::workspaceBytes(item.config, item.extents())),
        workspace(must(DeviceBuffer::allocate(*Gpu::instance().device, workspaceBytes))) {
    must(workspace.fill(0xff));
    args.q = q.ref();
    args.k = k.ref();
    args.v = v.ref();
    args.gate = gate.ref();
    args.beta = beta.ref();
    args.o = o.ref();
    args.cuSeqlens = item.config.packed
                         ? keep(HostTensor::integers(item.config.indexType, inputs.cuSeqlens))
                         : std::nullopt;
    args.aLog = keep(inputs.aLog);
    args.dtBias = keep(inputs.dtBias);
    args.initialState = keep(inputs.initialState);
    if (item.config.finalState) {
      const gdn::Extents extents = item.extents();
      const std::int64_t dimK = item.config.dimK, dimV = item.config.dimV;
      const bool keyFirst = item.config.stateLayout == gdn::StateLayout::KeyFirst;
      finalState = std::make_unique<DeviceTensor>(
          HostTensor(item.config.stateType, {extents.sequences, item.config.headsV,
                                             keyFirst ? dimK : dimV, keyFirst ? dimV : dimK}),
          quietNan);
      args.finalState = finalState->ref();
    }
  }

  void launch(const gdn::Forward &forward, StreamHandle stream = nullptr,
              const gdn::RunOptions &options = {}) {
    must(forward.run(stream, args, workspace.data(), workspaceBytes, options));
  }
  const HostTensor &output() { return o.download(); }
  const HostTensor &state() { return finalState->download(); }
  /// All results as bytes.
  std::vector<std::byte> resultBytes() {
    const auto first = output().bytes();
    std::vector<std::byte> bytes(first.begin(), first.end());
    if (finalState) {
      const auto second = state().bytes();
      bytes.insert(bytes.end(), second.begin(), second.end());
    }
    return bytes;
  }
  gdn::Arguments args;

private:
  std::optional<TensorRef> keep(std::optional<HostTensor> tensor) {
    if (!tensor)
      return std::nullopt;
    kept.push_back(std::make_unique<DeviceTensor>(std::move(*tensor)));
    return kept.back()->ref();
  }

  GdnCase item;
  DeviceTensor q, k, v, gate, beta, o;
  std::unique_ptr<DeviceTensor> finalState;
  std::vector<std::unique_ptr<DeviceTensor>> kept;
  std::size_t workspaceBytes;
  DeviceBuffer workspace;
};

gdn::Forward load(const gdn::Config &config) {
  return must(gdn::Forward::create(*Gpu::instance().device, *Gpu::instance().kernels, config));
}

void expectClose(const GdnCase &item, GdnRun &run, const reference::GdnOutputs &want) {
  const HostTensor &o = run.output();
  EXPECT_LE(relativeError(o.values(), want.o), item.tolerance()) << "o";
  EXPECT_TRUE(gapsHold(o, quietNan)) << "o was written outside its elements";
  if (item.config.finalState) {
    EXPECT_LE(relativeError(run.state().values(), want.finalState), item.tolerance())
        << "final state";
  }
}

std::string caseName(const testing::TestParamInfo<GdnCase> &info) { return info.param.name; }

} // namespace

class GdnForwardTest : public GpuTest, public testing::WithParamInterface<GdnCase> {};

TEST_P(GdnForwardTest, AgreesWithTheRecurrence) {
  const GdnCase &item = GetParam();
  const reference::GdnInputs inputs = makeInputs(item, 1000);
  GdnRun run(item, inputs);
  const gdn::Forward forward = load(item.config);
  run.launch(forward);
  const reference::GdnOutputs want = reference::gdn(inputs); // while the device works
  must(device().synchronize());
  expectClose(item, run, want);
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
    GdnRun cleanRun(item, clean);
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
      GdnRun run(item, poisoned);
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
    GdnRun run(item, inputs);
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
  GdnRun run(item, inputs);
  run.launch(load(item.config));
  auto finite = [](double value) { return std::isfinite(value); };
  EXPECT_TRUE(std::ranges::all_of(run.output().values(), finite));
  EXPECT_TRUE(std::ranges::all_of(run.state().values(), finite));
}

TEST_F(GdnPropertyTest, GraphsAndDependentLaunchChangeNothing) {
  const GdnCase item = packedCase();
  const reference::GdnInputs inputs = makeInputs(item, 10);
  const gdn::Forward forward = load(item.config);
  GdnRun plain(item, inputs), captured(item, inputs);
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
  GdnRun run(item, inputs);
  run.args.scale = 0.37f;
  run.launch(load(item.config));
  expectClose(item, run, reference::gdn(inputs));
}
