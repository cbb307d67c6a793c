// One function per PTX instruction, named after it, and the few device functions that statements of the language
// become. Includes nothing, so that NVRTC needs no headers. This is the only place with inline assembly; products are
// wrapped one by one as they are used, below. Addresses of shared memory are 32-bit, of the shared window.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;
#define DEVICE __device__ __forceinline__

/// A CUtensorMap; passed by value as a __grid_constant__ parameter.
struct alignas(64) TensorMap {
  u64 opaque[16];
};

// ---- threads

DEVICE u32 shared_address(const void *pointer) { return (u32)__cvta_generic_to_shared(pointer); }
/// Hides a value from the optimiser, so that what depends on it is computed where it stands: hoisted out of a role's
/// loop, swizzled addresses and unpacked constants would fill the registers.
DEVICE u32 opaque(u32 x) {
  asm volatile("" : "+r"(x));
  return x;
}
DEVICE bool elect_one() {
  u32 elected;
  asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p;}" : "=r"(elected));
  return elected;
}
DEVICE void warp_sync() { asm volatile("bar.warp.sync 0xffffffff;" ::: "memory"); }
DEVICE void named_barrier(u32 id, u32 threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
DEVICE void exit_thread() { asm volatile("exit;"); }
template <int N> DEVICE void setmaxnreg_inc() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N)); }
template <int N> DEVICE void setmaxnreg_dec() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N)); }
/// Dependent launch: let the next kernel of the stream start; wait for what the previous one wrote.
DEVICE void griddepcontrol_launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
DEVICE void griddepcontrol_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// ---- barriers

DEVICE void mbarrier_init(u32 barrier, u32 count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}
DEVICE void fence_mbarrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
DEVICE void mbarrier_arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
DEVICE void mbarrier_arrive_expect_tx(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
DEVICE void mbarrier_expect_tx(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
/// Spins until the phase with this parity is complete. The loop is in the assembly: a C++ branch between fragment
/// registers in flight would serialise the products.
DEVICE void mbarrier_wait_parity(u32 barrier, u32 parity) {
  asm volatile("{\n"
               ".reg .pred done;\n"
               "SPIN_%=:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
               "@!done bra SPIN_%=;\n"
               "}" ::"r"(barrier),
               "r"(parity)
               : "memory");
}
DEVICE void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
DEVICE void fence_proxy_async_all() { asm volatile("fence.proxy.async;" ::: "memory"); } // global memory as well

// ---- bulk copies; coordinates innermost first

DEVICE void prefetch_tensormap(const TensorMap *map) { asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory"); }
#define TENSOR_LOAD "global.tile.mbarrier::complete_tx::bytes"
DEVICE void tensor_load(u32 target, const TensorMap *map, u32 barrier, int c0) {
  asm volatile("cp.async.bulk.tensor.1d.shared::cluster." TENSOR_LOAD " [%0], [%1, {%3}], [%2];" ::"r"(target),
               "l"(map), "r"(barrier), "r"(c0)
               : "memory");
}
DEVICE void tensor_load(u32 target, const TensorMap *map, u32 barrier, int c0, int c1) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster." TENSOR_LOAD " [%0], [%1, {%3, %4}], [%2];" ::"r"(target),
               "l"(map), "r"(barrier), "r"(c0), "r"(c1)
               : "memory");
}
DEVICE void tensor_load(u32 target, const TensorMap *map, u32 barrier, int c0, int c1, int c2) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster." TENSOR_LOAD " [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(target),
               "l"(map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2)
               : "memory");
}
DEVICE void tensor_load(u32 target, const TensorMap *map, u32 barrier, int c0, int c1, int c2, int c3) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster." TENSOR_LOAD " [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(
                   target),
               "l"(map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
               : "memory");
}
DEVICE void tensor_load(u32 target, const TensorMap *map, u32 barrier, int c0, int c1, int c2, int c3, int c4) {
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster." TENSOR_LOAD " [%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(
                   target),
               "l"(map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
               : "memory");
}
#define TENSOR_STORE "global.shared::cta.tile.bulk_group"
DEVICE void tensor_store(const TensorMap *map, u32 source, int c0) {
  asm volatile("cp.async.bulk.tensor.1d." TENSOR_STORE " [%0, {%2}], [%1];" ::"l"(map), "r"(source), "r"(c0)
               : "memory");
}
DEVICE void tensor_store(const TensorMap *map, u32 source, int c0, int c1) {
  asm volatile("cp.async.bulk.tensor.2d." TENSOR_STORE " [%0, {%2, %3}], [%1];" ::"l"(map), "r"(source), "r"(c0),
               "r"(c1)
               : "memory");
}
DEVICE void tensor_store(const TensorMap *map, u32 source, int c0, int c1, int c2) {
  asm volatile("cp.async.bulk.tensor.3d." TENSOR_STORE " [%0, {%2, %3, %4}], [%1];" ::"l"(map), "r"(source), "r"(c0),
               "r"(c1), "r"(c2)
               : "memory");
}
DEVICE void tensor_store(const TensorMap *map, u32 source, int c0, int c1, int c2, int c3) {
  asm volatile("cp.async.bulk.tensor.4d." TENSOR_STORE " [%0, {%2, %3, %4, %5}], [%1];" ::"l"(map), "r"(source),
               "r"(c0), "r"(c1), "r"(c2), "r"(c3)
               : "memory");
}
DEVICE void tensor_store(const TensorMap *map, u32 source, int c0, int c1, int c2, int c3, int c4) {
  asm volatile("cp.async.bulk.tensor.5d." TENSOR_STORE " [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(map), "r"(source),
               "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
               : "memory");
}
DEVICE void bulk_commit_group() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/// All but the newest N groups have read their tiles / are complete. Only for the thread that committed them.
template <int N> DEVICE void bulk_wait_group_read() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory"); }
template <int N> DEVICE void bulk_wait_group() { asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory"); }

// ---- per-thread asynchronous copies

template <int BYTES> DEVICE void cp_async(u32 target, const void *source, u32 valid_bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(target), "l"(source), "n"(BYTES), "r"(valid_bytes)
               : "memory");
}
DEVICE void cp_async_commit_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> DEVICE void cp_async_wait_group() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }

