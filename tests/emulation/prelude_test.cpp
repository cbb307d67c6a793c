// The functions of the compiler's prelude, each by what it is documented to do. Their PTX is
// interpreted, so that this tests the interpreter against what kernels are written for, and the
// prelude's own C++ as well.
#include "kernels/host_tensor.h"
#include "tests/emulation/emulator.h"
#include "tests/emulation/hand_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <set>

using namespace flashqla;
using namespace flashqla::emulation;

namespace {

constexpr const char *cases = R"(
  const u32 t = threadIdx.x;
  u32 *own = data + 64 * t;
  if (which == 0) { // functions
    const float x = __uint_as_float(data[t]), y = __uint_as_float(data[t + 32]);
    const float results[] = {fast_exp2(x), fast_exp(x), fast_log2(x), fast_log(x), fast_rsqrt(x), fast_sqrt(x),
                             fast_tanh(x), fast_divide(x, y), maximum(x, y), minimum(x, y)};
    warp_sync();
    for (int i = 0; i < 10; ++i) data[64 * i + t] = __float_as_uint(results[i]);
  } else if (which == 1) { // 16-bit elements
    const float x = __uint_as_float(own[0]), y = __uint_as_float(own[1]);
    own[2] = pack_bf16(x, y);
    own[3] = pack_f16(x, y);
    const float results[] = {low_bf16(own[2]), high_bf16(own[2]), low_f16(own[3]), high_f16(own[3]),
                             round_bf16(x), round_f16(x), half_bf16(own[2], 1), half_f16(own[3], 0)};
    for (int i = 0; i < 8; ++i) own[4 + i] = __float_as_uint(results[i]);
  } else if (which == 2) { // lanes
    const float x = __uint_as_float(own[0]);
    own[1] = __float_as_uint(shuffle_xor(x, 5));
    own[2] = (u32)(shuffle_xor((i64)t << 33, 1) >> 33);
    own[3] = __float_as_uint(warp_exclusive_scan(x, lane));
    own[4] = __float_as_uint(warp_exclusive_rscan(x, lane));
    own[5] = elect_one();
    own[6] = elect_one();
  } else if (which == 3) { // matrices: element (r, c) of matrix m is 64m + 8r + c, in rows of 16 bytes
    for (int c = 0; c < 8; ++c) store_u16(shared + 16 * t + 2 * c, (u16)(8 * t + c));
    warp_sync();
    ldmatrix_x4(own, shared + 16 * t);
    ldmatrix_x4_trans(own + 4, shared + 16 * t);
    stmatrix_x4(shared + 1024 + 16 * t, own[0], own[1], own[2], own[3]);
    stmatrix_x4_trans(shared + 2048 + 16 * t, own[4], own[5], own[6], own[7]);
    warp_sync();
    load_u32x4(own + 8, shared + 1024 + 16 * t);
    load_u32x4(own + 12, shared + 2048 + 16 * t);
  } else if (which == 4) { // loads and stores
    const u32 at = shared + 64 * t;
    store_f32x4(at, 1.0f + t, 2.0f, 3.0f, 4.0f);
    store_f32x2(at + 16, 5.0f, 6.0f);
    store_u32x4(at + 32, 7, 8, 9, 10);
    store_i64(at + 48, -(i64)t);
    store_u32(at + 56, 11);
    store_f32(at + 60, 12.0f);
    load_f32x4((float *)own, at);
    load_f32x2((float *)own + 4, at + 16);
    load_u32x4(own + 6, at + 32);
    own[10] = (u32)(-load_i64(at + 48));
    own[11] = load_u32(at + 56);
    own[12] = __float_as_uint(load_f32(at + 60));
    own[13] = load_u16(at + 34);
    u32 raw[4];
    load_global_u32x4(raw, own + 4);
    store_global_u32x4(own + 16, raw[0], raw[1], raw[2], raw[3]);
  } else if (which == 5) { // cp.async: 6 of 16 bytes, then 8, then none
    cp_async<16>(shared + 64 * t, own, 6);
    cp_async_commit_group();
    cp_async<8>(shared + 64 * t + 16, own + 4, 8);
    cp_async<4>(shared + 64 * t + 24, own, 0);
    cp_async_commit_group();
    cp_async_wait_group<1>();
    load_u32x4(own + 8, shared + 64 * t);
    cp_async_wait_group<0>();
    own[12] = load_u32(shared + 64 * t + 16);
    own[13] = load_u32(shared + 64 * t + 20);
    own[14] = load_u32(shared + 64 * t + 24);
  } else if (which == 6) { // rows -2 … 5 come and go to 60 … 67, of which four exist
    const u32 full = shared + 4096;
    if (t == 0) {
      mbarrier_init(full, 1);
      fence_mbarrier_init();
      tensor_load(shared, &map0, full, 16, -2);
      mbarrier_arrive_expect_tx(full, 1024);
    }
    warp_sync();
    mbarrier_wait_parity(full, 0);
    store_u32(shared + 128 * 5 + 4 * t, 1000 + t);
    fence_proxy_async();
    warp_sync();
    if (t == 0) {
      tensor_store(&map0, shared, 0, 60);
      bulk_commit_group();
      bulk_wait_group<0>();
    }
  } else if (which == 7) { // phases
    const u32 barrier = shared;
    if (t == 0) mbarrier_init(barrier, 16);
    warp_sync();
    for (int phase = 0; phase < 5; ++phase) {
      if (t % 2) {
        own[phase] = data[64 * (t - 1) + phase];
        mbarrier_arrive(barrier);
      } else {
        mbarrier_wait_parity(barrier, phase & 1);
        own[phase] = phase + 1;
      }
      warp_sync();
    }
  } else if (which == 8) {
    if (t % 4 == 1) exit_thread();
    own[0] = 1;
  } else if (which == 9) { // quotients that are rounded up
    own[2] = (u32)ceildiv((int)own[0], (int)own[1]);
    own[3] = (u32)ceildiv((i64)(int)own[0], (i64)(int)own[1]);
  }
)";

