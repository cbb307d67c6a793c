#include "tests/gpu/gdn_cases.h"

#include "kernels/parallel.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace flashqla {

namespace {

constexpr double quietNan = std::numeric_limits<double>::quiet_NaN();

/// [B, T, heads, dim] with gaps if the case wants them: `slice` says which third of a row it is.
HostTensor makeTensor(const GdnCase &item, DType dtype, std::vector<std::int64_t> sizes,
                      std::int64_t slice) {
  if (!item.stridedInputs)
    return HostTensor(dtype, std::move(sizes));
  std::int64_t width = 1;
  for (std::size_t i = 2; i < sizes.size(); ++i)
    width *= sizes[i];
  const std::int64_t row = 3 * width;
  std::vector<std::int64_t> strides = {sizes[1] * row, row};
  if (sizes.size() == 4)
    strides.push_back(sizes[3]);
  strides.push_back(1);
  const std::int64_t storage = sizes[0] * sizes[1] * row;
  return HostTensor::strided(dtype, std::move(sizes), std::move(strides), storage, slice * width);
}

/// Sets the elements of all tokens that belong to a sequence; the rest becomes NaN.
template <class Value>
void fillTokens(const GdnCase &item, HostTensor &tensor, std::int64_t perToken, Value value) {
  tensor.fillStorage(quietNan);
  const gdn::Extents extents = item.extents();
  const std::int64_t used = (extents.batch * extents.tokens - item.padding) * perToken;
  parallelFor(used, 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      tensor.set(i, value(static_cast<std::uint64_t>(i)));
  });
}

double logGate(const GdnCase &item, std::uint64_t seed, std::uint64_t index) {
  switch (item.gates) {
  case GateData::LogSigmoid:
    if (index % static_cast<std::uint64_t>(item.config.headsV) % 4 == 3)
      return 0;
    return -std::log1p(std::exp(-randomNormal(seed, index))) / 16;
  case GateData::Zero:
    return 0;
  case GateData::MinusOne:
    return -1;
  case GateData::MinusTwenty:
    return -20;
  }
  return 0;
}

double betaValue(const GdnCase &item, std::uint64_t seed, std::uint64_t index) {
  switch (item.betas) {
  case BetaData::Random:
    return item.config.sigmoidBeta ? randomNormal(seed, index) : randomUniform(seed, index);
  case BetaData::Zero:
    return 0;
  case BetaData::One:
    return 1;
  }
  return 0;
}

void fillKeys(const GdnCase &item, HostTensor &keys, std::uint64_t seed) {
  const auto perToken = static_cast<std::uint64_t>(item.config.headsQk * item.config.dimK);
  const bool repeated = item.keys == KeyData::Repeated;
  fillTokens(item, keys, static_cast<std::int64_t>(perToken),
             [&](std::uint64_t i) { return randomNormal(seed, repeated ? i % perToken : i); });
  normalizeRows(keys);
}

void fillGates(const GdnCase &item, reference::GdnInputs &in, std::uint64_t seed) {
  const std::int64_t heads = item.config.headsV;
  fillTokens(item, in.gate, heads, [&](std::uint64_t i) {
    switch (item.config.gateKind) {
    case gdn::Gate::Log:
      return logGate(item, seed, i);
    case gdn::Gate::Linear:
      return std::exp(logGate(item, seed, i));
    case gdn::Gate::Raw:
      return randomNormal(seed, i);
    }
    return 0.0;
  });
  in.gateKind = static_cast<reference::Gate>(item.config.gateKind);
  if (item.config.gateKind == gdn::Gate::Raw) {
    in.aLog = HostTensor(DType::F32, {heads});
    in.dtBias = HostTensor(DType::F32, {heads});
    fillUniform(*in.aLog, seed + 1, -4, -1);
    fillNormal(*in.dtBias, seed + 2);
  }
}

GdnCase make(std::string name, gdn::Config config, std::vector<std::int64_t> lengths,
             std::int64_t padding = 0) {
  GdnCase item;
  item.name = std::move(name);
  item.config = config;
  item.lengths = std::move(lengths);
  item.padding = padding;
  return item;
}

gdn::Config withHeads(int headsQk, int headsV, int valueBlock) {
  gdn::Config config = baseConfig(valueBlock);
  config.headsQk = headsQk;
  config.headsV = headsV;
  return config;
}

template <class Change> gdn::Config changed(gdn::Config config, Change change) {
  change(config);
  return config;
}

