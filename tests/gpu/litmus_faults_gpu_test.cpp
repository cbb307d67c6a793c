// What the chip refuses: each of these kernels ends its context, so that it
// runs in a process of its own, a death test. Litmus lines as in litmus.h.
#include "tests/gpu/litmus.h"
#include "tests/gpu/raw_kernel.h"

#include <cstdlib>
#include <functional>

using namespace flashqla;

namespace {

class LitmusFaultsTest : public GpuTest {
protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    GpuTest::SetUp();
  }
};

/// Runs a kernel and ends the process: 1 with the driver's message if it
/// faulted, else 0.
[[noreturn]] void runAlone(const std::function<void()> &kernel) {
  try {
    kernel();
  } catch (const std::exception &fault) {
    std::fprintf(stderr, "%s\n", fault.what());
    std::_Exit(1);
  }
  std::_Exit(0);
}

void arrive(std::uint32_t count, unsigned threads) {
  const DeviceArray<std::uint32_t> out(2);
  RawModule("litmus_barriers")
      .launch("arrivals_of_warps", {.threads = threads, .shared = 1024}, count, out.pointer());
}

/// A box of 32 columns of 16-bit elements, 8 rows.
CUtensorMap boxMap(const DeviceArray<std::uint16_t> &tensor) {
  return encodeMap(tensor.pointer(), {.extents = {64, 32}, .strides = {128}, .box = {32, 8}});
}

void arriveOnce(std::uint32_t count, std::uint32_t arrivals) {
  const DeviceArray<std::uint32_t> out(2);
  RawModule("litmus_barriers")
      .launch("arrival_with_count", {.shared = 1024}, count, arrivals, out.pointer());
}

void load(int column, int row) {
  const DeviceArray<std::uint16_t> tensor(64 * 32);
  const DeviceArray<std::uint32_t> out(128);
  RawModule("litmus_copies")
      .launch("load_2d", {.threads = 128, .shared = 512 + 16}, boxMap(tensor), column, row, 512u,
              out.pointer());
}

void store(int column, int row) {
  const DeviceArray<std::uint16_t> tensor(64 * 32);
  RawModule("litmus_copies")
      .launch("store_2d", {.threads = 128, .shared = 512}, boxMap(tensor), column, row, 512u);
}

} // namespace

#define EXPECT_FAULT(kernel, error)                                                                \
  EXPECT_EXIT(runAlone([] { kernel; }), testing::ExitedWithCode(1), error)

/// Arrivals of one instruction are added up over the lanes of a warp before
/// they are counted.
TEST_F(LitmusFaultsTest, AWarpArrivesMoreOftenThanThePhaseLacks) {
  EXPECT_FAULT(arrive(1, 2), "LAUNCH_FAILED");
  EXPECT_FAULT(arrive(31, 32), "LAUNCH_FAILED");
  EXPECT_FAULT(arrive(48, 64), "LAUNCH_FAILED");
  EXPECT_FAULT(arriveOnce(4, 5), "LAUNCH_FAILED");
  litmus("warp-arrivals", "an instruction with more arrivals than the phase lacks faults",
         "faulted", !HasFailure());
}

TEST_F(LitmusFaultsTest, BoxesAtOddColumns) {
  EXPECT_FAULT(load(4, 0), "ILLEGAL_INSTRUCTION");
  EXPECT_FAULT(load(-1, 0), "ILLEGAL_INSTRUCTION");
  EXPECT_FAULT(store(4, 0), "ILLEGAL_INSTRUCTION");
  litmus("column-alignment", "bulk copies at columns that are no multiple of 16 bytes fault",
         "faulted", !HasFailure());
}

TEST_F(LitmusFaultsTest, StoresAtNegativeCoordinates) {
  EXPECT_FAULT(store(-8, 0), "ILLEGAL_INSTRUCTION");
  EXPECT_FAULT(store(0, -1), "ILLEGAL_INSTRUCTION");
  litmus("negative-store", "bulk stores at negative coordinates fault", "faulted", !HasFailure());
}
