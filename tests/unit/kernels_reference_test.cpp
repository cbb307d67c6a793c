// The references against independent formulas: what they say is what the kernels are held to.
#include "kernels/reference.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

using namespace flashqla;

namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

reference::GdnInputs randomGdn(std::int64_t batch, std::int64_t tokens, std::int64_t headsQk,
                               std::int64_t headsV, std::int64_t dimK, std::int64_t dimV) {
  reference::GdnInputs in{.q = HostTensor(DType::F32, {batch, tokens, headsQk, dimK}),
                          .k = HostTensor(DType::F32, {batch, tokens, headsQk, dimK}),
                          .v = HostTensor(DType::F32, {batch, tokens, headsV, dimV}),
                          .gate = HostTensor(DType::F32, {batch, tokens, headsV}),
                          .beta = HostTensor(DType::F32, {batch, tokens, headsV}),
                          .aLog = std::nullopt,
                          .dtBias = std::nullopt,
                          .initialState = std::nullopt,
                          .cuSeqlens = {}};
  fillNormal(in.q, 1);
  fillNormal(in.k, 2);
  fillNormal(in.v, 3);
  normalizeRows(in.q);
  normalizeRows(in.k);
  fillUniform(in.gate, 4, -1, 0);
  fillUniform(in.beta, 5, 0, 1);
  in.scale = 0.25;
  return in;
}

/// The chunked form for one sequence of one head: q, k [T, K], v [T, V], state [K, V] in place.
/// The inverse is applied by forward substitution.
std::vector<double> chunkedGdn(const reference::GdnInputs &in, std::int64_t chunk,
                               std::vector<double> &state) {
  const std::int64_t tokens = in.q.sizes()[1], dimK = in.q.sizes()[3], dimV = in.v.sizes()[3];
  const std::vector<double> q = in.q.values(), k = in.k.values(), v = in.v.values();
  std::vector<double> o(at(tokens * dimV));
  auto dotRows = [&](const std::vector<double> &a, std::int64_t r, const std::vector<double> &b,
                     std::int64_t c) {
    double sum = 0;
    for (std::int64_t i = 0; i < dimK; ++i)
      sum += a[at(r * dimK + i)] * b[at(c * dimK + i)];
    return sum;
  };
  for (std::int64_t first = 0; first < tokens; first += chunk) {
    const std::int64_t n = std::min(chunk, tokens - first);
    std::vector<double> g(at(n));
    for (std::int64_t r = 0; r < n; ++r)
      g[at(r)] = (r ? g[at(r - 1)] : 0) + in.gate.get(first + r);
    const std::vector<double> before = state;
    for (std::int64_t d = 0; d < dimV; ++d) {
      std::vector<double> update(at(n)); // V'[:, d] / beta solves a unit lower triangular system
      for (std::int64_t r = 0; r < n; ++r) {
        double w = v[at((first + r) * dimV + d)], out = 0;
        for (std::int64_t i = 0; i < dimK; ++i) {
          const double s = std::exp(g[at(r)]) * before[at(i * dimV + d)];
          w -= k[at((first + r) * dimK + i)] * s;
          out += q[at((first + r) * dimK + i)] * s;
        }
        for (std::int64_t c = 0; c < r; ++c)
          w -= std::exp(g[at(r)] - g[at(c)]) * dotRows(k, first + r, k, first + c) * update[at(c)];
        update[at(r)] = in.beta.get(first + r) * w;
        for (std::int64_t c = 0; c <= r; ++c)
          out +=
              std::exp(g[at(r)] - g[at(c)]) * dotRows(q, first + r, k, first + c) * update[at(c)];
        o[at((first + r) * dimV + d)] = in.scale * out;
      }
      for (std::int64_t i = 0; i < dimK; ++i) {
        double s = std::exp(g[at(n - 1)]) * before[at(i * dimV + d)];
        for (std::int64_t r = 0; r < n; ++r)
          s += k[at((first + r) * dimK + i)] * std::exp(g[at(n - 1)] - g[at(r)]) * update[at(r)];
        state[at(i * dimV + d)] = s;
      }
    }
  }
  return o;
}

} // namespace

