// Bulk copies at the edges of tensors, and the lives of their sources
// (tests/gpu/cuda/litmus_copies.cuh).
#include "runtime/device_state.h"
#include "runtime/tensor_map.h"
#include "tests/gpu/litmus.h"
#include "tests/gpu/raw_kernel.h"

#include <algorithm>

using namespace flashqla;

namespace {

constexpr std::uint16_t gap = 0xeeee;

/// A tensor of 16-bit elements [rows, columns] whose rows lie `pitch` elements
/// apart; element (r, c) is 1 + 64 r + c.
struct Tensor {
  int rows, columns, pitch;

  std::uint16_t value(int row, int column) const {
    const bool inside = row >= 0 && row < rows && column >= 0 && column < columns;
    return inside ? static_cast<std::uint16_t>(1 + 64 * row + column) : 0;
  }
  std::vector<std::uint16_t> memory(bool filled) const {
    std::vector<std::uint16_t> elements(static_cast<std::size_t>(rows) * pitch, gap);
    for (int row = 0; row < rows && filled; ++row)
      for (int column = 0; column < columns; ++column)
        elements[row * pitch + column] = value(row, column);
    return elements;
  }
  MapShape map(std::uint32_t boxColumns, std::uint32_t boxRows,
               CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE) const {
    return {.extents = {static_cast<std::uint64_t>(columns), static_cast<std::uint64_t>(rows)},
            .strides = {2 * static_cast<std::uint64_t>(pitch)},
            .box = {boxColumns, boxRows},
            .swizzle = swizzle};
  }
};

/// The map of rows `t … e` of a tensor, as the runtime makes it for `t +: 8
/// until e`, and its coordinates.
CUtensorMap raggedMap(void *memory, const Tensor &tensor, int boxColumns, int boxRows) {
  TensorMapRecipe recipe;
  recipe.dimensions = {{.tensorDimension = 1, .box = boxColumns},
                       {.tensorDimension = 0, .box = boxRows}};
  recipe.ragged = true;
  const TensorRef ref =
      TensorRef::strided(memory, DType::BF16, {tensor.rows, tensor.columns}, {tensor.pitch, 1});
  TensorMapCache cache(recipe);
  return *must(cache.get(Gpu::instance().device->state().api,
                         must(requestTensorMap(recipe, "t", ref, memory))));
}
constexpr int ragged = 1 << 30;

class LitmusCopiesTest : public GpuTest {
protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped())
      module.emplace("litmus_copies");
  }
  std::optional<RawModule> module;
};

/// Elements of a loaded box that are not what they should be; rows of
/// `boxColumns`, swizzled within `swizzle` bytes.
int wrongInBox(const std::vector<std::uint32_t> &words, const Tensor &tensor, int c0, int r0,
               int boxColumns, int boxRows, int swizzle) {
  int wrong = 0;
  for (int row = 0; row < boxRows; ++row)
    for (int column = 0; column < boxColumns; ++column) {
      int byte = (row * boxColumns + column) * 2;
      if (swizzle)
        byte ^= (byte >> 7 & (swizzle / 16 - 1)) << 4;
      const auto found = static_cast<std::uint16_t>(words[byte / 4] >> byte % 4 * 8);
      wrong += found != tensor.value(r0 + row, c0 + column);
    }
  return wrong;
}

} // namespace

TEST_F(LitmusCopiesTest, LoadsFillWithZeros) {
  const std::pair<CUtensorMapSwizzle, int> swizzles[] = {{CU_TENSOR_MAP_SWIZZLE_NONE, 0},
                                                         {CU_TENSOR_MAP_SWIZZLE_32B, 32},
                                                         {CU_TENSOR_MAP_SWIZZLE_64B, 64},
                                                         {CU_TENSOR_MAP_SWIZZLE_128B, 128}};
  for (const Tensor &tensor : {Tensor{20, 40, 48}, Tensor{20, 37, 40}, Tensor{3, 8, 8}}) {
    const std::vector<std::uint16_t> memory = tensor.memory(true);
    const DeviceArray<std::uint16_t> device{std::span<const std::uint16_t>(memory)};
    int wrong = 0, boxes = 0;
    for (const auto &[mode, swizzle] : swizzles) {
      const int boxColumns = swizzle ? swizzle / 2 : 64, boxRows = 16;
      const CUtensorMap map = encodeMap(device.pointer(), tensor.map(boxColumns, boxRows, mode));
      for (const auto &[c0, r0] : std::initializer_list<std::pair<int, int>>{
               {0, 0}, {32, 10}, {-8, -3}, {8, -1}, {32, 19}, {0, 20}, {-64, 0}, {1000, 1000}}) {
        const unsigned bytes = static_cast<unsigned>(boxColumns * boxRows * 2);
        const DeviceArray<std::uint32_t> out(bytes / 4);
        module->launch("load_2d", {.blocks = 1, .threads = 128, .shared = bytes + 16}, map, c0, r0,
                       bytes, out.pointer());
        wrong += wrongInBox(out.download(), tensor, c0, r0, boxColumns, boxRows, swizzle);
        ++boxes;
      }
    }
    EXPECT_TRUE(litmus(fmt::format("zero-fill-{}-columns", tensor.columns),
                       "elements outside are zero, 16-byte chunks swizzled",
                       fmt::format("{} wrong elements in {} boxes", wrong, boxes), wrong == 0));
  }
}

