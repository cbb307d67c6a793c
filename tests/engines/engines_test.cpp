// engines_test [--bundles DIR] [--gtest_…]
//
// Every kernel on every engine (engine.h): the reference in f64, the simulator on both forms, the
// emitted text on the emulated machine, the GPU where there is one. A table of all of them is
// printed at the end. DIR has kernels compiled ahead of time (tools/pack_gpu_bundle.sh), for a
// machine without NVRTC.
#include "kernels/bundle_directory.h"
#include "tests/engines/comparison.h"
#include "tests/engines/gdn_run.h"
#include "tests/gpu/gpu_harness.h"

#include <gtest/gtest-spi.h>

#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

using namespace flashqla;

namespace {

/// Made by `main`.
std::optional<Comparison> comparison;
/// Of kernels compiled ahead of time; empty: they are compiled.
std::string bundles;

/// With half the heads, where kernels need not be those that somebody has compiled: the emulation
/// takes its time.
GdnCase forEngines(GdnCase item) {
  if (bundles.empty())
    item.config.headsV = 4;
  return item;
}

template <class Case> std::string caseName(const testing::TestParamInfo<Case> &info) {
  return info.param.name;
}

} // namespace

class KernelEngines : public testing::TestWithParam<KernelCase> {};

TEST_P(KernelEngines, Agree) {
  const CaseData data = GetParam().make();
  comparison->compare(GetParam().request.kernel, data.wanted, [&](Engine &engine) {
    const Kernel kernel = must(Kernel::load(*engine.device, *engine.kernels, GetParam().request));
    return launchCase(*engine.device, kernel, data);
  });
}

INSTANTIATE_TEST_SUITE_P(All, KernelEngines, testing::ValuesIn(kernelCases()),
                         caseName<KernelCase>);

class GdnEngines : public testing::TestWithParam<GdnCase> {};

TEST_P(GdnEngines, Agree) {
  const GdnCase item = forEngines(GetParam());
  const reference::GdnInputs inputs = makeInputs(item, 1000);
  comparison->compare("gdn.forward", wantedResults(item, inputs), [&](Engine &engine) {
    const gdn::Forward forward =
        must(gdn::Forward::create(*engine.device, *engine.kernels, item.config));
    GdnRun run(*engine.device, item, inputs);
    run.launch(forward);
    must(engine.device->synchronize());
    return run.results();
  });
}

INSTANTIATE_TEST_SUITE_P(Small, GdnEngines, testing::ValuesIn(smallGdnCases()), caseName<GdnCase>);

namespace {

/// What a comparison says about results of engines that are `shift` off the reference, each.
std::string failuresOf(const std::vector<double> &shifts, double tolerance) {
  static SimExecutor idle;
  std::vector<Engine> engines;
  for (std::size_t i = 0; i < shifts.size(); ++i) {
    Engine &engine = engines.emplace_back();
    engine.name = "engine " + std::to_string(i);
    engine.between = "layer " + std::to_string(i);
    engine.exact = i == 1;
    engine.device.emplace(Device::on(idle));
  }
  Comparison compared(std::move(engines));
  testing::TestPartResultArray found;
  {
    const testing::ScopedFakeTestPartResultReporter reporter(&found);
    std::size_t next = 0;
    compared.compare("kernel", {{"x", {1, 1}, tolerance, 0}}, [&](Engine &) {
      HostTensor x(DType::F32, {2});
      x.setValues(std::vector<double>(2, 1 + shifts[next++]));
      return std::vector<HostTensor>{x};
    });
  }
  std::string text;
  for (int i = 0; i < found.size(); ++i) {
    const std::string message = found.GetTestPartResult(i).message();
    if (message.find("the mistake is in") < message.size())
      text += message.substr(message.find('\n') + 1) + "\n"; // without "Failed"
  }
  return text;
}

} // namespace

TEST(Comparison, NamesTheLayerBetweenNeighboursThatDiffer) {
  EXPECT_EQ(failuresOf({0, 0, 0.01, 0.02}, 0.1), "");
  EXPECT_EQ(failuresOf({0.01, 0.02, 0, 0}, 0.1),
            "engine 1 differs from engine 0 by 9.9e-03: the mistake is in layer 1\n");
  EXPECT_EQ(failuresOf({0, 0, 1, 1}, 0.1),
            "engine 2 differs from engine 1 by 1.0e+00: the mistake is in layer 2\n");
  EXPECT_EQ(failuresOf({1, 1, 1}, 0.1),
            "engine 0 differs from the reference by 1.0e+00: the mistake is in layer 0\n");
  EXPECT_EQ(failuresOf({NAN, NAN}, 0.1),
            "engine 0 differs from the reference by nan: the mistake is in layer 0\n");
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc == 3 && std::string_view(argv[1]) == "--bundles") {
    bundles = argv[2];
  } else if (argc != 1) {
    std::fprintf(stderr, "usage: engines_test [--bundles DIR] [--gtest_...]\n");
    return 2;
  }
  comparison.emplace(makeEngines(bundles));
  const int status = RUN_ALL_TESTS();
  std::printf("\n%s", comparison->table().c_str());
  comparison.reset();
  return status;
}
