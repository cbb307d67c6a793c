// The host side of GDN without a device: what it refuses, the workspace, the kernels it asks for.
#include "kernels/bundle_directory.h"
#include "kernels/gdn/gdn.h"
#include "kernels/host_tensor.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

using namespace flashqla;

namespace {

alignas(16) char memory[16];

gdn::Config smallConfig() {
  gdn::Config config;
  config.headsQk = 2;
  config.headsV = 4;
  config.initialState = true;
  return config;
}

gdn::Arguments smallArguments() {
  gdn::Arguments args;
  args.q = args.k = TensorRef::packed(memory, DType::BF16, {1, 100, 2, 128});
  args.v = args.o = TensorRef::packed(memory, DType::BF16, {1, 100, 4, 128});
  args.gate = args.beta = TensorRef::packed(memory, DType::F32, {1, 100, 4});
  args.cuSeqlens = TensorRef::packed(memory, DType::I32, {4});
  args.initialState = args.finalState = TensorRef::packed(memory, DType::F32, {3, 4, 128, 128});
  return args;
}

std::string refusal(const gdn::Config &config, const gdn::Arguments &args) {
  const Expected<gdn::Extents> extents = gdn::checkArguments(config, args);
  return extents ? "none" : extents.error().text();
}

} // namespace

TEST(GdnArguments, GoodOnesGiveTheExtents) {
  const Expected<gdn::Extents> extents = gdn::checkArguments(smallConfig(), smallArguments());
  ASSERT_TRUE(extents) << extents.error().text();
  EXPECT_EQ(extents->tokens, 100);
  EXPECT_EQ(extents->sequences, 3);
}

TEST(GdnArguments, EachRefusalNamesTheTensorAndBothSides) {
  const gdn::Config config = smallConfig();
  gdn::Arguments args = smallArguments();
  args.k.sizes[2] = 1;
  EXPECT_EQ(refusal(config, args), "`k` has the shape [1, 100, 1, 128], it should be [B, T, HQ, K] "
                                   "= [1, 100, 2, 128] [gdn-shape]");
  args = smallArguments();
  args.v.dtype = DType::F16;
  EXPECT_EQ(refusal(config, args),
            "`v` has elements of f16, the configuration says bf16 [gdn-dtype]");
  args = smallArguments();
  args.o.strides[3] = 2;
  EXPECT_EQ(refusal(config, args), "`o` has stride 2 in dimension 3; it should be 1 [gdn-stride]");
  args = smallArguments();
  args.q.strides[1] = 260;
  EXPECT_EQ(refusal(config, args),
            "`q` has stride 520 bytes in dimension 1; it needs a multiple of 16 [gdn-alignment]");
  args = smallArguments();
  args.initialState->strides[0] += 8;
  EXPECT_EQ(refusal(config, args),
            "`initial_state` has gaps; it should be row-major without [gdn-stride]");
  args = smallArguments();
  args.finalState.reset();
  EXPECT_EQ(refusal(config, args), "`final_state` is missing; the configuration says that it is "
                                   "given [gdn-argument]");
  args = smallArguments();
  args.aLog = TensorRef::packed(memory, DType::F32, {4});
  EXPECT_EQ(refusal(config, args), "`a_log` is given; the configuration says that there is none "
                                   "[gdn-argument]");
  args = smallArguments();
  args.q.sizes[0] = 2;
  EXPECT_EQ(refusal(config, args), "`q` has B = 2; packed sequences need B = 1 [gdn-shape]");
}

