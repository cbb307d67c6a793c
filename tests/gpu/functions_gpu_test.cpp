// Errors of the fast functions (tests/gpu/cuda/functions.cuh) against the table
// of docs/language.md, section 5.
#include "tests/gpu/raw_kernel.h"

#include <bit>
#include <cmath>
#include <fmt/format.h>

using namespace flashqla;

namespace {

struct Errors {
  std::vector<std::uint64_t> worst;
  std::vector<std::uint32_t> broken;

  double error(int c) const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(worst[c] >> 32));
  }
  float input(int c) const { return std::bit_cast<float>(static_cast<std::uint32_t>(worst[c])); }
};

class FunctionsTest : public GpuTest {
protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped())
      module.emplace("functions");
  }
  template <class... Args> Errors errors(const std::string &name, const Args &...args) {
    const DeviceArray<std::uint64_t> worst(9);
    const DeviceArray<std::uint32_t> broken(2);
    module->launch("errors_" + name, {.blocks = 132 * 8, .threads = 256}, args..., worst.pointer(),
                   broken.pointer());
    return {worst.download(), broken.download()};
  }
  /// Prints and returns an error.
  double show(const std::string &what, const Errors &errors, int c, const char *unit) {
    std::printf("error %s | %.4f %s (2^%.2f) at %a | %u others\n", what.c_str(), errors.error(c),
                unit, std::log2(errors.error(c)), errors.input(c), errors.broken[0]);
    return errors.error(c);
  }
  std::optional<RawModule> module;
};

} // namespace

TEST_F(FunctionsTest, Exponentials) {
  EXPECT_LE(show("exp2", errors("EXP2"), 0, "ulp"), 2.06);
  const Errors natural = errors("EXP");
  for (int c = 0; c < 8; ++c)
    show(fmt::format("exp |x| < {}", 1 << c), natural, c, "ulp");
  EXPECT_LE(show("exp beyond 1.173 |x| ulp", natural, 8, "ulp"), 2.06);
}

TEST_F(FunctionsTest, Logarithms) {
  const Errors binary = errors("LOG2"), natural = errors("LOG");
  EXPECT_LE(show("log2 in [0.5, 2]", binary, 0, "absolute"), std::exp2(-22.1));
  EXPECT_LE(show("log2 elsewhere", binary, 1, "ulp"), 2.31);
  EXPECT_LE(show("log in [0.5, 2]", natural, 0, "absolute"), std::exp2(-22.4));
  EXPECT_LE(show("log elsewhere", natural, 1, "ulp"), 3.35);
}

TEST_F(FunctionsTest, Roots) {
  EXPECT_LE(show("rsqrt", errors("RSQRT"), 0, "ulp"), 1.52);
  EXPECT_LE(show("sqrt", errors("SQRT"), 0, "ulp"), 0.95);
}

TEST_F(FunctionsTest, Tanh) {
  const Errors seen = errors("TANH");
  show("tanh", seen, 0, "ulp");
  EXPECT_LE(show("tanh", seen, 1, "relative"), std::exp2(-16.4));
}

TEST_F(FunctionsTest, Quotients) {
  const std::uint64_t count = std::uint64_t{1} << 33;
  const Errors seen = errors("divide", count);
  EXPECT_LE(show("x / y of random pairs", seen, 0, "ulp"), 2.13);
  EXPECT_LE(show("x / y with x, y in [1, 2)", seen, 1, "ulp"), 2.13);
  EXPECT_EQ(seen.broken[0], 0u) << "quotients by |y| > 2^126 that are not zero";
}