// ---- products

DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEVICE void wgmma_commit_group() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Matrix descriptor (PTX ISA, "wgmma matrix descriptor"): all offsets count 16-byte units. `leading` and `stride` are
/// byte offsets, `mode` the swizzle: 1 for 128 bytes, 2 for 64, 3 for 32.
DEVICE u64 wgmma_descriptor(u32 address, u32 leading, u32 stride, u32 mode) {
  return (u64)((stride >> 4) | (mode << 30)) << 32 | ((address & 0x3ffff) >> 4 | (leading >> 4) << 16);
}

// ---- 16-bit elements. Two of them make a register, the one with the lower index in the lower half.

DEVICE u32 pack_bf16(float low, float high) {
  u32 pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
DEVICE u32 pack_f16(float low, float high) {
  u32 pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
DEVICE float low_bf16(u32 pair) { return __uint_as_float(pair << 16); }
DEVICE float high_bf16(u32 pair) { return __uint_as_float(pair & 0xffff0000u); }
DEVICE float low_f16(u32 pair) {
  float x;
  asm("{.reg .b16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, l;}" : "=f"(x) : "r"(pair));
  return x;
}
DEVICE float high_f16(u32 pair) {
  float x;
  asm("{.reg .b16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, h;}" : "=f"(x) : "r"(pair));
  return x;
}
DEVICE float half_bf16(u32 pair, int high) { return high ? high_bf16(pair) : low_bf16(pair); }
DEVICE float half_f16(u32 pair, int high) { return high ? high_f16(pair) : low_f16(pair); }
DEVICE u32 with_half(u32 pair, int high, u16 half) {
  return high ? (pair & 0xffffu) | (u32)half << 16 : (pair & 0xffff0000u) | half;
}
DEVICE u16 to_bf16(float x) { return (u16)pack_bf16(x, 0.0f); }
DEVICE u16 to_f16(float x) { return (u16)pack_f16(x, 0.0f); }
DEVICE float from_bf16(u16 x) { return low_bf16(x); }
DEVICE float from_f16(u16 x) { return low_f16(x); }
DEVICE float round_bf16(float x) { return low_bf16(pack_bf16(x, 0.0f)); }
DEVICE float round_f16(float x) { return low_f16(pack_f16(x, 0.0f)); }

// ---- functions of the special-function unit; errors in docs/language.md

DEVICE float fast_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
DEVICE float fast_exp(float x) { return fast_exp2(x * 1.4426950408889634f); }
DEVICE float fast_log2(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
DEVICE float fast_log(float x) { return fast_log2(x) * 0.6931471805599453f; }
DEVICE float fast_rsqrt(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
DEVICE float fast_sqrt(float x) {
  float y;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
DEVICE float fast_tanh(float x) {
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
DEVICE float fast_divide(float x, float y) {
  float z;
  asm("div.approx.ftz.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}
/// Rounds up for every a and positive b; a + b - 1 may be more than an int holds.
DEVICE i64 ceildiv(i64 a, i64 b) { return a / b + (a % b > 0); }
DEVICE int ceildiv(int a, int b) { return a / b + (a % b > 0); }
DEVICE float maximum(float x, float y) { return fmaxf(x, y); }
DEVICE float minimum(float x, float y) { return fminf(x, y); }

// ---- shared memory

DEVICE float load_f32(u32 address) {
  float x;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(address) : "memory");
  return x;
}
DEVICE u32 load_u32(u32 address) {
  u32 x;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(address) : "memory");
  return x;
}
DEVICE u16 load_u16(u32 address) {
  u16 x;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(x) : "r"(address) : "memory");
  return x;
}
DEVICE i64 load_i64(u32 address) {
  i64 x;
  asm volatile("ld.shared.s64 %0, [%1];" : "=l"(x) : "r"(address) : "memory");
  return x;
}
DEVICE void load_f32x2(float *x, u32 address) {
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(x[0]), "=f"(x[1]) : "r"(address) : "memory");
}
DEVICE void load_f32x4(float *x, u32 address) {
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(x[0]), "=f"(x[1]), "=f"(x[2]), "=f"(x[3])
               : "r"(address)
               : "memory");
}
DEVICE void load_u32x4(u32 *x, u32 address) {
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(address)
               : "memory");
}
DEVICE void store_f32(u32 address, float x) { asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(x) : "memory"); }
DEVICE void store_u32(u32 address, u32 x) { asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(x) : "memory"); }
DEVICE void store_u16(u32 address, u16 x) { asm volatile("st.shared.u16 [%0], %1;" ::"r"(address), "h"(x) : "memory"); }
DEVICE void store_i64(u32 address, i64 x) { asm volatile("st.shared.s64 [%0], %1;" ::"r"(address), "l"(x) : "memory"); }
DEVICE void store_f32x2(u32 address, float x, float y) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(x), "f"(y) : "memory");
}
DEVICE void store_f32x4(u32 address, float x, float y, float z, float w) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(x), "f"(y), "f"(z), "f"(w) : "memory");
}
DEVICE void store_u32x4(u32 address, u32 x, u32 y, u32 z, u32 w) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
}
/// Four 8 × 8 matrices of 16-bit elements; lane l gives the address of row l mod 8 of matrix l / 8.
DEVICE void ldmatrix_x4(u32 *x, u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared::cta.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(address)
               : "memory");
}
DEVICE void ldmatrix_x4_trans(u32 *x, u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(address)
               : "memory");
}
DEVICE void stmatrix_x4(u32 address, u32 x, u32 y, u32 z, u32 w) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(x), "r"(y),
               "r"(z), "r"(w)
               : "memory");
}
DEVICE void stmatrix_x4_trans(u32 address, u32 x, u32 y, u32 z, u32 w) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(x),
               "r"(y), "r"(z), "r"(w)
               : "memory");
}