bool isClose(float got, double want) {
  if (std::isnan(want) || std::isinf(want))
    return std::isnan(want) ? std::isnan(got) : got == static_cast<float>(want);
  return std::fabs(got - want) <= 4e-7 * std::fabs(want);
}

class PreludeTest : public testing::Test {
protected:
  void SetUp() override {
    if (!hasCompiler())
      GTEST_SKIP() << "no C++ compiler for the emulation (c++)";
    kernel.emplace(cases, HandKernel::Shape());
  }
  std::uint32_t &own(std::size_t thread, std::size_t index) {
    return kernel->data[64 * thread + index];
  }
  float number(std::size_t thread, std::size_t index) {
    return kernel->number(64 * thread + index);
  }

  std::optional<HandKernel> kernel;
};

} // namespace

TEST_F(PreludeTest, Functions) {
  const float inputs[] = {0.5f, 1,      -1,       3.75f,     0,   -0.0f,
                          20,   1e-40f, INFINITY, -INFINITY, NAN, 126.5f};
  auto x = [&](std::size_t i) { return inputs[i % std::size(inputs)]; };
  for (std::size_t i = 0; i < 32; ++i) {
    kernel->setNumber(i, x(i));
    kernel->setNumber(i + 32, static_cast<float>(i) - 3);
  }
  ASSERT_EQ(kernel->run(0), "");
  for (std::size_t i = 0; i < 32; ++i) {
    // Subnormal numbers count as zero.
    const double a =
        std::fabs(x(i)) < std::numeric_limits<float>::min() ? std::copysign(0.0, x(i)) : x(i);
    const double b = static_cast<double>(i) - 3;
    const double want[] = {
        std::exp2(a),       std::exp2(static_cast<float>(a * 1.4426950408889634f)),
        std::log2(a),       std::log(a),
        1 / std::sqrt(a),   std::sqrt(a),
        std::tanh(x(i)),    a / b,
        std::fmax(x(i), b), std::fmin(x(i), b)};
    for (std::size_t f = 0; f < std::size(want); ++f)
      EXPECT_TRUE(isClose(number(f, i), want[f])) << "function " << f << " of " << a << ", " << b
                                                  << ": " << number(f, i) << ", not " << want[f];
  }
}