TEST_F(LitmusCopiesTest, RaggedLoadsEndAtTheirLimit) {
  const Tensor tensor{40, 64, 64};
  const std::vector<std::uint16_t> memory = tensor.memory(true);
  const DeviceArray<std::uint16_t> device{std::span<const std::uint16_t>(memory)};
  const CUtensorMap map = raggedMap(device.pointer(), tensor, 64, 8);
  int wrong = 0;
  const unsigned bytes = 64 * 8 * 2;
  for (const auto &[t, e] : std::initializer_list<std::pair<int, int>>{
           {0, 40}, {0, 3}, {8, 13}, {32, 40}, {16, 16}, {24, 9}}) {
    const DeviceArray<std::uint32_t> out(bytes / 4);
    module->launch("load_4d", {.blocks = 1, .threads = 128, .shared = bytes + 16}, map, 0,
                   ragged - (e - t), e, ragged, bytes, out.pointer());
    Tensor clipped = tensor;
    clipped.rows = e;
    wrong += wrongInBox(out.download(), clipped, 0, t, 64, 8, 0);
  }
  EXPECT_TRUE(litmus("ragged-load", "rows at and beyond the limit are zero",
                     fmt::format("{} wrong elements", wrong), wrong == 0));
}

TEST_F(LitmusCopiesTest, StoresAreClipped) {
  const unsigned bytes = 64 * 16 * 2;
  auto store = [&](const Tensor &tensor, int c0, int r0) {
    const std::vector<std::uint16_t> memory = tensor.memory(false);
    const DeviceArray<std::uint16_t> device{std::span<const std::uint16_t>(memory)};
    const CUtensorMap map = encodeMap(device.pointer(), tensor.map(64, 16));
    module->launch("store_2d", {.blocks = 1, .threads = 128, .shared = bytes}, map, c0, r0, bytes);
    return device.download();
  };
  // Elements inside that are missing and elements outside that are written.
  int missing = 0, stray = 0;
  for (const auto &[c0, r0] :
       std::initializer_list<std::pair<int, int>>{{0, 0}, {32, 10}, {8, 19}, {0, 20}, {64, 0}}) {
    const Tensor tensor{20, 40, 64};
    const std::vector<std::uint16_t> found = store(tensor, c0, r0);
    for (int row = 0; row < tensor.rows; ++row)
      for (int column = 0; column < tensor.pitch; ++column) {
        const bool inside = row >= r0 && row < r0 + 16 && column >= c0 &&
                            column < std::min(c0 + 64, tensor.columns);
        const std::uint16_t value = found[row * tensor.pitch + column];
        missing += inside && value != (row - r0) * 64 + column - c0 + 1;
        stray += !inside && value != gap;
      }
  }
  EXPECT_TRUE(litmus(
      "store-clipping", "rows of whole 16 bytes: what lies inside is written and nothing else",
      fmt::format("{} missing, {} stray", missing, stray), missing == 0 && stray == 0));

  auto writtenColumns = [&](const Tensor &tensor) { // of row 0
    const std::vector<std::uint16_t> found = store(tensor, 0, 0);
    int first = 0, last = tensor.pitch;
    while (first < last && found[first] == gap)
      ++first;
    while (last > first && found[last - 1] == gap)
      --last;
    return std::pair(first, last);
  };
  std::string seen;
  bool rounded = true;
  for (int columns = 33; columns <= 40; ++columns) {
    const auto [first, last] = writtenColumns({4, columns, 64});
    seen += fmt::format("{}{}→{}", columns == 33 ? "" : ", ", columns, last);
    rounded &= first == 0 && last == 40;
  }
  EXPECT_TRUE(litmus("store-clipping-odd",
                     "a store ends at the multiple of 16 bytes behind the row: "
                     "columns → columns written",
                     seen, rounded));
}

