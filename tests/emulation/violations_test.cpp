// What the emulation finds wrong, and how it says so: where, who, what.
#include "tests/emulation/emulator.h"
#include "tests/emulation/hand_kernel.h"

#include <gtest/gtest.h>

using namespace flashqla::emulation;

namespace {

constexpr const char *cases = R"(
  constexpr u32 tile_at = 0;
  constexpr u32 full_at = 8192;
  constexpr u32 other_at = 8200;
  const u32 tile = shared + tile_at, full = shared + full_at;
  const u32 t = threadIdx.x;
  if (t == 0) mbarrier_init(full, 1);
  __syncthreads();
  auto load = [&](u32 target) {
    if (t == 0) tensor_load(target, &map0, full, 0, 0);
    if (t == 0) mbarrier_arrive_expect_tx(full, 1024);
  };
  float acc[8] = {};
  u32 a[4] = {};
  const u64 b = wgmma_descriptor(tile, 16, 1024, 1);
#line 7 "hand.tile"
  switch (which) {
  case 0: mbarrier_wait_parity(full, 0); break;
  case 1: if (warp == 0) named_barrier(3, 128); break;
  case 2: if (lane < 16) warp_sync(); break;
  case 3: if (lane < 16) warp_sync(); else shuffle_xor(1.0f, 1); break;
  case 4: if (t == 0) mbarrier_arrive_expect_tx(full, 16); __syncthreads(); mbarrier_arrive(full); break;
  case 5: mbarrier_arrive(shared + other_at); break;
  case 6: store_f32x4(tile + 8, 0, 0, 0, 0); break;
  case 7: load_u32(shared + 16384); break;
  case 8: store_u32(full, 1); break;
  case 9: load(tile + 64); break;
  case 10: load(tile); load_u32(tile + 4 * t); break;
  case 11: load(tile); mbarrier_wait_parity(full, 0); store_u32(tile + 4 * t, 1); if (t == 0) tensor_store(&map0, tile, 0, 0); break;
  case 12: store_u32(tile + 4 * t, 1); fence_proxy_async(); __syncthreads(); if (t == 0) { tensor_store(&map0, tile, 0, 0); bulk_commit_group(); } __syncthreads(); store_u32(tile + 4 * t, 2); break;
  case 13: store_u32(tile + 4 * t, 1); fence_proxy_async(); __syncthreads(); if (t == 0) { tensor_store(&map0, tile, 0, 0); bulk_commit_group(); } break;
  case 14: load(tile); break;
  case 15: data[64 * 64 + 1024 * 1024 + t] = 1; break;
  case 16: { u32 raw[4]; load_global_u32x4(raw, data + 1); break; }
  case 17: wgmma_m64n16k16_rs_bf16(acc, a, b); break;
  case 18: wgmma_fence(); wgmma_m64n16k16_rs_bf16(acc, a, b); wgmma_commit_group(); break;
  case 19: wgmma_fence(); wgmma_m64n16k16_rs_bf16(acc, a, b + warp); wgmma_commit_group(); wgmma_wait_group_0_8(acc); break;
  case 20: wgmma_fence(); wgmma_m64n16k16_rs_bf16(acc, a, b); acc[3] = 0; wgmma_commit_group(); wgmma_wait_group_0_8(acc); break;
  case 21: wgmma_fence(); wgmma_m64n16k16_rs_bf16(acc, a, b); wgmma_commit_group(); store_u16(tile + 2 * t, 0); break;
  case 22: if (warp == 0) { wgmma_fence(); wgmma_m64n16k16_rs_bf16(acc, a, b); wgmma_commit_group(); wgmma_wait_group_0_8(acc); } break;
  case 23: for (;;) warp_sync();
  case 24: if (t == 0) tensor_load(tile, &map0, full, 0, 0, 0); break;
  case 25: if (t == 0) cp_async<16>(tile, data + 1, 16); break;
  case 26: mbarrier_init(full, 1); break;
  case 27: setmaxnreg_inc<300>(); break;
  case 28: if (t == 0) tensor_load(tile, &map0, full, 2, 0); break;
  case 29: if (t == 0) tensor_store(&map0, tile, 2, 0); break;
  case 30: if (t == 0) tensor_store(&map0, tile, 0, -1); break;
  }
)";

