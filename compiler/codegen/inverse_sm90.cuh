// x = (I + l)^-1 for a strictly lower triangular 64 × 64 tile l, both in accumulator layout of one warpgroup (warp w holds
// rows 16w … 16w + 15). Printed behind the prelude and its products where a kernel needs it.
//
// With 16 × 16 blocks L_ij, X_ii = (I + L_ii)^-1 is solved by substitution in f32, one column a lane. Each element is
// rounded by `round` as soon as it is known, to the type that the result is rounded to in the end: the rows below are
// solved for what is kept and so make up for it. Errors of rounding at the end add up over the rows of repeated keys.
//
// Two levels merge blocks of 16 and then 32:  X_10 = -(X_11 L_10) X_00. Their products are f16 with f32 sums, both pairs
// of the first level side by side as N = 32. f16 keeps correlated keys accurate where bf16 does not: entries are at most
// 1 in magnitude, and what counts is their error relative to 1.
//
// Scratch, 12 KB: B operands of 32 rows of 128 bytes, swizzled, K-major: `lower` holds [L_10 | L_32] transposed in
// bytes 0 … 31 of its rows and the 32 × 32 block below the diagonal in bytes 32 … 95; `done` the same of the inverse.
// Then 1 KB for the diagonal block of each warp. The caller synchronises the warpgroup before and after.
template <float (*round)(float)>
DEVICE void unit_lower_inverse(float *x, const float *l, u32 scratch, u32 warp, u32 lane, u32 barrier) {
  const u32 lower = scratch, done = scratch + 4096, own = scratch + 8192 + 1024 * warp;
  const u32 group = lane / 4, pair = 2 * (lane % 4);
  // Row and 16-byte chunk that this lane names in transposing matrix accesses of a 16 × 16 block.
  const u32 named_row = 8 * (lane / 16) + lane % 8, named_chunk = lane / 8 % 2;
#pragma unroll
  for (int b = 0; b < 4; ++b) {
    if (b > warp) continue; // zero
    const float *e = l + 8 * b;
    if (b == warp) { // row-major f32
      store_f32x2(own + 4 * (group * 16 + pair), e[0], e[1]);
      store_f32x2(own + 4 * ((group + 8) * 16 + pair), e[2], e[3]);
      store_f32x2(own + 4 * (group * 16 + 8 + pair), e[4], e[5]);
      store_f32x2(own + 4 * ((group + 8) * 16 + 8 + pair), e[6], e[7]);
    } else {
      const u32 h0 = pack_f16(e[0], e[1]), h1 = pack_f16(e[2], e[3]), h2 = pack_f16(e[4], e[5]), h3 = pack_f16(e[6], e[7]);
      if (warp % 2 == 1 && b + 1 == warp)
        stmatrix_x4_trans(lower + swizzle128(8 * (warp & 2) + named_row, 16 * named_chunk), h0, h1, h2, h3);
      if (warp >= 2 && b < 2)
        stmatrix_x4_trans(lower + swizzle128(16 * b + named_row, 32 + 32 * (warp - 2) + 16 * named_chunk), h0, h1, h2, h3);
    }
  }
  warp_sync();
  u32 diagonal[4]; // X_ww as an A operand
  {
    float column[16]; // lane % 16 of X_ww
    const u32 c = lane % 16;
#pragma unroll
    for (int r = 0; r < 16; ++r) {
      float sum = r == (int)c ? 1.0f : 0.0f;
#pragma unroll
      for (int first = 0; first < r; first += 4) {
        float row[4];
        load_f32x4(row, own + 4 * (16 * r + first));
#pragma unroll
        for (int k = 0; k < 4; ++k)
          if (first + k < r) sum -= row[k] * column[first + k];
      }
      column[r] = round(sum);
    }
    warp_sync();
    // Column c is row c of the transpose. Even warps write the operand of the first level; odd warps only turn theirs.
    const bool even = warp % 2 == 0;
    const u32 base = even ? done + 128 * 8 * warp : own, pitch = even ? 128 : 32;
    const u32 flip = even ? c % 8 : c / 4 % 2;
    if (lane < 16) {
      store_u32x4(base + c * pitch + ((0 ^ flip) << 4), pack_f16(column[0], column[1]), pack_f16(column[2], column[3]),
                  pack_f16(column[4], column[5]), pack_f16(column[6], column[7]));
      store_u32x4(base + c * pitch + ((1 ^ flip) << 4), pack_f16(column[8], column[9]),
                  pack_f16(column[10], column[11]), pack_f16(column[12], column[13]), pack_f16(column[14], column[15]));
    }
    warp_sync();
    const u32 named_flip = even ? named_row % 8 : named_row / 4 % 2;
    ldmatrix_x4_trans(diagonal, base + named_row * pitch + ((named_chunk ^ named_flip) << 4));
  }
  fence_proxy_async();
  named_barrier(barrier, 128);

  float beside[8]; // odd warps: X_(w, w-1)
  {
    float product[16];
    u32 minus[4];
    wgmma_fence();
    wgmma_m64n32k16_rs_f16_set(product, diagonal, wgmma_descriptor(lower, 16, 1024, 1));
    wgmma_commit_group();
    wgmma_wait_group_0_16(product);
#pragma unroll
    for (int k = 0; k < 4; ++k)
      minus[k] = warp == 3 ? pack_f16(-product[8 + 2 * k], -product[9 + 2 * k]) : pack_f16(-product[2 * k], -product[2 * k + 1]);
    wgmma_fence();
    wgmma_m64n32k16_rs_f16_set(product, minus, wgmma_descriptor(done, 16, 1024, 1));
    wgmma_commit_group();
    wgmma_wait_group_0_16(product);
#pragma unroll
    for (int k = 0; k < 8; ++k) beside[k] = warp == 3 ? product[8 + k] : product[k];
  }
  u32 beside_half[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) beside_half[k] = pack_f16(beside[2 * k], beside[2 * k + 1]);
  if (warp < 2) { // the upper left 32 × 32 block, transposed, in bytes 32 … 95
    stmatrix_x4_trans(done + swizzle128(16 * warp + named_row, 32 + 32 * warp + 16 * named_chunk), diagonal[0], diagonal[1],
                      diagonal[2], diagonal[3]);
    const u32 row = warp ? 0 : 16, chunk = warp ? 64 : 32, keep = warp ? 0xffffffffu : 0; // X_10, and zeros above
    stmatrix_x4_trans(done + swizzle128(row + named_row, chunk + 16 * named_chunk), beside_half[0] & keep,
                      beside_half[1] & keep, beside_half[2] & keep, beside_half[3] & keep);
  }
  fence_proxy_async();
  named_barrier(barrier, 128);

  float below[16]; // warps 2 and 3: columns 0 … 31
  {
    float product[16];
    u32 first[4], second[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      first[k] = warp == 3 ? beside_half[k] : diagonal[k];
      second[k] = warp == 3 ? diagonal[k] : 0;
    }
    wgmma_fence();
    wgmma_m64n32k16_rs_f16_set(product, first, wgmma_descriptor(lower + 32, 16, 1024, 1));
    wgmma_m64n32k16_rs_f16(product, second, wgmma_descriptor(lower + 64, 16, 1024, 1));
    wgmma_commit_group();
    wgmma_wait_group_0_16(product);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      first[k] = pack_f16(-product[2 * k], -product[2 * k + 1]);
      second[k] = pack_f16(-product[8 + 2 * k], -product[9 + 2 * k]);
    }
    wgmma_fence();
    wgmma_m64n32k16_rs_f16_set(below, first, wgmma_descriptor(done + 32, 16, 1024, 1));
    wgmma_m64n32k16_rs_f16(below, second, wgmma_descriptor(done + 64, 16, 1024, 1));
    wgmma_commit_group();
    wgmma_wait_group_0_16(below);
  }
#pragma unroll
  for (int b = 0; b < 4; ++b)
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      const float on = k % 2 ? high_f16(diagonal[k / 2]) : low_f16(diagonal[k / 2]);
      x[8 * b + k] = b > warp ? 0.0f : b == warp ? on : warp % 2 == 1 && b + 1 == warp ? beside[k] : below[8 * (b % 2) + k];
    }
}
