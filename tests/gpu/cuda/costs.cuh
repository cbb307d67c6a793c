// Cycles of single operations, as a model of time needs them. One CTA unless said otherwise. costs_gpu_test.cpp runs them
// and prints the table of docs/hopper.md.

extern __shared__ __align__(1024) u8 shared_memory[];

DEVICE void clear_shared(u32 bytes) {
  for (u32 i = threadIdx.x; i < bytes / 16; i += blockDim.x) store_shared4(shared_address(shared_memory) + 16 * i, 0);
  fence_proxy_async();
  __syncthreads();
}
/// One thread says what it measured.
DEVICE void report(u32 *out, u32 duration) {
  if (threadIdx.x == 0) *out = duration;
}

// ---- barriers

/// Cycles and nanoseconds of the same span.
extern "C" __global__ void clock_rate(u64 *out) {
  u64 begin, end;
  const u32 start = cycles();
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin)::"memory");
  delay(20000000);
  const u32 span = cycles() - start;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(end)::"memory");
  out[0] = span, out[1] = end - begin;
}

/// Two groups of `width` threads hand each other `rounds` phases; all of them arrive, or (elected) one thread of each group
/// does all of it.
extern "C" __global__ void hand_over(u32 width, u32 elected, u32 rounds, u32 *out) {
  const u32 first = shared_address(shared_memory), second = first + 8, group = threadIdx.x / width;
  if (threadIdx.x == 0) {
    mbarrier_init(first, elected ? 1 : width);
    mbarrier_init(second, elected ? 1 : width);
    fence_mbarrier_init();
  }
  __syncthreads();
  if (elected && threadIdx.x % width) return;
  const u32 start = cycles();
  for (u32 i = 0; i < rounds; ++i) {
    if (group == 1) mbarrier_wait_parity(first, i & 1);
    mbarrier_arrive(group == 0 ? first : second);
    if (group == 0) mbarrier_wait_parity(second, i & 1);
  }
  report(out, cycles() - start);
}

extern "C" __global__ void named_barriers(u32 rounds, u32 *out) {
  __syncthreads();
  const u32 start = cycles();
  for (u32 i = 0; i < rounds; ++i) named_barrier(1, blockDim.x);
  report(out, cycles() - start);
}

/// out: a wait for a phase that is complete, an arrival, fence.proxy.async without and with a store before it, a shuffle
/// in a chain, elect.sync.
extern "C" __global__ void small_operations(u32 rounds, u32 *out) {
  const u32 barrier = shared_address(shared_memory), word = barrier + 1024 + 4 * threadIdx.x;
  if (threadIdx.x == 0) init_barrier(barrier, blockDim.x);
  __syncthreads();
  auto measure = [&](u32 *target, auto body) {
    __syncthreads();
    const u32 start = cycles();
    for (u32 i = 0; i < rounds; ++i) body(i);
    report(target, cycles() - start);
  };
  measure(out, [&](u32) { mbarrier_wait_parity(barrier, 1); });
  measure(out + 1, [&](u32) { mbarrier_arrive(barrier); });
  measure(out + 2, [&](u32) { fence_proxy_async(); });
  measure(out + 3, [&](u32 i) {
    store_u32(word, i);
    fence_proxy_async();
  });
  float x = (float)threadIdx.x;
  measure(out + 4, [&](u32) { x = shuffle_xor(x, 1); });
  u32 chosen = 0;
  measure(out + 5, [&](u32) { chosen += elect_one(); });
  if (x == -1) out[6] = chosen;
}

// ---- bulk copies of boxes with rows of 128 bytes, in turn; those of CTA b begin `apart` boxes behind those of CTA b - 1, and
// all lie in the first `limit` rows

struct Boxes {
  u32 rows, limit, row;
  DEVICE Boxes(u32 bytes, u32 apart, u32 limit)
      : rows(bytes / 128), limit(limit), row((u32)((u64)blockIdx.x * apart * rows % limit)) {}
  DEVICE void next() {
    row += rows;
    if (row >= limit) row -= limit;
  }
};

