// GDN forward as the rival's own benchmark measures it: bf16, d = 128, q and k of norm one, gates
// logsigmoid(randn) / 16 with a quarter of the heads exactly zero, f32 gates, beta and states,
// initial state given and final state written, packed sequences with i32 offsets, calls back to
// back in a CUDA graph. Calls take turns over sets of inputs that together exceed L2.
#include "kernels/gdn/gdn.h"
#include "kernels/host_tensor.h"
#include "tools/bench/bench.h"
#include "tools/bench/pool.h"
#include "tools/bench/published_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <numeric>
#include <optional>

namespace flashqla::bench {

namespace {

constexpr std::int64_t dim = 128;
constexpr std::int64_t elementBytes = 2, floatBytes = 4;
constexpr std::int64_t stateBytesPerHead = dim * dim * floatBytes;

/// Measured on an H200: one chunk and head is 20 products of 64³, 1.75 µs of one multiprocessor at
/// 790 TFLOP/s; a device copy moves 4.3 TB/s.
constexpr double chunkHeadUs = 1.75, multiprocessors = 132, bytesPerMs = 4.3e9;

gdn::Config configOf(const PublishedRow &row) {
  gdn::Config config;
  config.headsQk = row.headsQk;
  config.headsV = row.headsV;
  config.initialState = true;
  return config;
}

/// What one call reads and writes, tensor by tensor.
struct RowBytes {
  std::int64_t tokens, qk, v, gates, states, workspace;

  explicit RowBytes(const PublishedRow &row)
      : tokens(std::accumulate(row.lengths.begin(), row.lengths.end(), std::int64_t{0})),
        qk(tokens * row.headsQk * dim * elementBytes), v(tokens * row.headsV * dim * elementBytes),
        gates(tokens * row.headsV * floatBytes),
        states(static_cast<std::int64_t>(row.lengths.size()) * row.headsV * stateBytesPerHead),
        workspace(static_cast<std::int64_t>(gdn::workspaceBytes(
            configOf(row), {1, tokens, static_cast<std::int64_t>(row.lengths.size())}))) {}

  std::int64_t floorBytes() const { return 2 * (qk + v + gates + states); }
  std::int64_t total() const { return floorBytes() + workspace; }
};

double floorMs(const PublishedRow &row) {
  std::int64_t chunkHeads = 0;
  for (std::int64_t length : row.lengths)
    chunkHeads += (length + gdn::chunkTokens - 1) / gdn::chunkTokens * row.headsV;
  const double tensorMs = static_cast<double>(chunkHeads) * chunkHeadUs / multiprocessors / 1000;
  return std::max(tensorMs, static_cast<double>(RowBytes(row).floorBytes()) / bytesPerMs);
}

struct RowResult {
  Timing whole, prepare, chain;
  int valueBlock = 0;
  std::int64_t sets = 1;
};

class GdnBench {
public:
  GdnBench(const BenchContext &context, const std::vector<PublishedRow> &rows)
      : context(context), timer(context.device), q(pool(rows, &RowBytes::qk, Fill::UnitRows, 1)),
        k(pool(rows, &RowBytes::qk, Fill::UnitRows, 2)),
        v(pool(rows, &RowBytes::v, Fill::Normal, 3)), o(pool(rows, &RowBytes::v, Fill::Zero, 0)),
        beta(pool(rows, &RowBytes::gates, Fill::Uniform, 4)),
        initialStates(pool(rows, &RowBytes::states, Fill::Uniform, 5)),
        finalStates(pool(rows, &RowBytes::states, Fill::Zero, 0)),
        workspace(pool(rows, &RowBytes::workspace, Fill::Zero, 0)) {
    for (const PublishedRow &row : rows)
      mostTokens = std::max(mostTokens, RowBytes(row).tokens);
  }