HandKernel::Shape shape() {
  HandKernel::Shape shape{.threads = 128};
  shape.instructions.wgmma({16, false, true, false, false, false, false});
  shape.instructions.waitGroup(0, {8});
  return shape;
}

class ViolationTest : public testing::Test {
protected:
  void SetUp() override {
    if (!hasCompiler())
      GTEST_SKIP() << "no C++ compiler for the emulation (c++)";
    kernel.emplace(cases, shape());
  }
  void expect(int which, const std::string &part, Timing timing = Timing::Late) {
    const std::string text = kernel->run(which, {.timing = timing, .stepLimit = 100'000});
    EXPECT_NE(text.find(part), std::string::npos) << "case " << which << ": " << text;
  }
  std::optional<HandKernel> kernel;
};

} // namespace

TEST_F(ViolationTest, Deadlocks) {
  expect(0,
         "CTA 0: deadlock:\n"
         "  hand.tile:7: threads 0 to 127 wait for full with parity 0: phase 0: 0 of 1 arrivals, 0 "
         "bytes outstanding)");
  expect(1, "deadlock:\n  hand.tile:7: threads 0 to 31 wait at named barrier 3: 32 of 128 threads");
  expect(2, "deadlock:\n  hand.tile:7: threads 0 to 15 wait for other lanes at `bar.warp.sync`");
  expect(3, "where other lanes of the warp are at");
  expect(23, "does not end");
}

TEST_F(ViolationTest, Barriers) {
  expect(4, "full gets more than its 1 arrivals in one phase");
  expect(5, "other (0x2408) is used as a barrier and was not initialised");
  expect(8, "write at full, which is a barrier");
  expect(26, "full is initialised twice");
}

TEST_F(ViolationTest, AddressesOfSharedMemory) {
  expect(6, "write of 16 bytes at tile + 8 (0x408), which is no multiple of 16");
  expect(7, "the kernel has 16384 bytes of shared memory from 0x400");
  expect(9, "a bulk copy with a tile at tile + 64, which is no multiple of 128");
  expect(24, "with 3 coordinates through a tensor map of rank 2");
}

TEST_F(ViolationTest, AddressesOfGlobalMemory) {
  expect(15, "which is in no tensor");
  expect(16, "16 bytes at ");
  expect(25, "cp.async of 16 bytes from ");
}

TEST_F(ViolationTest, PlacesOfBoxes) {
  expect(28, "a bulk copy at column 2, byte 8");
  expect(29, "a bulk copy at column 2, byte 8");
  expect(30, "a bulk store at coordinate -1 of dimension 1");
}

TEST_F(ViolationTest, MissingWaitsForCopies) {
  expect(10, "where an asynchronous copy has not landed");
  expect(12, "which an asynchronous operation in flight still reads");
  expect(13, "the thread ends before its bulk store of line 7 has read tile");
  expect(14, "the CTA ends before the bulk load of line 7 into tile has landed");
}

TEST_F(ViolationTest, MissingFences) {
  for (const Timing timing : {Timing::Early, Timing::Late})
    expect(11, "asynchronous access at tile", timing);
  expect(17, "a product without a wgmma.fence");
}

TEST_F(ViolationTest, Products) {
  expect(18, "ends with a product of line 7 in flight");
  expect(19, "the warps of a warpgroup issue different products");
  expect(20, "was written while a product was in flight");
  expect(21, "which an asynchronous operation in flight still reads");
  expect(22, "issued 0 products and another one of its warpgroup 1");
}

TEST_F(ViolationTest, Registers) { expect(27, "setmaxnreg to 300"); }
