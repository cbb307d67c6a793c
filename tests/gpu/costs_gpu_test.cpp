// Cycles of single operations (tests/gpu/cuda/costs.cuh), printed as `cost NAME
// VALUE UNIT`: the table of docs/hopper.md.
#include "tests/gpu/raw_kernel.h"

#include <algorithm>
#include <fmt/format.h>

using namespace flashqla;

namespace {

using Words = std::vector<std::uint32_t>;

void cost(const std::string &name, double value, const char *unit) {
  std::printf("cost %s %.*f %s\n", name.c_str(), value < 10 ? 2 : value < 100 ? 1 : 0, value, unit);
}

double median(Words values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Every `step`th value.
Words part(const Words &values, std::size_t step, std::size_t first) {
  Words result;
  for (std::size_t i = first; i < values.size(); i += step)
    result.push_back(values[i]);
  return result;
}

class CostsTest : public GpuTest {
protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped())
      module.emplace("costs");
  }
  /// Launched twice; what the second launch wrote.
  template <class... Args>
  Words run(const std::string &entry, LaunchShape shape, std::size_t count, const Args &...args) {
    const DeviceArray<std::uint32_t> out(count);
    for (int repeat = 0; repeat < 2; ++repeat)
      module->launch(entry, shape, args..., out.pointer());
    return out.download();
  }
  std::optional<RawModule> module;
};

/// Rows of 128 bytes; boxes of as many rows as give `bytes`.
CUtensorMap rowsMap(const DeviceBuffer &memory, std::uint64_t rows, unsigned bytes) {
  return encodeMap(memory.data(), {.extents = {64, rows},
                                   .strides = {128},
                                   .box = {64, bytes / 128},
                                   .swizzle = CU_TENSOR_MAP_SWIZZLE_128B});
}

constexpr unsigned boxSizes[] = {8192, 16384, 32768};

} // namespace

TEST_F(CostsTest, Clock) {
  const DeviceArray<std::uint64_t> out(2);
  module->launch("clock_rate", {}, out.pointer());
  const std::vector<std::uint64_t> seen = out.download();
  cost("clock", 1e3 * seen[0] / seen[1], "MHz");
}

TEST_F(CostsTest, Barriers) {
  const std::uint32_t rounds = 1000;
  auto handOver = [&](const char *name, unsigned width, std::uint32_t elected) {
    const Words seen =
        run("hand_over", {.threads = 2 * width, .shared = 1024}, 1, width, elected, rounds);
    cost(name, seen[0] / (2.0 * rounds), "cycles from arrival to the end of the wait");
  };
  handOver("mbarrier.warp", 32, 1);
  handOver("mbarrier.warpgroup", 128, 0);
  handOver("mbarrier.two-warpgroups", 256, 0);
  for (const unsigned threads : {32, 128, 256, 512})
    cost(fmt::format("named-barrier.{}", threads),
         run("named_barriers", {.threads = threads}, 1, rounds)[0] / double(rounds), "cycles");
  for (const unsigned threads : {32, 128}) {
    const Words seen = run("small_operations", {.threads = threads, .shared = 4096}, 7, rounds);
    const char *names[] = {"mbarrier.wait-complete",  "mbarrier.arrive", "fence.proxy.async",
                           "store+fence.proxy.async", "shuffle",         "elect"};
    for (int i = 0; i < 6; ++i)
      cost(fmt::format("{}.{}", names[i], threads), seen[i] / double(rounds), "cycles");
  }
}

TEST_F(CostsTest, Loads) {
  const std::size_t bytes = std::size_t{2} << 30;
  const std::uint64_t rows = bytes / 128;
  const DeviceBuffer memory = must(DeviceBuffer::allocate(device(), bytes));
  must(memory.fill(0));
  const DeviceArray<std::uint8_t> other(std::size_t{256} << 20); // filled to empty the cache
  const auto multiprocessors = static_cast<unsigned>(device().properties().multiprocessors);
  for (const unsigned box : boxSizes) {
    const CUtensorMap map = rowsMap(memory, rows, box);
    const std::uint32_t count = 64, all = static_cast<std::uint32_t>(rows),
                        warm = 24 << 20 >> 7; // 24 MB
    const std::string size = fmt::format(".{}k", box >> 10);
    other.fill(1);
    const DeviceArray<std::uint32_t> cold(2 * count);
    module->launch("load_latency", {.shared = box + 64}, map, box, count, count, all,
                   cold.pointer());
    cost("tma-load.latency.hbm" + size, median(part(cold.download(), 2, 1)), "cycles");
    const Words seen =
        run("load_latency", {.shared = box + 64}, 2 * count, map, box, count, count, warm);
    cost("tma-load.issue" + size, median(part(seen, 2, 0)), "cycles");
    cost("tma-load.latency.l2" + size, median(part(seen, 2, 1)), "cycles");
    const std::uint32_t slots = std::min(8u, 131072 / box), many = (8u << 20) / box;
    for (const unsigned blocks : {1u, multiprocessors}) {
      const LaunchShape shape{.blocks = blocks, .threads = 32, .shared = slots * box + 64};
      const std::string who = (blocks == 1 ? ".one-sm" : ".all-sms") + size;
      auto perCycle = [&](const Words &spans) {
        return double(many) * box / *std::ranges::max_element(spans);
      };
      cost("tma-load.throughput.l2" + who,
           perCycle(run("load_throughput", shape, blocks, map, box, slots, many, 5u, warm)),
           "bytes/cycle/SM");
      other.fill(2);
      const DeviceArray<std::uint32_t> out(blocks);
      module->launch("load_throughput", shape, map, box, slots, many, many, all, out.pointer());
      cost("tma-load.throughput.hbm" + who, perCycle(out.download()), "bytes/cycle/SM");
    }
  }
}