  RowResult run(const PublishedRow &row) {
    select(row.headsQk, row.headsV, configOf(row));
    const std::vector<std::int64_t> starts = offsets(row);
    const DeviceBuffer table = must(DeviceBuffer::upload(
        context.device, HostTensor::integers(DType::I32, starts).bytes().data(),
        starts.size() * 4));
    RowResult result;
    result.sets = setsFor(row);
    std::vector<gdn::Arguments> args;
    for (std::int64_t set = 0; set < result.sets; ++set)
      args.push_back(arguments(row, set, table));
    const RowBytes bytes(row);
    auto candidate = [&](const char *name, gdn::RunOptions options) {
      return Candidate{name, [&, options](StreamHandle stream, int call) {
                         const std::int64_t set = call % result.sets;
                         return forward->run(stream, args[static_cast<std::size_t>(set)],
                                             workspace.at(set, bytes.workspace),
                                             static_cast<std::size_t>(bytes.workspace), options);
                       }};
    };
    const std::vector<Timing> times = timer.measure(
        {candidate("whole", {}), candidate("prepare", {.dependentLaunch = false, .chain = false}),
         candidate("chain", {.dependentLaunch = false, .prepare = false})},
        context.timing);
    result.whole = times[0];
    result.prepare = times[1];
    result.chain = times[2];
    result.valueBlock =
        forward->valueBlock({1, bytes.tokens, static_cast<std::int64_t>(row.lengths.size())});
    return result;
  }

private:
  Pool pool(const std::vector<PublishedRow> &rows, std::int64_t RowBytes::*part, Fill fill,
            std::uint64_t stream) const {
    std::int64_t bytes = 0;
    for (const PublishedRow &row : rows) {
      const RowBytes need(row);
      bytes = std::max(bytes, need.*part * (1 + beyondL2Bytes / need.total()) + 256 * 64);
    }
    return Pool(context.device, bytes, fill, context.seed * 16 + stream);
  }

  /// Loads the kernels of these heads and makes their gates, unless they are there already.
  void select(int headsQk, int headsV, const gdn::Config &config) {
    if (forward && forward->config().headsQk == headsQk && forward->config().headsV == headsV)
      return;
    forward = must(gdn::Forward::create(context.device, context.kernels, config));
    std::vector<int> order(static_cast<std::size_t>(headsV));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {}, [&](int head) {
      return randomBits(context.seed, static_cast<std::uint64_t>(head));
    });
    std::vector<bool> zero(static_cast<std::size_t>(headsV));
    for (int i = 0; i < headsV / 4; ++i)
      zero[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = true;
    std::vector<float> values(static_cast<std::size_t>(mostTokens * headsV));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double normal = randomNormal(context.seed * 16 + 6, i);
      if (!zero[i % static_cast<std::size_t>(headsV)])
        values[i] = static_cast<float>(-std::log1p(std::exp(-normal)) / 16);
    }
    gate.emplace(must(DeviceBuffer::upload(context.device, values.data(), values.size() * 4)));
  }

  static std::vector<std::int64_t> offsets(const PublishedRow &row) {
    std::vector<std::int64_t> starts = {0};
    for (std::int64_t length : row.lengths)
      starts.push_back(starts.back() + length);
    return starts;
  }

  std::int64_t setsFor(const PublishedRow &row) const {
    const RowBytes bytes(row);
    return std::min({1 + beyondL2Bytes / bytes.total(), q.capacity(bytes.qk), v.capacity(bytes.v),
                     beta.capacity(bytes.gates), initialStates.capacity(bytes.states),
                     workspace.capacity(bytes.workspace), mostTokens / bytes.tokens});
  }

  gdn::Arguments arguments(const PublishedRow &row, std::int64_t set,
                           const DeviceBuffer &table) const {
    const RowBytes bytes(row);
    const auto count = static_cast<std::int64_t>(row.lengths.size());
    auto wide = [&](const Pool &from, std::int64_t tensorBytes, std::int64_t heads) {
      return TensorRef::packed(from.at(set, tensorBytes), DType::BF16,
                               {1, bytes.tokens, heads, dim});
    };
    auto state = [&](const Pool &from) {
      return TensorRef::packed(from.at(set, bytes.states), DType::F32,
                               {count, row.headsV, dim, dim});
    };
    gdn::Arguments args;
    args.q = wide(q, bytes.qk, row.headsQk);
    args.k = wide(k, bytes.qk, row.headsQk);
    args.v = wide(v, bytes.v, row.headsV);
    args.o = wide(o, bytes.v, row.headsV);
    args.gate = TensorRef::packed(static_cast<std::byte *>(gate->data()) + set * bytes.gates,
                                  DType::F32, {1, bytes.tokens, row.headsV});
    args.beta =
        TensorRef::packed(beta.at(set, bytes.gates), DType::F32, {1, bytes.tokens, row.headsV});
    args.cuSeqlens = TensorRef::packed(table.data(), DType::I32, {count + 1});
    args.initialState = state(initialStates);
    args.finalState = state(finalStates);
    return args;
  }

