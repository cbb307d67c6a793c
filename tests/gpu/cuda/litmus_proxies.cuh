// Threads and engines on the same bytes of shared memory: which fences are needed to see what. Each kernel counts what it
// sees of older or newer rounds. Checked by litmus_proxies_gpu_test.cpp, which prints the rates: a rate of zero proves
// nothing, as PTX promises the order only with the fence.
//
// Modes: 0 no fence, 1 a fence in the writing threads before the barrier, 2 a fence in the reading threads behind it.

extern __shared__ __align__(1024) u8 shared_memory[];

constexpr u32 tile_bytes = 8192; // 64 rows of 64 elements, swizzled

DEVICE u32 pair(float x) { return pack_bf16(x, x); }
DEVICE float round_value(u32 round) { return (float)(round % 127 + 1); }

/// Threads write a tile, one thread stores it. Mode 3: that thread writes it too, without a barrier or fence.
extern "C" __global__ void write_then_store(const __grid_constant__ TensorMap map, const u32 *target, u32 mode, u32 rounds,
                                            u32 *wrong) {
  const u32 tile = shared_address(shared_memory);
  const u32 *own = target + blockIdx.x * (tile_bytes / 4);
  u32 count = 0;
  for (u32 round = 1; round <= rounds; ++round) {
    if (mode != 3)
      for (u32 i = threadIdx.x; i < tile_bytes / 16; i += 128) store_shared4(tile + 16 * i, round);
    if (mode == 1) fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) {
      if (mode == 3)
        for (u32 i = 0; i < tile_bytes / 16; ++i) store_shared4(tile + 16 * i, round);
      if (mode == 2) fence_proxy_async();
      tensor_store(&map, tile, 0, 64 * blockIdx.x);
      bulk_commit_group();
      bulk_wait_group<0>();
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < tile_bytes / 4; i += 128) count += load_volatile(own + i) != round;
    __syncthreads();
  }
  add(wrong, count);
}

/// Threads write a tile, then a bulk load writes it: the load is what remains.
extern "C" __global__ void __launch_bounds__(128) write_then_load(const __grid_constant__ TensorMap map, u32 mode,
                                                                  u32 rounds, u32 *wrong) {
  const u32 tile = shared_address(shared_memory), full = tile + tile_bytes;
  if (threadIdx.x == 0) init_barrier(full, 1);
  __syncthreads();
  u32 count = 0;
  for (u32 round = 0; round < rounds; ++round) {
    for (u32 i = threadIdx.x; i < tile_bytes / 16; i += 128) store_shared4(tile + 16 * i, ~round);
    if (mode == 1) fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) {
      mbarrier_arrive_expect_tx(full, tile_bytes);
      tensor_load(tile, &map, full, 0, 64 * (round % 127));
    }
    mbarrier_wait_parity(full, round & 1);
    for (u32 i = threadIdx.x; i < tile_bytes / 4; i += 128) count += load_u32(tile + 4 * i) != pair(round_value(round));
    __syncthreads();
  }
  add(wrong, count);
}

/// Sums of 64 equal elements of a tile [64 n, 64 k].
DEVICE void tile_sums(float *d, u32 tile) {
  const u32 ones[4] = {pair(1), pair(1), pair(1), pair(1)};
  wgmma_fence();
  wgmma_m64n64k16_rs_bf16_set(d, ones, wgmma_descriptor(tile, 16, 1024, 1));
  for (int k = 1; k < 4; ++k) wgmma_m64n64k16_rs_bf16(d, ones, wgmma_descriptor(tile + 32 * k, 16, 1024, 1));
  wgmma_commit_group();
  wgmma_wait_group_0_32(d);
}
DEVICE u32 count_other(const float *d, float wanted) {
  u32 count = 0;
  for (int i = 0; i < 32; ++i) count += d[i] != wanted;
  return count;
}

/// Threads write the operand of a product.
extern "C" __global__ void __launch_bounds__(128) write_then_product(u32 mode, u32 rounds, u32 *wrong) {
  const u32 tile = shared_address(shared_memory);
  u32 count = 0;
#pragma unroll 1
  for (u32 round = 1; round <= rounds; ++round) {
    for (u32 i = threadIdx.x; i < tile_bytes / 16; i += 128) store_shared4(tile + 16 * i, pair(round_value(round)));
    if (mode == 1) fence_proxy_async();
    __syncthreads();
    if (mode == 2) fence_proxy_async();
    float d[32];
    tile_sums(d, tile);
    count += count_other(d, 64 * round_value(round));
    __syncthreads();
  }
  add(wrong, count);
}

/// The operand comes by cp.async. Mode 1: fence after it has landed, 2: behind the barrier, 3: before it has landed.
/// `source` holds tiles of rounds 0 … 126, in 16-byte chunks of one value.
extern "C" __global__ void __launch_bounds__(128) async_copy_then_product(const u8 *source, u32 mode, u32 rounds,
                                                                          u32 *wrong) {
  const u32 tile = shared_address(shared_memory);
  u32 count = 0;
#pragma unroll 1
  for (u32 round = 1; round <= rounds; ++round) {
    const u8 *from = source + round % 127 * tile_bytes;
    for (u32 i = threadIdx.x; i < tile_bytes / 16; i += 128) cp_async<16>(tile + 16 * i, from + 16 * i, 16);
    cp_async_commit_group();
    if (mode == 3) fence_proxy_async();
    cp_async_wait_group<0>();
    if (mode == 1) fence_proxy_async();
    __syncthreads();
    if (mode == 2) fence_proxy_async();
    float d[32];
    tile_sums(d, tile);
    count += count_other(d, 64 * round_value(round));
    __syncthreads();
  }
  add(wrong, count);
}