/// Each load alone. out[2 i]: until it is issued, with its arrival; out[2 i + 1]: until its barrier lets go.
extern "C" __global__ void load_latency(const __grid_constant__ TensorMap map, u32 bytes, u32 count, u32 apart, u32 limit,
                                        u32 *out) {
  if (threadIdx.x) return;
  const u32 tile = shared_address(shared_memory), barrier = tile + bytes;
  init_barrier(barrier, 1);
  Boxes boxes(bytes, apart, limit);
  for (u32 i = 0; i < count; ++i, boxes.next()) {
    const u32 start = cycles();
    mbarrier_arrive_expect_tx(barrier, bytes);
    tensor_load(tile, &map, barrier, 0, (int)boxes.row);
    const u32 issued = cycles();
    mbarrier_wait_parity(barrier, i & 1);
    out[2 * i + 1] = cycles() - start;
    out[2 * i] = issued - start;
  }
}

/// Cycles of `count` loads with `slots`, a power of two, in flight.
extern "C" __global__ void load_throughput(const __grid_constant__ TensorMap map, u32 bytes, u32 slots, u32 count, u32 apart,
                                           u32 limit, u32 *out) {
  if (threadIdx.x) return;
  const u32 tile = shared_address(shared_memory), barriers = tile + slots * bytes;
  for (u32 i = 0; i < slots; ++i) mbarrier_init(barriers + 8 * i, 1);
  fence_mbarrier_init();
  Boxes boxes(bytes, apart, limit);
  u32 slot = 0, phase = 1;
  const u32 start = cycles();
  for (u32 i = 0; i < count + slots; ++i) {
    if (i >= slots) mbarrier_wait_parity(barriers + 8 * slot, phase);
    if (i < count) {
      mbarrier_arrive_expect_tx(barriers + 8 * slot, bytes);
      tensor_load(tile + slot * bytes, &map, barriers + 8 * slot, 0, (int)boxes.row);
      boxes.next();
    }
    slot = slot + 1 & slots - 1;
    phase ^= slot == 0;
  }
  out[blockIdx.x] = cycles() - start;
}

/// Each store alone: out[3 i]: until it is issued and committed, … until wait_group.read returns, … until wait_group does.
extern "C" __global__ void store_latency(const __grid_constant__ TensorMap map, u32 bytes, u32 count, u32 apart, u32 limit,
                                         u32 *out) {
  clear_shared(bytes);
  if (threadIdx.x) return;
  Boxes boxes(bytes, apart, limit);
  for (u32 i = 0; i < count; ++i, boxes.next()) {
    const u32 start = cycles();
    tensor_store(&map, shared_address(shared_memory), 0, (int)boxes.row);
    bulk_commit_group();
    const u32 issued = cycles();
    bulk_wait_group_read<0>();
    const u32 read = cycles();
    bulk_wait_group<0>();
    out[3 * i + 2] = cycles() - start;
    out[3 * i + 1] = read - start;
    out[3 * i] = issued - start;
  }
}

/// Cycles of `count` stores in groups of one, at most three of which are still being read.
extern "C" __global__ void store_throughput(const __grid_constant__ TensorMap map, u32 bytes, u32 count, u32 apart, u32 limit,
                                            u32 *out) {
  clear_shared(4 * bytes);
  if (threadIdx.x) return;
  Boxes boxes(bytes, apart, limit);
  const u32 start = cycles();
  for (u32 i = 0; i < count; ++i, boxes.next()) {
    tensor_store(&map, shared_address(shared_memory) + i % 4 * bytes, 0, (int)boxes.row);
    bulk_commit_group();
    bulk_wait_group_read<3>();
  }
  bulk_wait_group<0>();
  out[blockIdx.x] = cycles() - start;
}

// ---- products

template <int N> struct Constant {
  static constexpr int value = N;
};

