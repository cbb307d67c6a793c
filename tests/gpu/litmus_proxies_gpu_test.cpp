// Threads and engines on the same shared memory
// (tests/gpu/cuda/litmus_proxies.cuh). What PTX promises with a fence is
// asserted; without it only the rate is printed.
#include "tests/gpu/litmus.h"
#include "tests/gpu/raw_kernel.h"

#include <bit>

using namespace flashqla;

namespace {

class LitmusProxiesTest : public GpuTest {
protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped())
      return;
    module.emplace("litmus_proxies");
    blocks = static_cast<unsigned>(device().properties().multiprocessors) * 2;
  }

  template <class... Args>
  std::uint32_t count(const char *entry, unsigned threads, const Args &...args) {
    const DeviceArray<std::uint32_t> wrong(1);
    module->launch(entry, {.blocks = blocks, .threads = threads, .shared = 16384 + 64}, args...,
                   rounds, wrong.pointer());
    return wrong.download()[0];
  }
  std::string stale(std::uint32_t wrong) const {
    return fmt::format("{} stale in {} rounds", wrong, std::uint64_t{blocks} * rounds);
  }
  bool never(const std::string &name, const std::string &fact, std::uint32_t wrong) const {
    return litmus(name, fact, stale(wrong), wrong == 0);
  }
  void rate(const std::string &name, const std::string &question, std::uint32_t wrong) const {
    observe(name, question, stale(wrong));
  }

  std::optional<RawModule> module;
  unsigned blocks = 0;
  const std::uint32_t rounds = 20000;
};

/// 127 tiles of 8 KB; all elements of tile i are 1 + i in bf16.
std::vector<std::uint16_t> countedTiles() {
  std::vector<std::uint16_t> tiles;
  for (int tile = 0; tile < 127; ++tile)
    tiles.insert(tiles.end(), 4096,
                 static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(1.0f + tile) >> 16));
  return tiles;
}

CUtensorMap tilesMap(const DeviceArray<std::uint16_t> &tiles, std::uint64_t count) {
  return encodeMap(tiles.pointer(), {.extents = {64, 64 * count},
                                     .strides = {128},
                                     .box = {64, 64},
                                     .swizzle = CU_TENSOR_MAP_SWIZZLE_128B});
}

} // namespace

TEST_F(LitmusProxiesTest, WritesBeforeStores) {
  const DeviceArray<std::uint16_t> target(std::size_t{blocks} * 4096);
  const CUtensorMap map = tilesMap(target, blocks);
  auto run = [&](unsigned mode) {
    return count("write_then_store", 128, map, target.pointer(), mode);
  };
  EXPECT_TRUE(never("write-store-writers-fence",
                    "with a fence in the writers the store reads what was written", run(1)));
  rate("write-store-no-fence", "no fence at all", run(0));
  rate("write-store-reader-fence", "a fence in the storing thread, behind the barrier", run(2));
  rate("write-store-one-thread", "one thread writes and stores, no fence", run(3));
}

TEST_F(LitmusProxiesTest, WritesBeforeProducts) {
  auto run = [&](unsigned mode) { return count("write_then_product", 128, mode); };
  EXPECT_TRUE(never("write-product-writers-fence",
                    "with a fence in the writers the product reads what was written", run(1)));
  rate("write-product-no-fence", "no fence at all", run(0));
  rate("write-product-reader-fence", "a fence in the reading threads, behind the barrier", run(2));
}

TEST_F(LitmusProxiesTest, AsyncCopiesBeforeProducts) {
  const std::vector<std::uint16_t> tiles = countedTiles();
  const DeviceArray<std::uint16_t> source{std::span<const std::uint16_t>(tiles)};
  auto run = [&](unsigned mode) {
    return count("async_copy_then_product", 128, source.pointer(), mode);
  };
  EXPECT_TRUE(never("cp-async-product-fence",
                    "with a fence after they have landed the product reads them", run(1)));
  rate("cp-async-product-no-fence", "no fence at all", run(0));
  rate("cp-async-product-reader-fence", "a fence in the reading threads, behind the barrier",
       run(2));
  rate("cp-async-product-early-fence", "a fence before they have landed", run(3));
}

TEST_F(LitmusProxiesTest, WritesBeforeLoads) {
  const std::vector<std::uint16_t> tiles = countedTiles();
  const DeviceArray<std::uint16_t> source{std::span<const std::uint16_t>(tiles)};
  auto run = [&](unsigned mode) {
    return count("write_then_load", 128, tilesMap(source, 127), mode);
  };
  EXPECT_TRUE(
      never("write-load-writers-fence", "with a fence in the writers the load comes last", run(1)));
  rate("write-load-no-fence", "no fence at all", run(0));
}

TEST_F(LitmusProxiesTest, ReadsBeforeLoads) {
  const std::vector<std::uint16_t> tiles = countedTiles();
  const DeviceArray<std::uint16_t> source{std::span<const std::uint16_t>(tiles)};
  EXPECT_TRUE(never("read-load",
                    "reads before an arrival are not overtaken by the load "
                    "behind its wait, without a fence",
                    count("read_then_load", 160, tilesMap(source, 127))));
}

TEST_F(LitmusProxiesTest, ReadsAtSecondHand) {
  const std::vector<std::uint16_t> tiles = countedTiles();
  const DeviceArray<std::uint16_t> source{std::span<const std::uint16_t>(tiles)};
  auto run = [&](unsigned mode) {
    return count("read_second_hand", 288, tilesMap(source, 127), mode);
  };
  rate("second-hand-read", "a role reads what was loaded, told of it by another role's arrival",
       run(0));
  rate("second-hand-product", "the same, read by a product", run(1));
}

TEST_F(LitmusProxiesTest, GroupsOfProducts) {
  EXPECT_TRUE(never("product-groups", "after wait_group 1 all groups but the newest are complete",
                    count("product_groups", 128)));
}
