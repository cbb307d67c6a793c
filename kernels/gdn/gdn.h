// Gated Delta Networks, forward, on the device.
//
// Per sequence and value head with state S [K, V], decay alpha, write strength beta:
//
//     S~ = alpha_t S ;  S = S~ + beta_t k_t (v_t - S~ᵀ k_t)ᵀ ;  o_t = scale · Sᵀ q_t
//
// Two kernels of `forward.tile` do the work: `gdn_prepare` writes what depends on one chunk of 64
// tokens into a workspace, `gdn_chain` walks the chunks. The kernels come from a `KernelProvider`:
// the just-in-time compiler, or `BundleDirectory` where no compiler is linked. A `Forward` holds
// the kernels of one configuration and is what an engine keeps:
//
//     gdn::Config config;
//     config.headsQk = 16;
//     config.headsV = 64;
//     Expected<gdn::Forward> forward = gdn::Forward::create(device, provider, config);
//     …
//     gdn::Arguments args;                                  // packed sequences of T tokens
//     args.q = TensorRef::packed(q, DType::BF16, {1, T, 16, 128});
//     args.k = …
//     const std::size_t bytes = gdn::workspaceBytes(config, {1, T, N});
//     Expected<void> done = forward->run(stream, args, workspace, bytes);
//
// Nothing is read from the device by the host, so that a run can be captured in a CUDA graph.
// Results are bitwise repeatable. Tensors of different sequences do not touch each other: whatever
// neighbours and padding hold does not change a bit of a sequence's result.
#pragma once

#include "flashqla/runtime.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace flashqla::gdn {

/// Tokens per chunk; one with `C` of forward.tile.
inline constexpr std::int64_t chunkTokens = 64;

/// How a token's decay alpha is given.
enum class Gate : std::uint8_t {
  Log,    // its natural logarithm, ≤ 0
  Linear, // itself, in [0, 1]
  Raw,    // alpha = exp(-exp(aLog) · softplus(gate + dtBias)), aLog and dtBias per value head
};

/// The layout of a state: [N, HV, K, V] or [N, HV, V, K].
enum class StateLayout : std::uint8_t { KeyFirst, ValueFirst };

/// What is decided when the kernels are compiled.
struct Config {
  DType dtype = DType::BF16; // of q, k, v, o: BF16 or F16
  int headsQk = 1;
  int headsV = 1; // a multiple of headsQk; value head h uses q/k head h / (headsV / headsQk)
  int dimK = 128; // 64 or 128
  int dimV = 128; // a multiple of 64
  /// Sequences of different lengths behind each other, B = 1; otherwise B sequences of T tokens.
  bool packed = true;
  DType indexType = DType::I32; // of cuSeqlens: I32 or I64
  Gate gateKind = Gate::Log;
  DType gateType = DType::F32;  // F32, BF16 or F16
  DType betaType = DType::F32;  // F32, BF16 or F16
  bool sigmoidBeta = false;     // beta is given before the sigmoid
  DType stateType = DType::F32; // F32, BF16 or F16
  StateLayout stateLayout = StateLayout::KeyFirst;
  bool initialState = false; // otherwise zero
  bool finalState = true;    // written
  /// Columns of V that one CTA of gdn_chain owns: 64, 128 (dividing dimV), or 0 to load both
  /// kernels and choose per run.
  int valueBlock = 0;
};

/// The extents of one run.
struct Extents {
  std::int64_t batch = 1;
  std::int64_t tokens = 0;    // T, per batch entry
  std::int64_t sequences = 0; // N; equal to `batch` unless packed
};

