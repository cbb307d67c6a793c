#include "tools/flashqlac/gdn_problem.h"

#include "kernels/parallel.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>

namespace flashqla::cli {

namespace {

constexpr std::int64_t maxTokens = (std::int64_t{1} << 31) - 1;
constexpr int maxHeads = 4096;

Expected<void> takeChoices(const GdnOptions &options, gdn::Config &config) {
  if (options.gate == "log")
    config.gateKind = gdn::Gate::Log;
  else if (options.gate == "linear")
    config.gateKind = gdn::Gate::Linear;
  else if (options.gate == "raw")
    config.gateKind = gdn::Gate::Raw;
  else
    return usageError(fmt::format("--gate is log, linear or raw, not `{}`", options.gate));
  if (options.stateLayout == "k-first")
    config.stateLayout = gdn::StateLayout::KeyFirst;
  else if (options.stateLayout == "v-first")
    config.stateLayout = gdn::StateLayout::ValueFirst;
  else
    return usageError(
        fmt::format("--state-layout is k-first or v-first, not `{}`", options.stateLayout));
  config.sigmoidBeta = options.sigmoidBeta;
  config.finalState = !options.noFinalState;
  config.valueBlock = options.valueBlock;
  return {};
}

Expected<double> scaleOf(const GdnOptions &options, const gdn::Config &config) {
  if (options.scale.empty())
    return 1 / std::sqrt(double(config.dimK));
  const char *begin = options.scale.data(), *end = begin + options.scale.size();
  double value = 0;
  const auto [rest, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || rest != end || !std::isfinite(value))
    return usageError(fmt::format("--scale is a number such as 0.0884, not `{}`", options.scale));
  return value;
}

/// What both kinds of inputs share once the tensors are there.
Expected<void> finish(const GdnOptions &options, GdnProblem &problem) {
  const gdn::Config &config = problem.config;
  const Expected<double> scale = scaleOf(options, config);
  if (!scale)
    return scale.error();
  problem.inputs.scale = *scale;
  problem.inputs.gateKind = static_cast<reference::Gate>(config.gateKind);
  problem.inputs.sigmoidBeta = config.sigmoidBeta;
  problem.inputs.valueFirst = config.stateLayout == gdn::StateLayout::ValueFirst;
  return {};
}

HostTensor hostTensor(const NamedTensor &tensor) {
  HostTensor result(tensor.dtype, tensor.shape);
  std::memcpy(result.bytes().data(), tensor.data.data(), tensor.data.size());
  return result;
}

std::string shapeText(const NamedTensor &tensor) {
  std::string text;
  for (const std::int64_t extent : tensor.shape)
    text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + text + "]";
}

/// A tensor that has to be there.
Expected<const NamedTensor *> required(const Safetensors &file, const char *name,
                                       const char *shape) {
  if (const NamedTensor *tensor = file.find(name))
    return tensor;
  std::string names;
  for (const NamedTensor &tensor : file.tensors)
    names += (names.empty() ? "`" : ", `") + tensor.name + "`";
  return Error{"run-input",
               fmt::format("the inputs have no tensor `{}` ({}); they have {}", name, shape,
                           names.empty() ? "none" : names),
               {}};
}

/// The offsets of a file, which a kernel would follow without asking.
Expected<std::vector<std::int64_t>> offsetsOf(const NamedTensor &tensor, std::int64_t tokens) {
  if ((tensor.dtype != DType::I32 && tensor.dtype != DType::I64) || tensor.shape.size() != 1 ||
      tensor.shape[0] < 1)
    return Error{"run-input",
                 fmt::format("`cu_seqlens` is {}{}, it should be i32[N + 1] or i64[N + 1]",
                             dtypeName(tensor.dtype), shapeText(tensor)),
                 {}};
  const std::vector<double> values = hostTensor(tensor).values(); // below 2^53: tokens are fewer
  std::vector<std::int64_t> offsets;
  for (const double value : values) {
    const auto offset = static_cast<std::int64_t>(value);
    const std::int64_t previous = offsets.empty() ? 0 : offsets.back();
    if (offset < previous || offset > tokens || (offsets.empty() && offset != 0))
      return Error{"run-input",
                   fmt::format("`cu_seqlens` has {} at index {}: it begins with 0, does not "
                               "decrease, and ends at or before T = {}",
                               offset, offsets.size(), tokens),
                   {}};
    offsets.push_back(offset);
  }
  return offsets;
}

/// Extents as the checks of gdn.h will compare them; they report what does not fit.
Expected<void> takeShapes(const NamedTensor &q, const NamedTensor &v, gdn::Config &config) {
  for (const NamedTensor *tensor : {&q, &v})
    if (tensor->shape.size() != 4)
      return Error{"run-input",
                   fmt::format("`{}` has the shape {}, it should be [B, T, {}]", tensor->name,
                               shapeText(*tensor), tensor == &q ? "HQ, K" : "HV, V"),
                   {}};
  for (const std::int64_t extent : {q.shape[2], q.shape[3], v.shape[2], v.shape[3]})
    if (extent > maxHeads)
      return Error{"run-input",
                   fmt::format("`q` is {} and `v` is {}; heads and their dims are at most {}",
                               shapeText(q), shapeText(v), maxHeads),
                   {}};
  config.headsQk = static_cast<int>(q.shape[2]);
  config.dimK = static_cast<int>(q.shape[3]);
  config.headsV = static_cast<int>(v.shape[2]);
  config.dimV = static_cast<int>(v.shape[3]);
  config.dtype = q.dtype;
  return {};
}

/// Host memory stands in for the device's, so that every mistake is found without one.
Expected<gdn::Extents> checkedExtents(GdnProblem &problem) {
  if (auto done = gdn::checkConfig(problem.config); !done)
    return done.error();
  reference::GdnInputs &in = problem.inputs;
  const auto ref = [](HostTensor &tensor) { return tensor.ref(tensor.bytes().data()); };
  const auto optional = [&](std::optional<HostTensor> &tensor) -> std::optional<TensorRef> {
    return tensor ? std::optional(ref(*tensor)) : std::nullopt;
  };
  gdn::Arguments args;
  args.q = ref(in.q);
  args.k = ref(in.k);
  args.v = args.o = ref(in.v);
  args.gate = ref(in.gate);
  args.beta = ref(in.beta);
  HostTensor offsets = HostTensor::integers(problem.config.indexType, in.cuSeqlens);
  if (problem.config.packed)
    args.cuSeqlens = ref(offsets);
  args.aLog = optional(in.aLog);
  args.dtBias = optional(in.dtBias);
  args.initialState = optional(in.initialState);
  gdn::Config config = problem.config;
  config.finalState = false; // ours to allocate
  return gdn::checkArguments(config, args);
}

} // namespace

Expected<GdnProblem> gdnProblemOf(const Safetensors &file, const GdnOptions &options) {
  struct {
    const char *name, *shape;
    const NamedTensor *tensor = nullptr;
  } needed[] = {{"q", "[B, T, HQ, K]"},
                {"k", "[B, T, HQ, K]"},
                {"v", "[B, T, HV, V]"},
                {"g", "[B, T, HV]"},
                {"beta", "[B, T, HV]"}};
  for (auto &item : needed) {
    const Expected<const NamedTensor *> found = required(file, item.name, item.shape);
    if (!found)
      return found.error();
    item.tensor = *found;
  }
  gdn::Config config;
  if (auto done = takeChoices(options, config); !done)
    return done.error();
  if (auto done = takeShapes(*needed[0].tensor, *needed[2].tensor, config); !done)
    return done.error();
  config.gateType = needed[3].tensor->dtype;
  config.betaType = needed[4].tensor->dtype;
  const auto optional = [&](const char *name) -> std::optional<HostTensor> {
    const NamedTensor *tensor = file.find(name);
    return tensor ? std::optional(hostTensor(*tensor)) : std::nullopt;
  };
  GdnProblem problem{config,
                     {.q = hostTensor(*needed[0].tensor),
                      .k = hostTensor(*needed[1].tensor),
                      .v = hostTensor(*needed[2].tensor),
                      .gate = hostTensor(*needed[3].tensor),
                      .beta = hostTensor(*needed[4].tensor),
                      .aLog = optional("A_log"),
                      .dtBias = optional("dt_bias"),
                      .initialState = optional("initial_state"),
                      .cuSeqlens = {}},
                     {}};
  const NamedTensor *offsets = file.find("cu_seqlens");
  problem.config.packed = offsets != nullptr;
  problem.config.initialState = problem.inputs.initialState.has_value();
  if (problem.inputs.initialState)
    problem.config.stateType = problem.inputs.initialState->dtype();
  if (offsets) {
    Expected<std::vector<std::int64_t>> values = offsetsOf(*offsets, needed[0].tensor->shape[1]);
    if (!values)
      return values.error();
    problem.config.indexType = offsets->dtype;
    problem.inputs.cuSeqlens = std::move(*values);
  }
  if (auto done = finish(options, problem); !done)
    return done.error();
  const Expected<gdn::Extents> extents = checkedExtents(problem);
  if (!extents)
    return extents.error();
  problem.extents = *extents;
  return problem;
}

namespace {

Expected<std::vector<std::int64_t>> parseLengths(const std::string &text) {
  std::vector<std::int64_t> lengths;
  std::int64_t total = 0;
  const char *at = text.data(), *const end = at + text.size();
  while (true) {
    std::int64_t length = 0;
    const auto [rest, error] = std::from_chars(at, end, length);
    total += error == std::errc() && length >= 0 && length <= maxTokens ? length : maxTokens + 1;
    if (total > maxTokens || (rest != end && *rest != ','))
      return usageError(fmt::format("--seqlens is a list of lengths such as 4096,1000 with less "
                                    "than 2^31 tokens, not `{}`",
                                    text));
    lengths.push_back(length);
    if (rest == end)
      return lengths;
    at = rest + 1;
  }
}

Expected<gdn::Config> configOf(const GdnOptions &options) {
  gdn::Config config;
  if (auto done = takeChoices(options, config); !done)
    return done.error();
  const std::optional<DType> dtype = dtypeFromName(options.dtype);
  if (dtype != DType::BF16 && dtype != DType::F16)
    return usageError(fmt::format("--dtype is bf16 or f16, not `{}`", options.dtype));
  for (const int value : {options.headsQk, options.headsV, options.dimK, options.dimV})
    if (value < 1 || value > maxHeads)
      return usageError(
          fmt::format("heads and their dims lie in 1 … {}; {} was given", maxHeads, value));
  config.dtype = *dtype;
  config.headsQk = options.headsQk;
  config.headsV = options.headsV;
  config.dimK = options.dimK;
  config.dimV = options.dimV;
  config.packed = !options.batch;
  config.initialState = options.initialState;
  if (auto done = gdn::checkConfig(config); !done)
    return done.error();
  return config;
}

template <class Value> void fill(HostTensor &tensor, Value value) {
  parallelFor(tensor.elementCount(), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      tensor.set(i, value(static_cast<std::uint64_t>(i)));
  });
}

void fillGates(GdnProblem &problem, std::uint64_t seed) {
  const auto heads = static_cast<std::uint64_t>(problem.config.headsV);
  const auto logGate = [=](std::uint64_t i) {
    return i % heads % 4 == 3 ? 0 : -std::log1p(std::exp(-randomNormal(seed, i))) / 16;
  };
  switch (problem.config.gateKind) {
  case gdn::Gate::Log:
    fill(problem.inputs.gate, logGate);
    return;
  case gdn::Gate::Linear:
    fill(problem.inputs.gate, [&](std::uint64_t i) { return std::exp(logGate(i)); });
    return;
  case gdn::Gate::Raw:
    fillNormal(problem.inputs.gate, seed);
    problem.inputs.aLog = HostTensor(DType::F32, {std::int64_t(heads)});
    problem.inputs.dtBias = HostTensor(DType::F32, {std::int64_t(heads)});
    fillUniform(*problem.inputs.aLog, seed + 1, -4, -1);
    fillNormal(*problem.inputs.dtBias, seed + 2);
    return;
  }
}

void fillAll(GdnProblem &problem, std::uint64_t seed) {
  reference::GdnInputs &in = problem.inputs;
  fillNormal(in.q, seed);
  fillNormal(in.k, seed + 1);
  normalizeRows(in.q);
  normalizeRows(in.k);
  fillNormal(in.v, seed + 2);
  fillGates(problem, seed + 3);
  if (problem.config.sigmoidBeta)
    fillNormal(in.beta, seed + 6);
  else
    fillUniform(in.beta, seed + 6, 0, 1);
  if (problem.config.initialState) {
    in.initialState = HostTensor(problem.config.stateType, stateShape(problem));
    fillUniform(*in.initialState, seed + 7, -0.3, 0.3);
  }
}

} // namespace

