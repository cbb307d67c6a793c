// Phases, arrivals and byte counts of mbarriers, one CTA each. Answers go to `out`; litmus_barriers_gpu_test.cpp says
// what they should be.

extern __shared__ __align__(1024) u8 shared_memory[];

/// Both parities of a fresh barrier, then after 1 … 4 completions.
extern "C" __global__ void parity(u32 *out) {
  if (threadIdx.x) return;
  const u32 barrier = shared_address(shared_memory);
  init_barrier(barrier, 1);
  for (u32 completions = 0; completions < 5; ++completions) {
    out[2 * completions] = wait_bounded(barrier, 0, 2000);
    out[2 * completions + 1] = wait_bounded(barrier, 1, 2000);
    mbarrier_arrive(barrier);
  }
}

/// Two arrivals complete a phase; what do a third and a fourth do?
extern "C" __global__ void over_arrival(u32 *out) {
  if (threadIdx.x) return;
  const u32 barrier = shared_address(shared_memory);
  init_barrier(barrier, 2);
  for (u32 arrivals = 1; arrivals <= 4; ++arrivals) {
    mbarrier_arrive(barrier);
    out[2 * arrivals - 2] = test_parity(barrier, 0);
    out[2 * arrivals - 1] = test_parity(barrier, 1);
  }
}

/// 128 threads at count 128, one arrival that counts for 128, and the largest count there is.
extern "C" __global__ void arrival_counts(u32 *out) {
  const u32 full = shared_address(shared_memory), single = full + 8, most = full + 16;
  if (threadIdx.x == 0) {
    mbarrier_init(full, 128);
    mbarrier_init(single, 128);
    mbarrier_init(most, (1 << 20) - 1);
    fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x) mbarrier_arrive(full);
  __syncthreads();
  if (threadIdx.x) return;
  out[0] = test_parity(full, 0); // 127 of 128
  mbarrier_arrive(full);
  out[1] = test_parity(full, 0);
  mbarrier_arrive_count(single, 128);
  out[2] = test_parity(single, 0);
  u64 state;
  asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(most) : "memory");
  asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(out[3]) : "l"(state));
  mbarrier_arrive_count(most, (1 << 20) - 2);
  out[4] = test_parity(most, 0);
}

/// All threads of the CTA arrive once at a barrier that takes `count` arrivals.
extern "C" __global__ void arrivals_of_warps(u32 count, u32 *out) {
  const u32 barrier = shared_address(shared_memory);
  if (threadIdx.x == 0) init_barrier(barrier, count);
  __syncthreads();
  mbarrier_arrive(barrier);
  __syncthreads();
  if (threadIdx.x) return;
  out[0] = test_parity(barrier, 0);
  out[1] = test_parity(barrier, 1);
}

/// One thread arrives with a count.
extern "C" __global__ void arrival_with_count(u32 count, u32 arrivals, u32 *out) {
  if (threadIdx.x) return;
  const u32 barrier = shared_address(shared_memory);
  init_barrier(barrier, count);
  mbarrier_arrive_count(barrier, arrivals);
  out[0] = test_parity(barrier, 0);
  out[1] = test_parity(barrier, 1);
}

/// Bytes expected before and after they arrive, too few of them, and boxes that are clipped. The tensor is 64 × 64 bf16,
/// the box 8 × 64: 1024 bytes.
extern "C" __global__ void transaction_bytes(const __grid_constant__ TensorMap map, u32 *out) {
  if (threadIdx.x) return;
  const u32 tile = shared_address(shared_memory), barrier = tile + 16384, landed = 30000;
  for (u32 i = 0; i < 8; ++i) mbarrier_init(barrier + 8 * i, 1);
  fence_mbarrier_init();

  mbarrier_arrive_expect_tx(barrier, 1024); // before
  tensor_load(tile, &map, barrier, 0, 0);
  out[0] = wait_bounded(barrier, 0, landed);

  tensor_load(tile + 1024, &map, barrier + 8, 0, 0); // after
  delay(landed);
  out[1] = test_parity(barrier + 8, 0);
  mbarrier_arrive_expect_tx(barrier + 8, 1024);
  out[2] = wait_bounded(barrier + 8, 0, landed);

  tensor_load(tile + 2048, &map, barrier + 16, 0, 0); // the last arrival comes before any expectation
  delay(landed);
  mbarrier_arrive(barrier + 16);
  out[3] = wait_bounded(barrier + 16, 0, landed);
  mbarrier_expect_tx(barrier + 16, 1024);
  out[4] = wait_bounded(barrier + 16, 0, landed);

  mbarrier_arrive_expect_tx(barrier + 24, 512); // too few
  tensor_load(tile + 3072, &map, barrier + 24, 0, 0);
  out[5] = wait_bounded(barrier + 24, 0, landed);

  const int columns[] = {32, 1000, -64}, rows[] = {60, 1000, -8}; // clipped, outside, outside
  for (u32 i = 0; i < 3; ++i) {
    mbarrier_arrive_expect_tx(barrier + 32 + 8 * i, 1024);
    tensor_load(tile + 4096 + 1024 * i, &map, barrier + 32 + 8 * i, columns[i], rows[i]);
    out[6 + i] = wait_bounded(barrier + 32 + 8 * i, 0, landed);
  }
}

/// Three warpgroups enter with 168 registers. The first gives up its own late; when do the others get theirs?
extern "C" __global__ void __launch_bounds__(384, 1) register_pool(u32 *out) {
  __syncthreads();
  const u32 start = cycles(), warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    delay(100000);
    setmaxnreg_dec<40>();
    if (threadIdx.x % 128 == 0) out[0] = cycles() - start;
  } else {
    setmaxnreg_inc<232>();
    if (threadIdx.x % 128 == 0) out[warpgroup] = cycles() - start;
  }
}