void addVariants(std::vector<GdnCase> &cases) {
  const gdn::Config base = baseConfig(64);
  auto add = [&](std::string name, auto change, std::vector<std::int64_t> lengths,
                 std::int64_t padding = 0) {
    cases.push_back(make(std::move(name), changed(base, change), std::move(lengths), padding));
  };
  using C = gdn::Config;
  add("F16", [](C &c) { c.dtype = DType::F16; }, {65, 0, 70}, 3);
  add("HeadDim64", [](C &c) { c.dimK = c.dimV = 64; }, {65, 0, 70}, 3);
  add(
      "HeadDim64F16",
      [](C &c) {
        c.dimK = c.dimV = 64;
        c.dtype = DType::F16;
      },
      {65, 0, 70}, 3);
  add("IndexI64", [](C &c) { c.indexType = DType::I64; }, {65, 0, 70}, 3);
  add("ValueFirst", [](C &c) { c.stateLayout = gdn::StateLayout::ValueFirst; }, {65, 0, 70}, 3);
  add(
      "ValueFirstWhole",
      [](C &c) {
        c.stateLayout = gdn::StateLayout::ValueFirst;
        c.valueBlock = 128;
      },
      {65, 0, 70}, 3);
  add("NoInitialState", [](C &c) { c.initialState = false; }, {65, 0, 70}, 3);
  add("NoFinalState", [](C &c) { c.finalState = false; }, {65, 0, 70}, 3);
  add("StateBf16", [](C &c) { c.stateType = DType::BF16; }, {65, 0, 70}, 3);
  add("Batch", [](C &c) { c.packed = false; }, {70, 70, 70});
  add("BetaBf16", [](C &c) { c.betaType = DType::BF16; }, {65, 70});
  add("LinearGate", [](C &c) { c.gateKind = gdn::Gate::Linear; }, {65, 70});
  add("RawGateSigmoidBeta",
      [](C &c) {
        c.gateKind = gdn::Gate::Raw;
        c.gateType = DType::BF16;
        c.betaType = DType::BF16;
        c.sigmoidBeta = true;
      },
      {65, 70});
}

std::string join(const std::vector<std::int64_t> &lengths) {
  std::string text;
  for (std::int64_t length : lengths) {
    text += '_';
    text += std::to_string(length);
  }
  return text;
}

void addData(std::vector<GdnCase> &cases, const gdn::Config &config, const std::string &suffix) {
  auto add = [&](std::string name, std::vector<std::int64_t> lengths) -> GdnCase & {
    return cases.emplace_back(make(std::move(name) + suffix, config, std::move(lengths), 5));
  };
  const std::vector<std::int64_t> lengths = {127, 1000, 65};
  add("GateZero", lengths).gates = GateData::Zero;
  add("GateMinusOne", lengths).gates = GateData::MinusOne;
  add("GateMinusTwenty", lengths).gates = GateData::MinusTwenty;
  add("BetaZero", lengths).betas = BetaData::Zero;
  add("BetaOne", lengths).betas = BetaData::One;
  add("Strided", lengths).stridedInputs = true;
  GdnCase &repeated = add("RepeatedKeys", lengths);
  repeated.keys = KeyData::Repeated;
  repeated.gates = GateData::Zero;
  repeated.betas = BetaData::One;
}

} // namespace

gdn::Extents GdnCase::extents() const {
  const auto count = static_cast<std::int64_t>(lengths.size());
  if (!config.packed)
    return {count, lengths.front(), count};
  return {1, std::accumulate(lengths.begin(), lengths.end(), padding), count};
}

double GdnCase::tolerance() const {
  const bool f16 = config.dtype == DType::F16;
  if (keys == KeyData::Repeated)
    return f16 ? 5e-3 : 1.5e-2;
  return f16 ? 2e-3 : 5e-3;
}