TEST_F(PreludeTest, SixteenBitElements) {
  const float inputs[] = {1.00390625f, 1.01171875f, 65519.0f, 65520.0f, 3e38f, 1e-8f, -2.5f, NAN};
  for (std::size_t t = 0; t < 32; ++t) {
    kernel->setNumber(64 * t, inputs[t % 8]);
    kernel->setNumber(64 * t + 1, inputs[t / 8]);
  }
  ASSERT_EQ(kernel->run(1), "");
  auto same = [](float got, float want) {
    return got == want || (std::isnan(got) && std::isnan(want));
  };
  for (std::size_t t = 0; t < 32; ++t) {
    const float x = inputs[t % 8], y = inputs[t / 8];
    EXPECT_EQ(own(t, 2), toBf16(x) | std::uint32_t{toBf16(y)} << 16);
    EXPECT_EQ(own(t, 3), toF16(x) | std::uint32_t{toF16(y)} << 16);
    const float bf16X = fromBf16(toBf16(x)), bf16Y = fromBf16(toBf16(y));
    const float f16X = fromF16(toF16(x)), f16Y = fromF16(toF16(y));
    const float want[] = {bf16X, bf16Y, f16X, f16Y, bf16X, f16X, bf16Y, f16X};
    for (std::size_t i = 0; i < 8; ++i)
      EXPECT_TRUE(same(number(t, 4 + i), want[i])) << i << " of " << x << ", " << y;
  }
}

TEST_F(PreludeTest, Lanes) {
  std::set<std::size_t> leaders;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    for (std::size_t t = 0; t < 32; ++t)
      kernel->setNumber(64 * t, static_cast<float>(t + 1));
    ASSERT_EQ(kernel->run(2, {.seed = seed}), "");
    int elected = 0;
    for (std::size_t t = 0; t < 32; ++t) {
      EXPECT_EQ(number(t, 1), static_cast<float>((t ^ 5) + 1));
      EXPECT_EQ(own(t, 2), t ^ 1);
      EXPECT_EQ(number(t, 3), static_cast<float>(t * (t + 1) / 2));
      EXPECT_EQ(number(t, 4), static_cast<float>(32 * 33 / 2 - (t + 1) * (t + 2) / 2));
      EXPECT_EQ(own(t, 5), own(t, 6));
      if (own(t, 5)) {
        ++elected;
        leaders.insert(t);
      }
    }
    EXPECT_EQ(elected, 1);
  }
  EXPECT_GT(leaders.size(), 1u) << "any lane may be elected";
}

/// PTX ISA, "ldmatrix": lane l holds elements 2 (l mod 4) and the next of row l / 4 of each matrix.
TEST_F(PreludeTest, Matrices) {
  ASSERT_EQ(kernel->run(3), "");
  for (std::size_t lane = 0; lane < 32; ++lane)
    for (std::size_t m = 0; m < 4; ++m) {
      const std::size_t outer = lane / 4, inner = 2 * (lane % 4);
      auto pair = [](std::size_t low, std::size_t high) { return low | high << 16; };
      EXPECT_EQ(own(lane, m), pair(64 * m + 8 * outer + inner, 64 * m + 8 * outer + inner + 1));
      EXPECT_EQ(own(lane, 4 + m),
                pair(64 * m + 8 * inner + outer, 64 * m + 8 * (inner + 1) + outer));
      // Stored as they were loaded they are again what they were.
      for (std::size_t c = 0; c < 4; ++c)
        for (std::size_t copy : {8, 12})
          EXPECT_EQ(own(lane, copy + c), pair(8 * lane + 2 * c, 8 * lane + 2 * c + 1));
    }
}

TEST_F(PreludeTest, LoadsAndStores) {
  ASSERT_EQ(kernel->run(4), "");
  for (std::size_t t = 0; t < 32; ++t) {
    EXPECT_EQ(number(t, 0), 1.0f + static_cast<float>(t));
    for (std::size_t i = 1; i < 6; ++i)
      EXPECT_EQ(number(t, i), static_cast<float>(i + 1));
    for (std::size_t i = 6; i < 10; ++i)
      EXPECT_EQ(own(t, i), i + 1);
    EXPECT_EQ(own(t, 10), t);
    EXPECT_EQ(own(t, 11), 11u);
    EXPECT_EQ(number(t, 12), 12.0f);
    EXPECT_EQ(own(t, 13), 0u); // the upper half of 7
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_EQ(own(t, 16 + i), own(t, 4 + i));
  }
}

TEST_F(PreludeTest, AsynchronousPieces) {
  for (const Timing timing : {Timing::Early, Timing::Late, Timing::Random}) {
    for (std::size_t t = 0; t < 32; ++t)
      for (std::size_t i = 0; i < 8; ++i)
        own(t, i) = static_cast<std::uint32_t>(0x10001 * (16 * t + i));
    ASSERT_EQ(kernel->run(5, {.timing = timing}), "");
    for (std::size_t t = 0; t < 32; ++t) {
      EXPECT_EQ(own(t, 8), own(t, 0));
      EXPECT_EQ(own(t, 9), own(t, 1) & 0xffff);
      EXPECT_EQ(own(t, 10), 0u);
      EXPECT_EQ(own(t, 11), 0u);
      EXPECT_EQ(own(t, 12), own(t, 4));
      EXPECT_EQ(own(t, 13), own(t, 5));
      EXPECT_EQ(own(t, 14), 0u);
    }
  }
}