/// The tensors of one run. q, k, v, o: any strides that are multiples of 16 bytes, last dimension
/// contiguous, 16-byte aligned. gate, beta: any strides, last dimension contiguous. The rest:
/// row-major without gaps. Offsets may exceed 2^32.
struct Arguments {
  TensorRef q, k;       // [B, T, HQ, K]
  TensorRef v;          // [B, T, HV, V]
  TensorRef gate, beta; // [B, T, HV]
  TensorRef o;          // [B, T, HV, V], written; zero for tokens after the last sequence
  /// [N + 1] on the device, from 0, not decreasing, not beyond T; packed only.
  std::optional<TensorRef> cuSeqlens;
  std::optional<TensorRef> aLog, dtBias; // [HV], f32; raw gates only
  std::optional<TensorRef> initialState; // by `stateLayout`
  std::optional<TensorRef> finalState;   // by `stateLayout`
  std::optional<float> scale;            // default K^-1/2
};

/// Slots of one chunk each that the workspace has. Packed: T / 64 + N + 1, which is enough for any
/// lengths, because chunk i of sequence s that starts at token a lies in slot a / 64 + s + i.
std::int64_t workspaceSlots(const Config &config, const Extents &extents);
/// Bytes of the workspace.
std::size_t workspaceBytes(const Config &config, const Extents &extents);

/// What `Forward::create` asks its provider for, in this order: gdn_prepare, then gdn_chain for
/// each value block. For compiling ahead of time.
std::vector<KernelRequest> kernelRequests(const Config &config);
/// The text of forward.tile.
std::string_view forwardSource();

/// Errors: gdn-unsupported, for a configuration that no kernel computes.
Expected<void> checkConfig(const Config &config);
/// The extents that the tensors have. Errors: gdn-shape, gdn-dtype, gdn-stride, gdn-alignment,
/// gdn-argument (one that is missing or too many); each names the tensor and shows both sides.
Expected<Extents> checkArguments(const Config &config, const Arguments &args);

struct RunOptions {
  /// Programmatic dependent launch: each kernel may start while its predecessor in the stream still
  /// runs; it waits before it touches memory.
  bool dependentLaunch = true;
  /// Leave out one of the kernels, for measurements. The chain reads what the other one left in the
  /// workspace.
  bool prepare = true, chain = true;
};

/// The loaded kernels of one configuration. Its device must outlive it. May be used by several
/// threads, each with its own workspace.
class Forward {
public:
  /// Errors: those of `checkConfig`, of the provider and of `Kernel::load`.
  static Expected<Forward> create(const Device &device, KernelProvider &provider,
                                  const Config &config);

  const Config &config() const { return settings; }
  /// The value block that a run of these extents uses: 64 where whole heads would leave half of
  /// the multiprocessors idle.
  int valueBlock(const Extents &extents) const;

  /// Checks the arguments and launches both kernels on the stream. `workspace` is device memory,
  /// 16-byte aligned, used until the kernels have ended. Neither allocates nor looks anything up.
  /// Errors: those of `checkArguments`, gdn-workspace, launch-…, driver-call.
  Expected<void> run(StreamHandle stream, const Arguments &args, void *workspace,
                     std::size_t workspaceBytes, const RunOptions &options = {}) const;
  const Kernel &prepareKernel() const { return prepare; }
  /// The kernel for a value block that the configuration loads.
  const Kernel &chainKernel(int valueBlock) const;

private:
  Forward(Config config, int multiprocessors, Kernel prepare, std::vector<Kernel> chains);
  Expected<void> launchPrepare(StreamHandle stream, const Arguments &args, const Extents &extents,
                               void *workspace, bool dependent) const;
  Expected<void> launchChain(StreamHandle stream, const Arguments &args, const Extents &extents,
                             void *workspace, bool dependent) const;

  Config settings;
  int multiprocessors;
  Kernel prepare;
  std::vector<Kernel> chains; // by increasing value block
};

/// Everything at once, for programs that run it rarely: asks the provider for the kernels on every
/// call and waits for the device at the end, so that it cannot be captured in a graph. Errors:
/// those of `Forward::create` and `Forward::run`, driver-call.
Expected<void> forward(const Device &device, KernelProvider &provider, StreamHandle stream,
                       const Config &config, const Arguments &args, void *workspace,
                       std::size_t workspaceBytes, const RunOptions &options = {});

} // namespace flashqla::gdn
