// Which bytes of shared memory a wgmma reads and which registers it writes.
//
// One operand, the probed one, holds at each element a code of the element's own number: its low byte in pass 0, its
// high byte in pass 1, one in pass 2. The other operand is one at a single k and zero elsewhere, for all rows or
// columns. So each register of the result receives the code of the one element that meets k; pass 2 shows that it is
// exactly one. Numbers up to 255 are exact in bf16 and f16. tests/gpu/wgmma_probe.cpp reads the result.
//
// Printed behind the prelude, the products of all forms, and before one kernel for each form
// (tests/gpu/compile_cuda.cpp). A form is a struct with constants and the product itself.

struct OperandCase {
  u32 is_a, start, leading, stride, mode;
};

constexpr u32 region_bytes = 65536; // of each operand; A is in the first

template <class Form> DEVICE u16 narrow(float x) { return Form::f16 ? to_f16(x) : to_bf16(x); }
DEVICE float digit(u32 number, int pass) { return (float)(pass == 0 ? number & 255 : pass == 1 ? number >> 8 : 1); }

/// The code of each element of a region.
template <class Form> DEVICE void fill(u32 region, int pass) {
#pragma unroll 4
  for (u32 i = threadIdx.x; i < region_bytes / 2; i += 128) store_u16(region + 2 * i, narrow<Form>(digit(i, pass)));
}

/// Ones at k0: K-major rows of 128 bytes, or M- and N-major rows of 64 elements, panels of 16 rows.
template <class Form> DEVICE void one_hot(u32 region, u32 extent, bool k_major, u32 k0) {
  const u16 one = narrow<Form>(1.0f);
  if (k_major)
    for (u32 i = threadIdx.x; i < extent * 16; i += 128)
      store_u16(region + swizzle128(i / 16, i % 16 * 2), i % 16 == k0 ? one : (u16)0);
  else
    for (u32 i = threadIdx.x; i < (extent + 63) / 64 * 64 * 16; i += 128)
      store_u16(region + 2 * i, i / 64 % 16 == k0 ? one : (u16)0);
}

DEVICE u64 plain_descriptor(u32 region, bool k_major) { return wgmma_descriptor(region, k_major ? 16 : 2048, 1024, 1); }

template <class Form> DEVICE void probe(const OperandCase &wanted, u8 *out, u64 *descriptor) {
  extern __shared__ __align__(1024) u8 shared_memory[];
  const u32 a_region = shared_address(shared_memory), b_region = a_region + region_bytes;
  const bool is_a = wanted.is_a;
  const u32 region = is_a ? a_region : b_region, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) *descriptor = wgmma_descriptor(wanted.start, wanted.leading, wanted.stride, wanted.mode);
  const u64 probed = wgmma_descriptor(region + wanted.start, wanted.leading, wanted.stride, wanted.mode);
  const u64 a_descriptor = is_a ? probed : plain_descriptor(a_region, !Form::transpose_a);
  const u64 b_descriptor = is_a ? plain_descriptor(b_region, !Form::transpose_b) : probed;
#pragma unroll 1
  for (int pass = 0; pass < 3; ++pass) {
    __syncthreads();
    if (!is_a || !Form::register_a) fill<Form>(region, pass);
#pragma unroll 1
    for (u32 k0 = 0; k0 < 16; ++k0) {
      u32 a[4] = {};
      if (is_a) {
        one_hot<Form>(b_region, Form::n, !Form::transpose_b, k0);
        for (u32 r = 0; r < 4; ++r) { // element 8 t + 2 r + h
          const u32 number = threadIdx.x * 8 + 2 * r;
          a[r] = narrow<Form>(digit(number, pass)) | (u32)narrow<Form>(digit(number + 1, pass)) << 16;
        }
      } else if (Form::register_a) {
        for (u32 r = 0; r < 4; ++r) { // columns 2 (lane mod 4) + h, eight more for registers 2 and 3
          const u32 k = 2 * (lane % 4) + 8 * (r / 2);
          a[r] = (k == k0 ? narrow<Form>(1.0f) : 0) | (k + 1 == k0 ? (u32)narrow<Form>(1.0f) << 16 : 0);
        }
      } else {
        one_hot<Form>(a_region, 64, !Form::transpose_a, k0);
      }
      fence_proxy_async();
      __syncthreads();
      float d[Form::n / 2];
      Form::product(d, a, a_descriptor, b_descriptor);
      u8 *cells = out + (pass * 16 + k0) * (64 * Form::n) + threadIdx.x;
#pragma unroll
      for (int i = 0; i < Form::n / 2; ++i) cells[128 * i] = (u8)d[i];
      __syncthreads();
    }
  }
}