TEST_F(CostsTest, Stores) {
  const std::size_t bytes = std::size_t{1} << 30;
  const std::uint64_t rows = bytes / 128;
  const DeviceBuffer memory = must(DeviceBuffer::allocate(device(), bytes));
  const auto multiprocessors = static_cast<unsigned>(device().properties().multiprocessors);
  for (const unsigned box : boxSizes) {
    const CUtensorMap map = rowsMap(memory, rows, box);
    const std::uint32_t count = 64, warm = 8 << 20 >> 7, all = static_cast<std::uint32_t>(rows),
                        many = (4u << 20) / box;
    const Words seen = run("store_latency", {.threads = 128, .shared = box}, 3 * count, map, box,
                           count, count, warm);
    const char *names[] = {"issue", "read", "complete"};
    for (std::size_t i = 0; i < 3; ++i)
      cost(fmt::format("tma-store.{}.{}k", names[i], box >> 10), median(part(seen, 3, i)),
           "cycles");
    for (const unsigned blocks : {1u, multiprocessors}) {
      const Words spans =
          run("store_throughput", {.blocks = blocks, .threads = 128, .shared = 4 * box}, blocks,
              map, box, many, many, all);
      cost(
          fmt::format("tma-store.throughput.{}.{}k", blocks == 1 ? "one-sm" : "all-sms", box >> 10),
          double(many) * box / *std::ranges::max_element(spans), "bytes/cycle/SM");
    }
  }
}

/// An operand's descriptor without its address, and the step from one k-step to
/// the next in units of 16 bytes.
struct Operand {
  std::uint64_t leading, stride, mode;
  std::uint32_t step;

  std::uint64_t bits() const { return (stride >> 4 | mode << 30) << 32 | leading >> 4 << 16; }
};
constexpr Operand kMajor{16, 1024, 1, 2}, strided{8192, 1024, 1, 128}, swizzle64{16, 512, 2, 0},
    swizzle32{16, 256, 3, 0};

TEST_F(CostsTest, Products) {
  const std::uint32_t rounds = 256;
  auto measure = [&](const std::string &kind, int n, unsigned warpgroups, const Operand &a,
                     const Operand &b, const std::string &note = "") {
    const Words seen =
        run(fmt::format("products_{}_n{}", kind, n), {.threads = 128 * warpgroups, .shared = 65536},
            4, rounds, a.bits(), b.bits(), a.step, b.step);
    const std::string name = fmt::format("wgmma.{}.n{}{}.{}wg", kind, n, note, warpgroups);
    cost(name + ".alone", seen[0], "cycles from fence to wait");
    cost(name + ".group-of-4", seen[1], "cycles from fence to wait");
    cost(name + ".interval", seen[2] / (4.0 * rounds), "cycles a product of each warpgroup");
  };
  for (const char *kind : {"ss", "rs"}) {
    for (const int n : {8, 16, 32, 64, 128, 256})
      measure(kind, n, 1, kMajor, kMajor);
    for (const int n : {64, 128, 256})
      measure(kind, n, 2, kMajor, kMajor);
    for (const int n : {8, 64, 128})
      measure(kind, n, 4, kMajor, kMajor);
    measure(kind, 64, 1, swizzle64, swizzle64, ".swizzle64");
    measure(kind, 64, 1, swizzle32, swizzle32, ".swizzle32");
  }
  for (const int n : {64, 128}) {
    measure("ss_ta", n, 1, strided, kMajor);
    measure("ss_tb", n, 1, kMajor, strided);
    measure("ss_ta_tb", n, 1, strided, strided);
    measure("rs_tb", n, 1, kMajor, strided);
  }
}

TEST_F(CostsTest, Tiles) {
  const std::uint32_t rounds = 200, step = 0;
  const char *names[] = {"store-f32-accumulator",
                         "load-f32-accumulator",
                         "store-f32-vector",
                         "load-f32-vector",
                         "stmatrix-bf16",
                         "ldmatrix-bf16",
                         "fma",
                         "ex2+add",
                         "add+pack-bf16"};
  for (const unsigned warpgroups : {1, 2, 4}) {
    const Words seen =
        run("tiles", {.threads = 128 * warpgroups, .shared = 65536}, 32, rounds, step);
    for (int i = 0; i < 9; ++i)
      cost(fmt::format("tile64x64.{}.{}wg", names[i], warpgroups), seen[i] / double(rounds),
           "cycles a tile of each warpgroup");
  }
}