Expected<MadeShape> madeShape(const GdnOptions &options) {
  const Expected<gdn::Config> config = configOf(options);
  if (!config)
    return config.error();
  Expected<std::vector<std::int64_t>> lengths = parseLengths(options.lengths);
  if (!lengths)
    return lengths.error();
  if (const Expected<double> scale = scaleOf(options, *config); !scale)
    return scale.error();
  const auto count = static_cast<std::int64_t>(lengths->size());
  gdn::Extents extents{1, std::accumulate(lengths->begin(), lengths->end(), std::int64_t{0}),
                       count};
  if (options.batch) {
    for (const std::int64_t length : *lengths)
      if (length != lengths->front())
        return usageError(fmt::format("--batch needs sequences of one length; --seqlens has {} and "
                                      "{}",
                                      lengths->front(), length));
    extents = {count, lengths->front(), count};
  }
  return MadeShape{*config, extents, std::move(*lengths)};
}

Expected<GdnProblem> makeGdnProblem(const GdnOptions &options) {
  const Expected<MadeShape> shape = madeShape(options);
  if (!shape)
    return shape.error();
  const gdn::Config &config = shape->config;
  const gdn::Extents extents = shape->extents;
  const std::int64_t batch = extents.batch, tokens = extents.tokens;
  const std::int64_t headsQk = config.headsQk, headsV = config.headsV;
  GdnProblem problem{config,
                     {.q = HostTensor(config.dtype, {batch, tokens, headsQk, config.dimK}),
                      .k = HostTensor(config.dtype, {batch, tokens, headsQk, config.dimK}),
                      .v = HostTensor(config.dtype, {batch, tokens, headsV, config.dimV}),
                      .gate = HostTensor(config.gateType, {batch, tokens, headsV}),
                      .beta = HostTensor(config.betaType, {batch, tokens, headsV}),
                      .aLog = std::nullopt,
                      .dtBias = std::nullopt,
                      .initialState = std::nullopt,
                      .cuSeqlens = {}},
                     extents};
  if (config.packed) {
    problem.inputs.cuSeqlens = {0};
    for (const std::int64_t length : shape->lengths)
      problem.inputs.cuSeqlens.push_back(problem.inputs.cuSeqlens.back() + length);
  }
  if (auto done = finish(options, problem); !done)
    return done.error();
  constexpr std::uint64_t streams = 16; // more than one seed uses
  fillAll(problem, options.seed * streams);
  return problem;
}

std::vector<std::int64_t> stateShape(const GdnProblem &problem) {
  const gdn::Config &config = problem.config;
  const bool keyFirst = config.stateLayout == gdn::StateLayout::KeyFirst;
  return {problem.extents.sequences, config.headsV, keyFirst ? config.dimK : config.dimV,
          keyFirst ? config.dimV : config.dimK};
}

std::string describe(const GdnProblem &problem) {
  const gdn::Config &config = problem.config;
  const std::int64_t count = problem.extents.sequences;
  return fmt::format("{} sequence{}, {} tokens, {} q/k and {} value heads of {} x {}, {}", count,
                     count == 1 ? "" : "s", problem.extents.batch * problem.extents.tokens,
                     config.headsQk, config.headsV, config.dimK, config.dimV,
                     dtypeName(config.dtype));
}

double gdnTolerance(const gdn::Config &config) { return config.dtype == DType::F16 ? 2e-3 : 5e-3; }

} // namespace flashqla::cli