/// Every warpgroup of the CTA at once, on the same operands: `a_bits` and `b_bits` are their descriptors without addresses,
/// the steps their distance from one k-step to the next, in units of 16 bytes. out[0]: one product alone, from its fence to
/// its wait; out[1]: a group of four; out[2]: `rounds` groups of four in a row.
template <class Product>
DEVICE void products(u32 rounds, u64 a_bits, u64 b_bits, u32 a_step, u32 b_step, u32 *out) {
  clear_shared(65536);
  const u32 tile = shared_address(shared_memory);
  const u32 registers[4] = {};
  const u64 a = a_bits + (tile >> 4), b = b_bits + (tile + 16384 >> 4);
  float d[Product::n / 2] = {};
  auto measure = [&](u32 *target, u32 groups, auto length) {
    u32 start = 0;
#pragma unroll 1
    for (int repeat = 0; repeat < 3; ++repeat) { // the last one counts
      __syncthreads();
      start = cycles();
#pragma unroll 1
      for (u32 i = 0; i < groups; ++i) {
        wgmma_fence();
#pragma unroll
        for (int k = 0; k < length.value; ++k) Product::issue(d, registers, a + k * a_step, b + k * b_step);
        wgmma_commit_group();
      }
      Product::await(d);
      start = cycles() - start;
    }
    report(target, start);
  };
  measure(out, 1, Constant<1>());
  measure(out + 1, 1, Constant<4>());
  measure(out + 2, rounds, Constant<4>());
  float sum = 0;
  for (int i = 0; i < Product::n / 2; ++i) sum += d[i];
  if (sum != 0) out[3] = 1;
}
#define PRODUCTS(NAME, N, ISSUE, AWAIT)                                                                                     \
  struct NAME {                                                                                                             \
    static constexpr int n = N;                                                                                             \
    DEVICE static void issue(float *d, const u32 *registers, u64 a, u64 b) { ISSUE; }                                       \
    DEVICE static void await(float *d) { AWAIT; }                                                                           \
  };                                                                                                                        \
  extern "C" __global__ void __launch_bounds__(N > 128 ? 256 : 512, 1)                                                      \
      products_##NAME(u32 rounds, u64 a_bits, u64 b_bits, u32 a_step, u32 b_step, u32 *out) {                               \
    products<NAME>(rounds, a_bits, b_bits, a_step, b_step, out);                                                            \
  }
PRODUCTS(ss_n8, 8, wgmma_m64n8k16_ss_bf16(d, a, b), wgmma_wait_group_0_4(d))
PRODUCTS(ss_n16, 16, wgmma_m64n16k16_ss_bf16(d, a, b), wgmma_wait_group_0_8(d))
PRODUCTS(ss_n32, 32, wgmma_m64n32k16_ss_bf16(d, a, b), wgmma_wait_group_0_16(d))
PRODUCTS(ss_n64, 64, wgmma_m64n64k16_ss_bf16(d, a, b), wgmma_wait_group_0_32(d))
PRODUCTS(ss_n128, 128, wgmma_m64n128k16_ss_bf16(d, a, b), wgmma_wait_group_0_64(d))
PRODUCTS(ss_n256, 256, wgmma_m64n256k16_ss_bf16(d, a, b), wgmma_wait_group_0_128(d))
PRODUCTS(rs_n8, 8, wgmma_m64n8k16_rs_bf16(d, registers, b), wgmma_wait_group_0_4(d))
PRODUCTS(rs_n16, 16, wgmma_m64n16k16_rs_bf16(d, registers, b), wgmma_wait_group_0_8(d))
PRODUCTS(rs_n32, 32, wgmma_m64n32k16_rs_bf16(d, registers, b), wgmma_wait_group_0_16(d))
PRODUCTS(rs_n64, 64, wgmma_m64n64k16_rs_bf16(d, registers, b), wgmma_wait_group_0_32(d))
PRODUCTS(rs_n128, 128, wgmma_m64n128k16_rs_bf16(d, registers, b), wgmma_wait_group_0_64(d))
PRODUCTS(rs_n256, 256, wgmma_m64n256k16_rs_bf16(d, registers, b), wgmma_wait_group_0_128(d))
PRODUCTS(ss_ta_n64, 64, wgmma_m64n64k16_ss_bf16_ta(d, a, b), wgmma_wait_group_0_32(d))
PRODUCTS(ss_ta_n128, 128, wgmma_m64n128k16_ss_bf16_ta(d, a, b), wgmma_wait_group_0_64(d))
PRODUCTS(ss_tb_n64, 64, wgmma_m64n64k16_ss_bf16_tb(d, a, b), wgmma_wait_group_0_32(d))
PRODUCTS(ss_tb_n128, 128, wgmma_m64n128k16_ss_bf16_tb(d, a, b), wgmma_wait_group_0_64(d))
PRODUCTS(ss_ta_tb_n64, 64, wgmma_m64n64k16_ss_bf16_ta_tb(d, a, b), wgmma_wait_group_0_32(d))
PRODUCTS(ss_ta_tb_n128, 128, wgmma_m64n128k16_ss_bf16_ta_tb(d, a, b), wgmma_wait_group_0_64(d))
PRODUCTS(rs_tb_n64, 64, wgmma_m64n64k16_rs_bf16_tb(d, registers, b), wgmma_wait_group_0_32(d))
PRODUCTS(rs_tb_n128, 128, wgmma_m64n128k16_rs_bf16_tb(d, registers, b), wgmma_wait_group_0_64(d))