  const BenchContext &context;
  Timer timer;
  Pool q, k, v, o, beta, initialStates, finalStates, workspace;
  std::int64_t mostTokens = 0;
  std::optional<gdn::Forward> forward;
  std::optional<DeviceBuffer> gate;
};

/// Geometric mean of ratios.
struct Mean {
  double logSum = 0;
  int count = 0;
  void add(double ratio) {
    logSum += std::log(ratio);
    ++count;
  }
  double value() const { return count ? std::exp(logSum / count) : 0; }
};

std::string shortLengths(const PublishedRow &row) {
  if (row.lengths.size() > 2)
    return fmt::format("{} x {}", row.lengths.size(), row.lengths.front());
  return row.lengthsText;
}

std::string rowName(const PublishedRow &row) {
  return fmt::format("{:<11} {:<3} {:>2}/{:<2} {:<12}", row.model, row.config, row.headsQk,
                     row.headsV, shortLengths(row));
}

/// What the table says at its end.
struct Summary {
  Mean overFloor, overFlashQla, overBest;
  int large = 0, largeWon = 0; // rows of 64 heads and more
  std::string lost;

  void add(const PublishedRow &row, double ms) {
    overFloor.add(ms / floorMs(row));
    if (row.flashQlaMs > 0) {
      overFlashQla.add(row.flashQlaMs / ms);
      overBest.add(std::min(row.flashQlaMs, row.flashInferMs) / ms);
    }
    if (static_cast<int>(row.lengths.size()) * row.headsV < 64)
      return;
    ++large;
    if (ms < row.flashQlaMs)
      ++largeWon;
    else
      lost += "\n  slower than FlashQLA: " + rowName(row);
  }

  void print() const {
    fmt::print("geometric means over {} rows: {:.2f} x the floor, {:.2f} x as fast as FlashQLA, "
               "{:.2f} x as fast as the better of FlashQLA and FlashInfer\n",
               overFloor.count, overFloor.value(), overFlashQla.value(), overBest.value());
    fmt::print("sequences x value heads >= 64: faster than FlashQLA in {} of {} rows{}\n", largeWon,
               large, lost);
  }
};

std::string csvLine(const PublishedRow &row, const RowResult &result) {
  return fmt::format("{},{},{},{},{},{:.4f},{:.4f},{:.4f},{},{:.4f},{},{},{}\n", row.model,
                     row.config, row.lengthsText, row.headsQk, row.headsV, result.whole.medianMs,
                     result.prepare.medianMs, result.chain.medianMs, result.valueBlock,
                     floorMs(row), row.flashQlaMs, row.flashInferMs, row.flaMs);
}

std::vector<PublishedRow> selectedRows(const std::string &filter) {
  std::vector<PublishedRow> rows;
  for (PublishedRow &row : publishedForwardRows())
    if (filter.empty() || rowName(row).find(filter) != std::string::npos)
      rows.push_back(std::move(row));
  return rows;
}

} // namespace

void benchGdn(const BenchContext &context) {
  const std::vector<PublishedRow> rows = selectedRows(context.filter);
  if (rows.empty())
    return;
  fmt::print("GDN forward, bf16, d = 128, ms per call (median of {} graph replays); published "
             "times of the others\n",
             context.timing.replays);
  fmt::print("{:<32} | {:>7} {:>7} {:>7} {:>3} | {:>7} {:>7} {:>7} | {:>6} {:>5} | {:>5} {:>5}\n",
             "model, heads, lengths", "ours", "prepare", "chain", "BV", "FlashQLA", "FlashInf",
             "FLA", "floor", "x", "/QLA", "/best");
  GdnBench bench(context, rows);
  Summary summary;
  std::string csv = "model,config,seqlens,h_qk,h_v,ms,prepare_ms,chain_ms,bv,floor_ms,flash_qla_ms,"
                    "flashinfer_ms,fla_ms\n";
  for (const PublishedRow &row : rows) {
    const RowResult result = bench.run(row);
    const double ms = result.whole.medianMs, best = std::min(row.flashQlaMs, row.flashInferMs);
    fmt::print("{:<32} | {:7.3f} {:7.3f} {:7.3f} {:>3} | {:8.3f} {:8.3f} {:7.3f} | {:6.3f} {:5.2f} "
               "| {:5.2f} {:5.2f}\n",
               rowName(row), ms, result.prepare.medianMs, result.chain.medianMs, result.valueBlock,
               row.flashQlaMs, row.flashInferMs, row.flaMs, floorMs(row), ms / floorMs(row),
               row.flashQlaMs / ms, best / ms);
    std::fflush(stdout);
    summary.add(row, ms);
    csv += csvLine(row, result);
  }
  summary.print();
  if (!context.csv.empty())
    std::ofstream(context.csv) << csv;
}

std::vector<KernelRequest> gdnBenchRequests() {
  std::vector<KernelRequest> result;
  for (const PublishedRow &row : publishedForwardRows())
    for (KernelRequest &request : gdn::kernelRequests(configOf(row)))
      result.push_back(std::move(request));
  return result;
}

} // namespace flashqla::bench