TEST(GdnConfig, RefusesWhatNoKernelComputes) {
  auto refusalOf = [](auto change) {
    gdn::Config config = smallConfig();
    change(config);
    const Expected<void> done = gdn::checkConfig(config);
    return done ? "none" : done.error().code;
  };
  EXPECT_EQ(refusalOf([](gdn::Config &) {}), "none");
  EXPECT_EQ(refusalOf([](gdn::Config &c) { c.dtype = DType::F32; }), "gdn-unsupported");
  EXPECT_EQ(refusalOf([](gdn::Config &c) { c.headsV = 3; }), "gdn-unsupported");
  EXPECT_EQ(refusalOf([](gdn::Config &c) { c.dimK = 256; }), "gdn-unsupported");
  EXPECT_EQ(refusalOf([](gdn::Config &c) { c.dimV = 96; }), "gdn-unsupported");
  EXPECT_EQ(refusalOf([](gdn::Config &c) {
              c.dimV = 192;
              c.valueBlock = 128;
            }),
            "gdn-unsupported");
  EXPECT_EQ(refusalOf([](gdn::Config &c) { c.indexType = DType::F32; }), "gdn-unsupported");
  EXPECT_EQ(refusalOf([](gdn::Config &c) { c.betaType = DType::I32; }), "gdn-unsupported");
}

TEST(GdnWorkspace, NoTwoChunksShareASlot) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::vector<std::int64_t> starts = {0};
    for (std::uint64_t s = 0; s < 1 + seed % 9; ++s)
      starts.push_back(starts.back() + static_cast<std::int64_t>(randomBits(seed, s) % 200));
    const std::int64_t padding = static_cast<std::int64_t>(randomBits(seed, 100) % 300);
    const std::int64_t tokens = starts.back() + padding;
    const auto sequences = static_cast<std::int64_t>(starts.size()) - 1;
    const std::int64_t slots =
        gdn::workspaceSlots(smallConfig(), {.tokens = tokens, .sequences = sequences});
    starts.push_back(tokens); // the padding counts as a sequence
    std::set<std::int64_t> used;
    for (std::int64_t s = 0; s <= sequences; ++s) {
      const std::int64_t first = starts[static_cast<std::size_t>(s)];
      const std::int64_t end = starts[static_cast<std::size_t>(s) + 1];
      for (std::int64_t i = 0; first + i * gdn::chunkTokens < end; ++i) {
        const std::int64_t slot = first / gdn::chunkTokens + s + i;
        EXPECT_TRUE(used.insert(slot).second) << seed;
        EXPECT_LT(slot, slots) << seed;
      }
    }
  }
}

TEST(GdnWorkspace, BytesOfPackedAndBatched) {
  gdn::Config config = smallConfig();
  EXPECT_EQ(gdn::workspaceBytes(config, {1, 100, 3}), 5u * 4 * (2 * 64 * 64 * 2 + 2 * 64 * 4));
  config.packed = false;
  EXPECT_EQ(gdn::workspaceSlots(config, {2, 100, 2}), 4);
  EXPECT_EQ(gdn::workspaceSlots(config, {2, 0, 2}), 0);
}

TEST(GdnRequests, NameOneBundleEach) {
  gdn::Config config = smallConfig();
  const std::vector<KernelRequest> requests = gdn::kernelRequests(config);
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(bundleFileName(requests[0]), "gdn_prepare.HQ2-HV4-DK128-DV128-Ebf16-Ii32-PACKEDtrue-"
                                         "Gf32-Wf32-GATE0-SIGMOIDfalse.fqb");
  EXPECT_EQ(compileArguments(requests[2]),
            "kernels/gdn/forward.tile -k gdn_chain -D HQ=2 -D HV=4 -D DK=128 -D DV=128 -D E=bf16 "
            "-D I=i32 -D PACKED=true -D F=f32 -D BV=128 -D V_FIRST=false -D INITIAL=true "
            "-D FINAL=true");
  EXPECT_NE(requests[0].source.find("kernel gdn_prepare"), std::string::npos);
  config.valueBlock = 64;
  EXPECT_EQ(gdn::kernelRequests(config).size(), 2u);
  BundleDirectory nowhere("/nonexistent");
  const Expected<Bundle> bundle = nowhere.provide(requests[0]);
  ASSERT_FALSE(bundle);
  EXPECT_EQ(bundle.error().code, "file-read");
  EXPECT_EQ(bundle.error().notes.size(), 1u);
}
