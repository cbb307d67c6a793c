// gdn::Forward against a recording driver: the order of the arguments, the dims it gives, the grid.
#include "kernels/gdn/gdn.h"
#include "runtime_fake_driver.h"
#include "runtime_test_manifest.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

using namespace flashqla;
using namespace flashqla::testing;

namespace {

void *at(std::uintptr_t address) { return reinterpret_cast<void *>(address); }

/// The manifest of a kernel with a signature of forward.tile, with pointers where the compiler
/// would take tensor maps.
class Signature {
public:
  explicit Signature(const KernelRequest &request)
      : params(request.params.begin(), request.params.end()), packed(isTrue("PACKED")) {
    manifest.kernel = manifest.entry = request.kernel;
    manifest.file = request.file;
    manifest.arch = request.arch;
    for (const char *dim : {"B", "T", "NS", "SLOTS"})
      manifest.dims.push_back({dim, {}});
    for (const auto &[name, value] : request.staticDims)
      manifest.dims.push_back({name, value});
    const char *slots = packed ? "SLOTS == T / 64 + NS + 1" : "SLOTS == B * ceildiv(T, 64)";
    manifest.where = {{expr(slots), slots, ""}};
    manifest.blockThreads = 128;
    wide("q", Access::In, "HQ", "DK");
    wide("k", Access::In, "HQ", "DK");
    if (request.kernel == "gdn_prepare")
      addPrepare();
    else
      addChain();
    manifest.arguments.push_back({"scale", Access::Scalar, DType::F32, {}, Layout::Packed, 0});
  }

  Manifest manifest;

private:
  void addPrepare() {
    tensor("g", Access::In, type("G"), {"B", "T", "HV"}, Layout::Strided);
    tensor("beta", Access::In, type("W"), {"B", "T", "HV"}, Layout::Strided);
    if (params.at("GATE") == "2") {
      tensor("alog", Access::In, DType::F32, {"HV"});
      tensor("bias", Access::In, DType::F32, {"HV"});
    }
    if (packed)
      tensor("seq", Access::In, type("I"), {"NS + 1"});
    workspace(Access::Out);
    wide("o", Access::Out, "HV", "DV");
    manifest.grid = {{"hq", expr("HQ")}, {"slot", expr("SLOTS")}};
  }

  void addChain() {
    wide("v", Access::In, "HV", "DV");
    workspace(Access::In);
    if (packed)
      tensor("seq", Access::In, type("I"), {"NS + 1"});
    const bool valueFirst = isTrue("V_FIRST");
    const char *row = valueFirst ? "DV" : "DK", *column = valueFirst ? "DK" : "DV";
    if (isTrue("INITIAL"))
      tensor("s0", Access::In, type("F"), {"NS", "HV", row, column});
    wide("o", Access::Out, "HV", "DV");
    if (isTrue("FINAL"))
      tensor("sn", Access::Out, type("F"), {"NS", "HV", row, column});
    const std::string blocks = "DV / " + params.at("BV");
    manifest.grid = {{"bv", expr(blocks)}, {"h", expr("HV")}, {"s", expr("NS")}};
  }

  void tensor(const char *name, Access access, DType dtype,
              std::initializer_list<const char *> shape, Layout layout = Layout::Packed,
              int align = 0) {
    ManifestArgument &argument = manifest.arguments.emplace_back();
    argument.name = name;
    argument.access = access;
    argument.dtype = dtype;
    for (const char *extent : shape)
      argument.shape.push_back(expr(extent));
    argument.layout = layout;
    argument.alignBytes = align;
  }
  void wide(const char *name, Access access, const char *heads, const char *dim) {
    tensor(name, access, type("E"), {"B", "T", heads, dim}, Layout::Strided, 16);
  }
  void workspace(Access access) {
    for (const char *name : {"ag", "pg"})
      tensor(name, access, type("E"), {"SLOTS", "HV", "64", "64"}, Layout::Packed, 16);
    for (const char *name : {"gam", "rev"})
      tensor(name, access, DType::F32, {"SLOTS", "HV", "64"}, Layout::Packed, 16);
  }
  DType type(const char *name) const { return *dtypeFromName(params.at(name)); }
  bool isTrue(const char *name) const { return params.at(name) == "true"; }

  std::map<std::string, std::string> params;
  bool packed;
};

class FakeCompiler : public KernelProvider {
public:
  Expected<Bundle> provide(const KernelRequest &request) override {
    ++asked;
    return Bundle{writeManifest(Signature(request).manifest), "\177ELF", "", "", ""};
  }
  int asked = 0;
};

class GdnLaunch : public ::testing::Test {
protected:
  void SetUp() override {
    recorder = Recorder();
    device.emplace(*Device::openWith(fakeDriver(), 0));
  }