/// A ring of one tile: warp 4 loads tiles of `source` in turn; 128 threads read, arrive without a fence, and look at what
/// they read only then.
extern "C" __global__ void __launch_bounds__(160) read_then_load(const __grid_constant__ TensorMap map, u32 rounds,
                                                                 u32 *wrong) {
  const u32 tile = shared_address(shared_memory), full = tile + tile_bytes, empty = full + 8;
  if (threadIdx.x == 0) {
    mbarrier_init(full, 1);
    mbarrier_init(empty, 128);
    fence_mbarrier_init();
  }
  __syncthreads();
  u32 count = 0;
  for (u32 round = 0; round < rounds; ++round)
    if (threadIdx.x >= 128) {
      if (threadIdx.x > 128) continue;
      mbarrier_wait_parity(empty, round & 1 ^ 1);
      mbarrier_arrive_expect_tx(full, tile_bytes);
      tensor_load(tile, &map, full, 0, 64 * (round % 127));
    } else {
      u32 x[16];
      mbarrier_wait_parity(full, round & 1);
      for (u32 i = 0; i < 4; ++i) load_u32x4(x + 4 * i, tile + 16 * (threadIdx.x + 128 * i));
      mbarrier_arrive(empty);
      for (u32 i = 0; i < 16; ++i) count += x[i] != pair(round_value(round));
    }
  add(wrong, count);
}

/// The same with a role in between: 128 threads wait for the copy and arrive at `handed`; 128 others wait for `handed`
/// alone and read, by loads (0) or by a product (1).
extern "C" __global__ void __launch_bounds__(288) read_second_hand(const __grid_constant__ TensorMap map, u32 mode,
                                                                   u32 rounds, u32 *wrong) {
  const u32 tile = shared_address(shared_memory), full = tile + tile_bytes, empty = full + 8, handed = full + 16;
  if (threadIdx.x == 0) {
    mbarrier_init(full, 1);
    mbarrier_init(empty, 128);
    mbarrier_init(handed, 128);
    fence_mbarrier_init();
  }
  __syncthreads();
  u32 count = 0;
  const u32 role = threadIdx.x / 128;
  if (role == 2) {
    if (threadIdx.x == 256)
      for (u32 round = 0; round < rounds; ++round) {
        mbarrier_wait_parity(empty, round & 1 ^ 1);
        mbarrier_arrive_expect_tx(full, tile_bytes);
        tensor_load(tile, &map, full, 0, 64 * (round % 127));
      }
  } else if (role == 0) {
    for (u32 round = 0; round < rounds; ++round) {
      mbarrier_wait_parity(full, round & 1);
      mbarrier_arrive(handed);
    }
  } else {
#pragma unroll 1
    for (u32 round = 0; round < rounds; ++round) {
      mbarrier_wait_parity(handed, round & 1);
      if (mode == 0) {
        u32 x[16];
        for (u32 i = 0; i < 4; ++i) load_u32x4(x + 4 * i, tile + 16 * (threadIdx.x % 128 + 128 * i));
        for (u32 i = 0; i < 16; ++i) count += x[i] != pair(round_value(round));
      } else {
        float d[32];
        tile_sums(d, tile);
        count += count_other(d, 64 * round_value(round));
      }
      mbarrier_arrive(empty);
    }
  }
  add(wrong, count);
}

/// A long group of products, then a short one: the first is complete after wait_group 1.
extern "C" __global__ void __launch_bounds__(128) product_groups(u32 rounds, u32 *wrong) {
  const u32 tile = shared_address(shared_memory);
  for (u32 i = threadIdx.x; i < 2 * tile_bytes / 16; i += 128) store_shared4(tile + 16 * i, pair(1));
  fence_proxy_async();
  __syncthreads();
  const u32 ones[4] = {pair(1), pair(1), pair(1), pair(1)};
  u32 count = 0;
#pragma unroll 1
  for (u32 round = 0; round < rounds; ++round) {
    float first[64], second[4];
    wgmma_fence();
    wgmma_m64n128k16_rs_bf16_set(first, ones, wgmma_descriptor(tile, 16, 1024, 1));
    for (int k = 1; k < 16; ++k)
      wgmma_m64n128k16_rs_bf16(first, ones, wgmma_descriptor(tile + 32 * (k % 4), 16, 1024, 1));
    wgmma_commit_group();
    wgmma_m64n8k16_rs_bf16_set(second, ones, wgmma_descriptor(tile, 16, 1024, 1));
    wgmma_commit_group();
    wgmma_wait_group_1_64(first);
    for (int i = 0; i < 64; ++i) count += first[i] != 256;
    wgmma_wait_group_0_4(second);
    for (int i = 0; i < 4; ++i) count += second[i] != 16;
  }
  add(wrong, count);
}