/// Zeros, subnormals, infinities and NaN, as the table says.
TEST_F(FunctionsTest, SpecialValues) {
  enum Function { Exp2, Exp, Log2, Log, Rsqrt, Sqrt, Tanh, Divide, Max, Min };
  const float inf = INFINITY, nan = NAN, tiny = 0x1p-130f, least = 0x1p-126f, large = 0x1.8p126f;
  struct Case {
    Function function;
    const char *text;
    float x, y, wanted;
  };
  const std::vector<Case> cases = {
      {Exp2, "exp2(inf)", inf, 0, inf},
      {Exp2, "exp2(-inf)", -inf, 0, 0},
      {Exp2, "exp2(nan)", nan, 0, nan},
      {Exp2, "exp2(0)", 0, 0, 1},
      {Exp2, "exp2(subnormal)", tiny, 0, 1},
      {Exp2, "exp2(-127)", -127, 0, 0},
      {Exp, "exp(0)", 0, 0, 1},
      {Exp, "exp(-inf)", -inf, 0, 0},
      {Exp, "exp(-100)", -100, 0, 0},
      {Log2, "log2(0)", 0, 0, -inf},
      {Log2, "log2(subnormal)", tiny, 0, -inf},
      {Log2, "log2(-subnormal)", -tiny, 0, -inf},
      {Log2, "log2(-1)", -1, 0, nan},
      {Log2, "log2(inf)", inf, 0, inf},
      {Log2, "log2(1)", 1, 0, 0},
      {Log, "log(0)", 0, 0, -inf},
      {Rsqrt, "rsqrt(0)", 0, 0, inf},
      {Rsqrt, "rsqrt(-0)", -0.0f, 0, -inf},
      {Rsqrt, "rsqrt(subnormal)", tiny, 0, inf},
      {Rsqrt, "rsqrt(inf)", inf, 0, 0},
      {Rsqrt, "rsqrt(-1)", -1, 0, nan},
      {Sqrt, "sqrt(0)", 0, 0, 0},
      {Sqrt, "sqrt(subnormal)", tiny, 0, 0},
      {Sqrt, "sqrt(inf)", inf, 0, inf},
      {Sqrt, "sqrt(-1)", -1, 0, nan},
      {Tanh, "tanh(inf)", inf, 0, 1},
      {Tanh, "tanh(-inf)", -inf, 0, -1},
      {Tanh, "tanh(subnormal)", tiny, 0, tiny},
      {Tanh, "tanh(nan)", nan, 0, nan},
      {Divide, "1 / 0", 1, 0, inf},
      {Divide, "-1 / 0", -1, 0, -inf},
      {Divide, "0 / 0", 0, 0, nan},
      {Divide, "1 / subnormal", 1, tiny, inf},
      {Divide, "subnormal / 1", tiny, 1, 0},
      {Divide, "2^-126 / 2", least, 2, 0},
      {Divide, "inf / inf", inf, inf, nan},
      {Divide, "1 / inf", 1, inf, 0},
      {Divide, "1 / 1.5 2^126", 1, large, 0},
      {Divide, "2^100 / 1.5 2^126", 0x1p100f, large, 0},
      {Divide, "inf / 1.5 2^126", inf, large, nan},
      {Divide, "1 / 2^126", 1, 0x1p126f, least},
      {Max, "max(1, nan)", 1, nan, 1},
      {Max, "max(nan, nan)", nan, nan, nan},
      {Max, "max(-0, 0)", -0.0f, 0, 0},
      {Max, "max(subnormal, 0)", tiny, 0, tiny},
      {Min, "min(nan, 1)", nan, 1, 1},
      {Min, "min(0, -0)", 0, -0.0f, -0.0f},
  };
  for (const Case &item : cases) {
    const DeviceArray<float> x{std::span<const float>(&item.x, 1)},
        y{std::span<const float>(&item.y, 1)}, z(1);
    module->launch("evaluate", {.blocks = 1, .threads = 32}, static_cast<int>(item.function),
                   x.pointer(), y.pointer(), z.pointer(), 1);
    const float found = z.download()[0];
    const bool same = std::isnan(item.wanted)
                          ? std::isnan(found)
                          : std::bit_cast<int>(found) == std::bit_cast<int>(item.wanted);
    EXPECT_TRUE(same) << item.text << " is " << found << ", not " << item.wanted;
  }
}
