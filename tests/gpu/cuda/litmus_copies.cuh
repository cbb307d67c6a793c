// Bulk copies: what a box reads and writes at the edges of a tensor, and when a source may be overwritten. Checked by
// litmus_copies_gpu_test.cpp.

extern __shared__ __align__(1024) u8 shared_memory[];

DEVICE bool load_box(u32 bytes) { // its barrier lies behind the box
  const u32 barrier = shared_address(shared_memory) + bytes;
  for (u32 i = threadIdx.x; i < bytes / 4; i += blockDim.x) store_u32(shared_address(shared_memory) + 4 * i, 0xcccccccc);
  fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    init_barrier(barrier, 1);
    mbarrier_arrive_expect_tx(barrier, bytes);
  }
  __syncthreads();
  return threadIdx.x == 0;
}
DEVICE void dump_box(u32 bytes, u32 *out) {
  const bool landed = wait_bounded(shared_address(shared_memory) + bytes, 0, 1000000);
  for (u32 i = threadIdx.x; i < bytes / 4; i += blockDim.x)
    out[i] = landed ? load_u32(shared_address(shared_memory) + 4 * i) : 0xdddddddd;
}

/// The box as it lies in shared memory.
extern "C" __global__ void load_2d(const __grid_constant__ TensorMap map, int c0, int c1, u32 bytes, u32 *out) {
  const u32 tile = shared_address(shared_memory);
  if (load_box(bytes)) tensor_load(tile, &map, tile + bytes, c0, c1);
  dump_box(bytes, out);
}
extern "C" __global__ void load_4d(const __grid_constant__ TensorMap map, int c0, int c1, int c2, int c3, u32 bytes,
                                   u32 *out) {
  const u32 tile = shared_address(shared_memory);
  if (load_box(bytes)) tensor_load(tile, &map, tile + bytes, c0, c1, c2, c3);
  dump_box(bytes, out);
}

/// Stores a box without swizzle whose 16-bit elements count up from 1.
DEVICE bool count_up(u32 bytes) {
  for (u32 i = threadIdx.x; i < bytes / 2; i += blockDim.x) store_u16(shared_address(shared_memory) + 2 * i, i + 1);
  fence_proxy_async();
  __syncthreads();
  return threadIdx.x == 0;
}
extern "C" __global__ void store_2d(const __grid_constant__ TensorMap map, int c0, int c1, u32 bytes) {
  if (!count_up(bytes)) return;
  tensor_store(&map, shared_address(shared_memory), c0, c1);
  bulk_commit_group();
  bulk_wait_group<0>();
}
extern "C" __global__ void store_4d(const __grid_constant__ TensorMap map, int c0, int c1, int c2, int c3, u32 bytes) {
  if (!count_up(bytes)) return;
  tensor_store(&map, shared_address(shared_memory), c0, c1, c2, c3);
  bulk_commit_group();
  bulk_wait_group<0>();
}

constexpr u32 box_bytes = 8192, boxes = 4; // 64 rows of 128 bytes

DEVICE void write_boxes(u32 value) {
  for (u32 i = threadIdx.x; i < boxes * box_bytes / 16; i += blockDim.x)
    store_shared4(shared_address(shared_memory) + 16 * i, value);
}
DEVICE void store_boxes(const TensorMap *map) {
  for (u32 i = 0; i < boxes; ++i)
    tensor_store(map, shared_address(shared_memory) + i * box_bytes, 0, 64 * (blockIdx.x * boxes + i));
  bulk_commit_group();
}

/// The source of a store is overwritten at once (0), after wait_group.read (1), after wait_group (2): words that left the
/// chip wrong. `target` is what the map covers, [.., 64] of 16-bit elements.
extern "C" __global__ void overwrite_source(const __grid_constant__ TensorMap map, const u32 *target, u32 mode, u32 rounds,
                                            u32 *wrong) {
  const u32 *own = target + blockIdx.x * (boxes * box_bytes / 4);
  u32 count = 0;
  for (u32 round = 1; round <= rounds; ++round) {
    write_boxes(round);
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) {
      store_boxes(&map);
      if (mode == 1) bulk_wait_group_read<0>();
      if (mode == 2) bulk_wait_group<0>();
    }
    __syncthreads();
    write_boxes(~round);
    __syncthreads();
    if (threadIdx.x == 0) bulk_wait_group<0>();
    __syncthreads();
    for (u32 i = threadIdx.x; i < boxes * box_bytes / 4; i += blockDim.x) count += load_volatile(own + i) != round;
    __syncthreads();
  }
  add(wrong, count);
}

/// What the storing thread itself finds in memory right after wait_group.read (1) and wait_group (2).
extern "C" __global__ void visible_after(const __grid_constant__ TensorMap map, const u32 *target, u32 mode, u32 rounds,
                                         u32 *wrong) {
  const u32 *own = target + blockIdx.x * (boxes * box_bytes / 4);
  u32 count = 0;
  for (u32 round = 1; round <= rounds; ++round) {
    write_boxes(round);
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) {
      store_boxes(&map);
      if (mode == 1)
        bulk_wait_group_read<0>();
      else
        bulk_wait_group<0>();
      for (u32 i = 1; i <= boxes; ++i) count += load_volatile(own + i * box_bytes / 4 - 1) != round;
      bulk_wait_group<0>();
    }
    __syncthreads();
  }
  add(wrong, count);
}

/// A group of four boxes, then one of a single small box of 8 rows. wrong[0]: words of the first that are missing after
/// wait_group 1. wrong[1]: rounds in which another warp saw the second group before the end of the first.
extern "C" __global__ void group_order(const __grid_constant__ TensorMap map, const __grid_constant__ TensorMap small,
                                       const u32 *target, const u32 *small_target, u32 rounds, u32 *wrong) {
  const u32 *own = target + blockIdx.x * (boxes * box_bytes / 4), *own_small = small_target + blockIdx.x * 256;
  const u32 source = shared_address(shared_memory) + boxes * box_bytes;
  u32 count = 0;
  for (u32 round = 1; round <= rounds; ++round) {
    write_boxes(round);
    if (threadIdx.x < 64) store_shared4(source + 16 * threadIdx.x, round);
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) {
      store_boxes(&map);
      tensor_store(&small, source, 0, 8 * blockIdx.x);
      bulk_commit_group();
      bulk_wait_group<1>();
      for (u32 i = 0; i < boxes * 8; ++i) count += load_volatile(own + (i + 1) * 256 - 1) != round;
      bulk_wait_group<0>();
    } else if (threadIdx.x == 32) {
      const u32 start = cycles();
      while (load_volatile(own_small + 255) != round && cycles() - start < 1000000) {}
      bool before = false;
      for (u32 i = boxes; i > 0; --i) before |= load_volatile(own + i * box_bytes / 4 - 1) != round;
      count += before;
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) add(wrong, count);
  if (threadIdx.x == 32) add(wrong + 1, count);
}