  /// Runs T = 210, N = 3 (batch: 2 × 70) and returns the grids, or the error.
  std::string run(const gdn::Config &config) {
    FakeCompiler compiler;
    const Expected<gdn::Forward> forward = gdn::Forward::create(*device, compiler, config);
    if (!forward)
      return forward.error().text();
    const gdn::Extents extents = config.packed ? gdn::Extents{1, 210, 3} : gdn::Extents{2, 70, 2};
    const gdn::Arguments args = arguments(config, extents);
    const std::size_t bytes = gdn::workspaceBytes(config, extents);
    if (const auto done = forward->run(nullptr, args, at(0x100000), bytes); !done)
      return done.error().text();
    std::string grids;
    for (const RecordedLaunch &launch : recorder.launches)
      grids += (grids.empty() ? "" : " ") + std::to_string(launch.config.gridDimX);
    return grids;
  }

  static gdn::Arguments arguments(const gdn::Config &config, const gdn::Extents &extents) {
    const std::int64_t b = extents.batch, t = extents.tokens, n = extents.sequences;
    const std::int64_t hq = config.headsQk, hv = config.headsV, dk = config.dimK, dv = config.dimV;
    gdn::Arguments args;
    args.q = args.k = TensorRef::packed(at(0x1000), config.dtype, {b, t, hq, dk});
    args.v = args.o = TensorRef::packed(at(0x2000), config.dtype, {b, t, hv, dv});
    args.gate = TensorRef::packed(at(0x3000), config.gateType, {b, t, hv});
    args.beta = TensorRef::packed(at(0x4000), config.betaType, {b, t, hv});
    if (config.packed)
      args.cuSeqlens = TensorRef::packed(at(0x5000), config.indexType, {n + 1});
    if (config.gateKind == gdn::Gate::Raw)
      args.aLog = args.dtBias = TensorRef::packed(at(0x6000), DType::F32, {hv});
    const bool keyFirst = config.stateLayout == gdn::StateLayout::KeyFirst;
    const TensorRef state = TensorRef::packed(at(0x7000), config.stateType,
                                              {n, hv, keyFirst ? dk : dv, keyFirst ? dv : dk});
    if (config.initialState)
      args.initialState = state;
    if (config.finalState)
      args.finalState = state;
    return args;
  }

  std::optional<Device> device;
};

gdn::Config config24() {
  gdn::Config config;
  config.headsQk = 2;
  config.headsV = 4;
  return config;
}

} // namespace

TEST_F(GdnLaunch, PackedHalvesAndWholeHeads) {
  gdn::Config config = config24();
  EXPECT_EQ(run(config), "14 24"); // 2 × (210 / 64 + 3 + 1), 2 × 4 × 3
  recorder = Recorder();
  config.valueBlock = 128;
  EXPECT_EQ(run(config), "14 12");
}

TEST_F(GdnLaunch, BatchWithoutStates) {
  gdn::Config config = config24();
  config.packed = false;
  config.finalState = false;
  EXPECT_EQ(run(config), "8 16");
}

TEST_F(GdnLaunch, EveryOptionalArgument) {
  gdn::Config config = config24();
  config.dimK = 64;
  config.initialState = true;
  config.stateLayout = gdn::StateLayout::ValueFirst;
  config.stateType = DType::BF16;
  config.gateKind = gdn::Gate::Raw;
  config.gateType = config.betaType = DType::BF16;
  config.sigmoidBeta = true;
  config.indexType = DType::I64;
  EXPECT_EQ(run(config), "14 24");
}

TEST_F(GdnLaunch, ASmallWorkspaceIsRefused) {
  FakeCompiler compiler;
  const gdn::Config config = config24();
  const Expected<gdn::Forward> forward = gdn::Forward::create(*device, compiler, config);
  ASSERT_TRUE(forward);
  EXPECT_EQ(compiler.asked, 3);
  const gdn::Arguments args = arguments(config, {1, 210, 3});
  EXPECT_EQ(forward->run(nullptr, args, at(0x100000), 100).error().code, "gdn-workspace");
  EXPECT_EQ(forward->run(nullptr, args, nullptr, 1 << 30).error().code, "gdn-workspace");
  EXPECT_EQ(compiler.asked, 3); // a run asks for nothing
}

TEST_F(GdnLaunch, ValueBlockFillsTheMultiprocessors) {
  FakeCompiler compiler;
  gdn::Config config = config24();
  config.headsV = 64;
  const Expected<gdn::Forward> forward = gdn::Forward::create(*device, compiler, config);
  ASSERT_TRUE(forward);
  const std::int64_t half = device->properties().multiprocessors / 2;
  EXPECT_EQ(forward->valueBlock({1, 100, half / 64}), 64);
  EXPECT_EQ(forward->valueBlock({1, 100, half / 64 + 1}), 128);
}