// ---- global memory, 16 bytes at a time

DEVICE void load_global_u32x4(u32 *x, const void *pointer) {
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "l"(pointer)
               : "memory");
}
DEVICE void store_global_u32x4(void *pointer, u32 x, u32 y, u32 z, u32 w) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(pointer), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
}

// ---- across the lanes of a warp

DEVICE float shuffle_xor(float x, int lanes) { return __shfl_xor_sync(0xffffffffu, x, lanes); }
DEVICE i64 shuffle_xor(i64 x, int lanes) { return __shfl_xor_sync(0xffffffffu, x, lanes); }
DEVICE int shuffle_xor(int x, int lanes) { return __shfl_xor_sync(0xffffffffu, x, lanes); }
/// Exclusive prefix sum over the lanes.
DEVICE float warp_exclusive_scan(float x, u32 lane) {
  float sum = x;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const float left = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += left;
  }
  return sum - x;
}
/// Exclusive suffix sum over the lanes.
DEVICE float warp_exclusive_rscan(float x, u32 lane) {
  float sum = x;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const float right = __shfl_down_sync(0xffffffffu, sum, step);
    if (lane + step < 32) sum += right;
  }
  return sum - x;
}

// ---- swizzled tiles (compiler/layout/shared_layout.h): byte offset in a panel of 128, 64 or 32 bytes a row

DEVICE u32 swizzle128(u32 row, u32 byte) { return row * 128 + (byte ^ (row & 7) << 4); }
DEVICE u32 swizzle64(u32 row, u32 byte) { return row * 64 + (byte ^ (row >> 1 & 3) << 4); }
DEVICE u32 swizzle32(u32 row, u32 byte) { return row * 32 + (byte ^ (row >> 2 & 1) << 4); }