TEST_F(PreludeTest, BoxesAreClipped) {
  for (const Timing timing : {Timing::Early, Timing::Late, Timing::Random}) {
    for (std::size_t i = 0; i < kernel->data.size(); ++i)
      kernel->data[i] = static_cast<std::uint32_t>(i);
    ASSERT_EQ(kernel->run(6, {.timing = timing}), "");
    for (std::size_t row = 0; row < 64; ++row)
      for (std::size_t column = 0; column < 64; ++column) {
        std::size_t want = 64 * row + column;
        if (row >= 60 && column < 32) // was rows -2, -1, 0, 1 from column 16 on
          want = row < 62 ? 0 : 64 * (row - 62) + column + 16;
        ASSERT_EQ(kernel->data[64 * row + column], want) << row << ", " << column;
      }
  }
}

TEST_F(PreludeTest, PhasesOfABarrier) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    ASSERT_EQ(kernel->run(7, {.seed = seed}), "");
    for (std::size_t t = 0; t < 32; t += 2)
      for (std::size_t phase = 0; phase < 5; ++phase)
        EXPECT_EQ(own(t, phase), phase + 1);
  }
}

TEST_F(PreludeTest, ThreadsMayEnd) {
  ASSERT_EQ(kernel->run(8), "");
  for (std::size_t t = 0; t < 32; ++t)
    EXPECT_EQ(own(t, 0), t % 4 == 1 ? 0u : 1u);
}

TEST_F(PreludeTest, QuotientsAreRoundedUp) {
  constexpr std::array<std::array<std::int32_t, 3>, 9> quotients{
      {{0, 8, 0}, {1, 8, 1}, {8, 8, 1}, {9, 8, 2}, {-1, 8, 0}, {-8, 8, -1}, {-20, 8, -2},
       {2147483647, 1024, 2097152}, {2147483647, 3, 715827883}}};
  for (std::size_t t = 0; t < 32; ++t)
    for (std::size_t i = 0; i < 2; ++i)
      own(t, i) = static_cast<std::uint32_t>(quotients[t % quotients.size()][i]);
  ASSERT_EQ(kernel->run(9), "");
  for (std::size_t t = 0; t < 32; ++t)
    for (std::size_t i = 2; i < 4; ++i)
      EXPECT_EQ(static_cast<std::int32_t>(own(t, i)), quotients[t % quotients.size()][2]) << t;
}

TEST(InverseTest, OfAUnitLowerTriangularTile) {
  if (!hasCompiler())
    GTEST_SKIP() << "no C++ compiler for the emulation (c++)";
  HandKernel::Shape shape{.threads = 128, .sharedBytes = 16 * 1024};
  shape.instructions.needInverse();
  HandKernel kernel(R"(
  float l[32], x[32];
  for (int i = 0; i < 32; ++i) l[i] = __uint_as_float(data[64 * (16 * warp + lane / 4 + 8 * (i / 2 % 2)) + 8 * (i / 4) + 2 * (lane % 4) + i % 2]);
  named_barrier(1, 128);
  unit_lower_inverse<round_f16>(x, l, shared, warp, lane, 1);
  for (int i = 0; i < 32; ++i) data[64 * (16 * warp + lane / 4 + 8 * (i / 2 % 2)) + 8 * (i / 4) + 2 * (lane % 4) + i % 2] = __float_as_uint(x[i]);
)",
                    shape);
  std::vector<double> lower(64 * 64);
  for (std::size_t row = 0; row < 64; ++row)
    for (std::size_t column = 0; column < row; ++column) {
      lower[64 * row + column] = randomNormal(3, 64 * row + column) / 8;
      kernel.setNumber(64 * row + column, static_cast<float>(lower[64 * row + column]));
    }
  ASSERT_EQ(kernel.run(0, {.timing = Timing::Late}), "");
  for (std::size_t column = 0; column < 64; ++column) {
    double inverse[64];
    for (std::size_t row = 0; row < 64; ++row) {
      inverse[row] = row == column;
      for (std::size_t k = 0; k < row; ++k)
        inverse[row] -= lower[64 * row + k] * inverse[k];
      EXPECT_NEAR(kernel.number(64 * row + column), inverse[row], 1e-2) << row << ", " << column;
    }
  }
}