TEST_F(LitmusCopiesTest, RaggedStoresEndAtTheirLimit) {
  const Tensor tensor{40, 64, 64};
  int wrong = 0;
  const unsigned bytes = 64 * 8 * 2;
  for (const auto &[t, e] : std::initializer_list<std::pair<int, int>>{
           {0, 40}, {0, 3}, {8, 13}, {32, 40}, {16, 16}, {24, 9}}) {
    const std::vector<std::uint16_t> memory = tensor.memory(false);
    const DeviceArray<std::uint16_t> device{std::span<const std::uint16_t>(memory)};
    const CUtensorMap map = raggedMap(device.pointer(), tensor, 64, 8);
    module->launch("store_4d", {.blocks = 1, .threads = 128, .shared = bytes}, map, 0,
                   ragged - (e - t), e, ragged, bytes);
    const std::vector<std::uint16_t> found = device.download();
    for (int row = 0; row < tensor.rows; ++row)
      for (int column = 0; column < 64; ++column) {
        const bool inside = row >= t && row < std::min(t + 8, e);
        wrong += found[row * 64 + column] != (inside ? (row - t) * 64 + column + 1 : gap);
      }
  }
  EXPECT_TRUE(litmus("ragged-store", "rows at and beyond the limit are left alone",
                     fmt::format("{} wrong elements", wrong), wrong == 0));
}

TEST_F(LitmusCopiesTest, SourcesOfStores) {
  const unsigned blocks = device().properties().multiprocessors, rounds = 1000, perBlock = 4 * 8192;
  const DeviceArray<std::uint16_t> target(std::size_t{blocks} * perBlock / 2);
  const CUtensorMap map = encodeMap(target.pointer(), {.extents = {64, std::uint64_t{blocks} * 256},
                                                       .strides = {128},
                                                       .box = {64, 64},
                                                       .swizzle = CU_TENSOR_MAP_SWIZZLE_128B});
  auto count = [&](const char *entry, unsigned mode) {
    const DeviceArray<std::uint32_t> wrong(1);
    module->launch(entry, {.blocks = blocks, .threads = 128, .shared = perBlock}, map,
                   target.pointer(), mode, rounds, wrong.pointer());
    return wrong.download()[0];
  };
  auto wrong = [&](std::uint32_t words) {
    return fmt::format("{} words wrong in {} stores of 32 KB", words, blocks * rounds);
  };
  observe("overwrite-at-once", "is the source overwritten without a wait read as it was?",
          wrong(count("overwrite_source", 0)));
  const std::uint32_t read = count("overwrite_source", 1), complete = count("overwrite_source", 2);
  EXPECT_TRUE(litmus("overwrite-after-read", "after wait_group.read the source is free",
                     wrong(read), read == 0));
  EXPECT_TRUE(
      litmus("overwrite-after-wait", "after wait_group too", wrong(complete), complete == 0));
  observe("visible-after-read",
          "does the thread find in memory what it stored after wait_group.read?",
          wrong(count("visible_after", 1)));
  const std::uint32_t late = count("visible_after", 2);
  EXPECT_TRUE(litmus("visible-after-wait", "after wait_group it does", wrong(late), late == 0));
}

TEST_F(LitmusCopiesTest, GroupsOfStores) {
  const unsigned blocks = device().properties().multiprocessors, rounds = 1000;
  const DeviceArray<std::uint16_t> target(std::size_t{blocks} * 4 * 4096),
      small(std::size_t{blocks} * 512);
  const CUtensorMap map = encodeMap(target.pointer(), {.extents = {64, std::uint64_t{blocks} * 256},
                                                       .strides = {128},
                                                       .box = {64, 64},
                                                       .swizzle = CU_TENSOR_MAP_SWIZZLE_128B});
  const CUtensorMap smallMap =
      encodeMap(small.pointer(),
                {.extents = {64, std::uint64_t{blocks} * 8}, .strides = {128}, .box = {64, 8}});
  const DeviceArray<std::uint32_t> wrong(2);
  module->launch("group_order", {.blocks = blocks, .threads = 128, .shared = 4 * 8192 + 1024}, map,
                 smallMap, target.pointer(), small.pointer(), rounds, wrong.pointer());
  const std::vector<std::uint32_t> seen = wrong.download();
  EXPECT_TRUE(litmus("store-groups", "after wait_group 1 all groups but the newest are in memory",
                     fmt::format("{} words missing in {} rounds", seen[0], blocks * rounds),
                     seen[0] == 0));
  observe("store-group-order", "is a later group in memory before an earlier one?",
          fmt::format("in {} of {} rounds", seen[1], blocks * rounds));
}