reference::GdnInputs makeInputs(const GdnCase &item, std::uint64_t seed) {
  const gdn::Config &config = item.config;
  const auto [batch, tokens, sequences] = item.extents();
  const std::int64_t headsQk = config.headsQk, headsV = config.headsV;
  const std::int64_t dimK = config.dimK, dimV = config.dimV;
  reference::GdnInputs in{.q = makeTensor(item, config.dtype, {batch, tokens, headsQk, dimK}, 0),
                          .k = makeTensor(item, config.dtype, {batch, tokens, headsQk, dimK}, 1),
                          .v = makeTensor(item, config.dtype, {batch, tokens, headsV, dimV}, 2),
                          .gate = makeTensor(item, config.gateType, {batch, tokens, headsV}, 1),
                          .beta = makeTensor(item, config.betaType, {batch, tokens, headsV}, 2),
                          .aLog = std::nullopt,
                          .dtBias = std::nullopt,
                          .initialState = std::nullopt,
                          .cuSeqlens = {}};
  auto normal = [seed](std::uint64_t stream) {
    return [=](std::uint64_t i) { return randomNormal(seed + stream, i); };
  };
  fillTokens(item, in.q, headsQk * dimK, normal(1));
  normalizeRows(in.q);
  fillKeys(item, in.k, seed + 2);
  fillTokens(item, in.v, headsV * dimV, normal(3));
  fillGates(item, in, seed + 4);
  fillTokens(item, in.beta, headsV, [&](std::uint64_t i) { return betaValue(item, seed + 7, i); });
  in.sigmoidBeta = config.sigmoidBeta;
  in.valueFirst = config.stateLayout == gdn::StateLayout::ValueFirst;
  if (config.initialState) {
    in.initialState =
        HostTensor(config.stateType, in.valueFirst ? std::vector{sequences, headsV, dimV, dimK}
                                                   : std::vector{sequences, headsV, dimK, dimV});
    fillUniform(*in.initialState, seed + 8, -0.3, 0.3);
  }
  if (config.packed) {
    in.cuSeqlens = {0};
    for (std::int64_t length : item.lengths)
      in.cuSeqlens.push_back(in.cuSeqlens.back() + length);
  }
  in.scale = 1 / std::sqrt(static_cast<double>(dimK));
  return in;
}

gdn::Config baseConfig(int valueBlock) {
  gdn::Config config;
  config.headsQk = 2;
  config.headsV = 8;
  config.initialState = true;
  config.valueBlock = valueBlock;
  return config;
}

std::vector<GdnCase> smallGdnCases() {
  std::vector<GdnCase> cases;
  for (int block : {64, 128}) {
    const std::string suffix = block == 64 ? "_HalfV" : "_WholeV";
    for (std::int64_t length : {1, 63, 64, 65, 127})
      cases.push_back(
          make("Length" + std::to_string(length) + suffix, baseConfig(block), {length}));
    cases.push_back(make("Packed_15_0_85_1" + suffix, baseConfig(block), {15, 0, 85, 1}, 70));
    cases.push_back(make("OnlyPadding" + suffix, baseConfig(block), {0, 0}, 10));
  }
  addVariants(cases);
  return cases;
}

std::vector<GdnCase> fullGdnCases() {
  const std::vector<std::int64_t> uneven = {31, 63, 93, 123, 150, 500};
  const std::vector<std::int64_t> short33(11, 33);
  std::vector<GdnCase> cases;
  for (int block : {64, 128}) {
    const std::string suffix = block == 64 ? "_HalfV" : "_WholeV";
    const gdn::Config config = baseConfig(block);
    for (const std::vector<std::int64_t> &lengths :
         {std::vector<std::int64_t>{1000}, std::vector<std::int64_t>{4096}, uneven, short33})
      cases.push_back(make("Packed" + join(lengths) + suffix, config, lengths, 64));
    addData(cases, config, suffix);
  }
  for (auto [headsQk, headsV] :
       {std::pair{1, 1}, {2, 8}, {4, 16}, {16, 32}, {16, 48}, {16, 64}, {3, 6}, {32, 32}})
    cases.push_back(make("Heads_" + std::to_string(headsQk) + "_" + std::to_string(headsV),
                         withHeads(headsQk, headsV, 128), uneven, 17));
  cases.push_back(make("Heads_16_64_Length4096", withHeads(16, 64, 0), {4096}));
  cases.push_back(make("Heads_1_1_Length4096", withHeads(1, 1, 128), {4096}));
  const gdn::Config f16 = changed(baseConfig(64), [](gdn::Config &c) { c.dtype = DType::F16; });
  addData(cases, f16, "_F16");
  cases.push_back(make("F16_Length4096", f16, {4096}));
  cases.push_back(make("F16" + join(uneven), f16, uneven, 17));
  const gdn::Config small = changed(baseConfig(64), [](gdn::Config &c) { c.dimK = c.dimV = 64; });
  addData(cases, small, "_HeadDim64");
  cases.push_back(make("HeadDim64_Length4096", small, {4096}));
  const gdn::Config batch = changed(baseConfig(64), [](gdn::Config &c) { c.packed = false; });
  cases.push_back(make("Batch2_Length1000", batch, {1000, 1000}));
  return cases;
}

std::vector<GdnCase> allGdnCases() {
  std::vector<GdnCase> cases = smallGdnCases();
  for (GdnCase &item : fullGdnCases())
    cases.push_back(std::move(item));
  return cases;
}

} // namespace flashqla