// ---- tiles of 64 × 64 by each warpgroup of the CTA: 32 elements a thread in accumulator layout

/// Each target: cycles of `rounds` tiles. Shared memory: 16 KB of f32 or 8 KB of swizzled bf16 for each warpgroup. `step` is
/// 0, which the assembler does not know: otherwise it would hoist and delete what is measured.
extern "C" __global__ void __launch_bounds__(512, 1) tiles(u32 rounds, u32 step, u32 *out) {
  clear_shared(4 * 16384);
  const u32 warpgroup = threadIdx.x / 128, thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
  const u32 tile = shared_address(shared_memory) + 16384 * warpgroup;
  const u32 direct = tile + (16 * warp + lane / 4) * 256 + 8 * (lane % 4); // accumulator layout, rows of 256 bytes
  const u32 vector = tile + 16 * thread;
  const u32 matrix = tile + swizzle128(16 * warp + lane % 16, 16 * (lane / 16));
  float x[32];
  u32 pairs[16];
#pragma unroll
  for (int i = 0; i < 32; ++i) x[i] = (float)(threadIdx.x + i) * 0x1p-10f;
#pragma unroll
  for (int i = 0; i < 16; ++i) pairs[i] = threadIdx.x + i;
  auto measure = [&](u32 *target, auto body) {
    __syncthreads();
    const u32 start = cycles();
#pragma unroll 1
    for (u32 i = 0; i < rounds; ++i) body(i * step);
    report(target, cycles() - start);
    if (step) { // so that everything counts as used
      float sum = 0;
      for (int i = 0; i < 32; ++i) sum += x[i];
      for (int i = 0; i < 16; ++i) sum += (float)pairs[i];
      out[32 + threadIdx.x] = (u32)sum;
    }
  };
  measure(out, [&](u32 at) {
#pragma unroll
    for (int i = 0; i < 16; ++i)
      store_f32x2(direct + at + i % 2 * 2048 + i / 2 * 32, x[2 * i], x[2 * i + 1]);
  });
  measure(out + 1, [&](u32 at) {
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      float y[2];
      load_f32x2(y, direct + at + i % 2 * 2048 + i / 2 * 32);
      x[2 * i] += y[0], x[2 * i + 1] += y[1];
    }
  });
  measure(out + 2, [&](u32 at) {
#pragma unroll
    for (int i = 0; i < 8; ++i)
      store_f32x4(vector + at + 2048 * i, x[4 * i], x[4 * i + 1], x[4 * i + 2], x[4 * i + 3]);
  });
  measure(out + 3, [&](u32 at) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      float y[4];
      load_f32x4(y, vector + at + 2048 * i);
      for (int k = 0; k < 4; ++k) x[4 * i + k] += y[k];
    }
  });
  measure(out + 4, [&](u32 at) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      stmatrix_x4((matrix ^ 32 * i) + at, pairs[4 * i], pairs[4 * i + 1], pairs[4 * i + 2], pairs[4 * i + 3]);
  });
  measure(out + 5, [&](u32 at) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      u32 y[4];
      ldmatrix_x4(y, (matrix ^ 32 * i) + at);
      for (int k = 0; k < 4; ++k) pairs[4 * i + k] ^= y[k];
    }
  });
  measure(out + 6, [&](u32) {
#pragma unroll
    for (int i = 0; i < 32; ++i) x[i] = fmaf(x[i], 0.75f, 0.125f);
  });
  measure(out + 7, [&](u32) { // and a subtraction, which keeps it in range
#pragma unroll
    for (int i = 0; i < 32; ++i) x[i] = fast_exp2(x[i]) - 1.5f;
  });
  measure(out + 8, [&](u32) { // rounded to pairs of bf16, of what changes each time
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      x[2 * i] += 1;
      pairs[i] ^= pack_bf16(x[2 * i], x[2 * i + 1]);
    }
  });
}