TEST(HalfConversion, F16RoundTripsAndAgreesWithTheCompiler) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const float value = fromF16(static_cast<std::uint16_t>(bits));
    const auto want = static_cast<float>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(bits)));
    EXPECT_EQ(std::isnan(value), std::isnan(want)) << bits;
    if (!std::isnan(value)) {
      EXPECT_EQ(value, want);
      EXPECT_EQ(toF16(value), bits);
    }
  }
  for (std::uint64_t i = 0; i < 200000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(randomBits(1, i)));
    if (!std::isnan(value)) {
      EXPECT_EQ(toF16(value), std::bit_cast<std::uint16_t>(static_cast<_Float16>(value))) << value;
    }
  }
  EXPECT_EQ(toF16(65519.9f), 0x7bff);
  EXPECT_EQ(toF16(65520.0f), 0x7c00);
  EXPECT_TRUE(std::isnan(fromF16(toF16(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(HalfConversion, Bf16RoundsToNearestEven) {
  EXPECT_EQ(toBf16(1.0f), 0x3f80);
  EXPECT_EQ(toBf16(1.00390625f), 0x3f80); // halfway: the even neighbour below
  EXPECT_EQ(toBf16(1.01171875f), 0x3f82); // halfway: the even neighbour above
  EXPECT_EQ(toBf16(-3.4e38f), 0xff80);    // beyond the largest bf16
  EXPECT_TRUE(std::isnan(fromBf16(toBf16(std::bit_cast<float>(0x7f800001)))));
  for (int bits = 0; bits < 0x7f80; ++bits)
    EXPECT_EQ(toBf16(fromBf16(static_cast<std::uint16_t>(bits))), bits);
}

TEST(HostTensor, StridesAndGaps) {
  HostTensor tensor = HostTensor::strided(DType::F32, {2, 3}, {8, 2}, 20, 1);
  tensor.fillStorage(-1);
  tensor.setValues(std::vector<double>{0, 1, 2, 3, 4, 5});
  std::vector<float> storage(20);
  std::memcpy(storage.data(), tensor.bytes().data(), tensor.bytes().size());
  EXPECT_EQ(storage, (std::vector<float>{-1, 0, -1, 1, -1, 2,  -1, -1, -1, 3,
                                         -1, 4, -1, 5, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(tensor.values(), (std::vector<double>{0, 1, 2, 3, 4, 5}));
  const TensorRef ref = tensor.ref(storage.data());
  EXPECT_EQ(ref.data, storage.data() + 1);
  EXPECT_EQ(ref.strides[0], 8);
}

TEST(RandomData, HasTheMomentsOfItsDistribution) {
  HostTensor tensor(DType::F64, {100000});
  fillNormal(tensor, 7);
  double mean = 0, square = 0;
  for (double value : tensor.values()) {
    mean += value / 100000;
    square += value * value / 100000;
  }
  EXPECT_NEAR(mean, 0, 0.02);
  EXPECT_NEAR(square, 1, 0.02);
  HostTensor again(DType::F64, {100000});
  fillNormal(again, 7);
  EXPECT_EQ(tensor.values(), again.values());
  fillNormal(again, 8);
  EXPECT_NE(tensor.values(), again.values());
}

TEST(RelativeError, IsNotANumberWhereTheResultIsNot) {
  EXPECT_DOUBLE_EQ(relativeError(std::vector<double>{3, 0}, std::vector<double>{0, 4}), 1.25);
  EXPECT_DOUBLE_EQ(relativeError(std::vector<double>{3, 4}, std::vector<double>{0, 0}), 5);
  EXPECT_TRUE(std::isnan(relativeError(std::vector<double>{NAN}, std::vector<double>{1})));
}

TEST(GdnReference, AgreesWithTheChunkedForm) {
  reference::GdnInputs in = randomGdn(1, 37, 1, 1, 8, 6);
  in.initialState = HostTensor(DType::F64, {1, 1, 8, 6});
  fillNormal(*in.initialState, 9);
  const reference::GdnOutputs out = reference::gdn(in);
  for (std::int64_t chunk : {1, 5, 16, 64}) {
    std::vector<double> state = in.initialState->values();
    const std::vector<double> o = chunkedGdn(in, chunk, state);
    EXPECT_LE(relativeError(out.o, o), 1e-13) << chunk;
    EXPECT_LE(relativeError(out.finalState, state), 1e-13) << chunk;
  }
}

TEST(GdnReference, GateKindsAndSigmoidMeanTheSame) {
  reference::GdnInputs log = randomGdn(2, 9, 1, 2, 4, 4);
  HostTensor gate(DType::F64, {2, 9, 2}), beta(DType::F64, {2, 9, 2});
  HostTensor aLog(DType::F64, {2}), bias(DType::F64, {2}), raw(DType::F64, {2, 9, 2});
  fillNormal(raw, 1);
  fillNormal(aLog, 2);
  fillNormal(bias, 3);
  fillNormal(beta, 4);
  HostTensor linear = gate, sigmoid = beta;
  for (std::int64_t i = 0; i < gate.elementCount(); ++i) {
    gate.set(i, -std::exp(aLog.get(i % 2)) * std::log1p(std::exp(raw.get(i) + bias.get(i % 2))));
    linear.set(i, std::exp(gate.get(i)));
    sigmoid.set(i, 1 / (1 + std::exp(-beta.get(i))));
  }
  log.gate = gate;
  log.beta = sigmoid;
  const reference::GdnOutputs want = reference::gdn(log);
  reference::GdnInputs other = log;
  other.gate = linear;
  other.gateKind = reference::Gate::Linear;
  EXPECT_LE(relativeError(reference::gdn(other).o, want.o), 1e-14);
  other.gate = raw;
  other.gateKind = reference::Gate::Raw;
  other.aLog = aLog;
  other.dtBias = bias;
  other.beta = beta;
  other.sigmoidBeta = true;
  EXPECT_LE(relativeError(reference::gdn(other).o, want.o), 1e-14);
}

TEST(GdnReference, PackedSequencesAreSeparate) {
  reference::GdnInputs packed = randomGdn(1, 20, 1, 3, 4, 5);
  packed.cuSeqlens = {0, 7, 7, 18};
  packed.initialState = HostTensor(DType::F64, {3, 3, 4, 5});
  fillNormal(*packed.initialState, 6);
  const reference::GdnOutputs out = reference::gdn(packed);

  reference::GdnInputs alone = randomGdn(1, 11, 1, 3, 4, 5);
  auto cut = [](const HostTensor &from, HostTensor &to, std::int64_t first) {
    for (std::int64_t i = 0; i < to.elementCount(); ++i)
      to.set(i, from.get(first + i));
  };
  cut(packed.q, alone.q, 7 * 4);
  cut(packed.k, alone.k, 7 * 4);
  cut(packed.v, alone.v, 7 * 15);
  cut(packed.gate, alone.gate, 7 * 3);
  cut(packed.beta, alone.beta, 7 * 3);
  alone.initialState = HostTensor(DType::F64, {1, 3, 4, 5});
  cut(*packed.initialState, *alone.initialState, 2 * 60);
  const reference::GdnOutputs want = reference::gdn(alone);
  EXPECT_EQ(std::vector<double>(out.o.begin() + 7 * 15, out.o.begin() + 18 * 15), want.o);
  EXPECT_EQ(std::vector<double>(out.o.begin() + 18 * 15, out.o.end()),
            std::vector<double>(2 * 15, 0.0));
  EXPECT_EQ(std::vector<double>(out.finalState.begin() + 120, out.finalState.end()),
            want.finalState);
  for (std::int64_t i = 60; i < 120; ++i) // the empty sequence keeps its state
    EXPECT_EQ(out.finalState[at(i)], packed.initialState->get(i));
}

TEST(GdnReference, ValueFirstStateIsTheTranspose) {
  reference::GdnInputs in = randomGdn(1, 6, 1, 1, 3, 5);
  in.initialState = HostTensor(DType::F64, {1, 1, 3, 5});
  fillNormal(*in.initialState, 1);
  const reference::GdnOutputs keyFirst = reference::gdn(in);
  HostTensor turned(DType::F64, {1, 1, 5, 3});
  for (std::int64_t i = 0; i < 15; ++i)
    turned.set(i % 5 * 3 + i / 5, in.initialState->get(i));
  in.initialState = turned;
  in.valueFirst = true;
  const reference::GdnOutputs valueFirst = reference::gdn(in);
  EXPECT_EQ(keyFirst.o, valueFirst.o);
  for (std::int64_t i = 0; i < 15; ++i)
    EXPECT_EQ(keyFirst.finalState[at(i)], valueFirst.finalState[at(i % 5 * 3 + i / 5)]);
}

TEST(LinearAttentionReference, AgreesWithTheSum) {
  HostTensor q(DType::F32, {2, 9, 2, 4}), k(DType::F32, {2, 9, 2, 4}), v(DType::F32, {2, 9, 2, 3});
  fillNormal(q, 1);
  fillNormal(k, 2);
  fillNormal(v, 3);
  std::vector<double> want(at(v.elementCount()));
  for (std::int64_t row = 0; row < 36; ++row) // (b * 9 + t) * 2 + h
    for (std::int64_t other = row % 2 + row / 18 * 18; other <= row; other += 2) {
      double product = 0;
      for (std::int64_t c = 0; c < 4; ++c)
        product += q.get(row * 4 + c) * k.get(other * 4 + c);
      for (std::int64_t d = 0; d < 3; ++d)
        want[at(row * 3 + d)] += 0.5 * product * v.get(other * 3 + d);
    }
  EXPECT_LE(relativeError(reference::linearAttention(q, k, v, 0.5), want), 1e-14);
}

TEST(GemmReference, ReadsEveryMajor) {
  HostTensor a(DType::F32, {3, 4}), b(DType::F32, {4, 5}), aT(DType::F32, {4, 3}),
      bT(DType::F32, {5, 4});
  fillNormal(a, 1);
  fillNormal(b, 2);
  aT.setValues(reference::transpose(a));
  bT.setValues(reference::transpose(b));
  const std::vector<double> want = reference::gemm(a, b, false, false);
  double first = 0;
  for (std::int64_t i = 0; i < 4; ++i)
    first += a.get(i) * b.get(i * 5);
  EXPECT_NEAR(want[0], first, 1e-15);
  EXPECT_EQ(reference::gemm(aT, b, true, false), want);
  EXPECT_EQ(reference::gemm(a, bT, false, true), want);
  EXPECT_EQ(reference::gemm(aT, bT, true, true), want);
  EXPECT_EQ(reference::gemm(a, b, false, false, [](double) { return 0.0; }),
            std::vector<double>(15, 0.0));
}

TEST(RowReferences, SoftmaxSumsToOneAndNormHasUnitSquareMean) {
  HostTensor x(DType::BF16, {3, 50}), residual(DType::BF16, {3, 50}), weight(DType::BF16, {50});
  fillNormal(x, 1);
  fillNormal(residual, 2);
  weight.setValues(std::vector<double>(50, 1.0));
  const std::vector<double> y = reference::rowSoftmax(x, 2);
  const reference::RmsNorm norm = reference::rmsNorm(x, residual, weight, 0);
  for (std::int64_t m = 0; m < 3; ++m) {
    double sum = 0, squares = 0;
    for (std::int64_t c = m * 50; c < (m + 1) * 50; ++c) {
      sum += y[at(c)];
      squares += norm.y[at(c)] * norm.y[at(c)];
      EXPECT_NEAR(y[at(c)] / y[at(m * 50)], std::exp(2 * (x.get(c) - x.get(m * 50))), 1e-9);
      EXPECT_EQ(norm.residual[at(c)],
                fromBf16(toBf16(static_cast<float>(x.get(c) + residual.get(c)))));
    }
    EXPECT_NEAR(sum, 1, 1e-14);
    EXPECT_NEAR(squares, 50, 1e-12);
  }
}
