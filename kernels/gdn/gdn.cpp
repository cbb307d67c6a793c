#include "kernels/gdn/gdn.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string>
#include <utility>

namespace flashqla::gdn {

namespace {

std::int64_t ceilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::string boolText(bool value) { return value ? "true" : "false"; }
std::string typeText(DType dtype) { return std::string(dtypeName(dtype)); }

/// The value blocks that a configuration loads, in increasing order.
std::vector<int> valueBlocks(const Config &config) {
  if (config.valueBlock != 0)
    return {config.valueBlock};
  return config.dimV % 128 == 0 ? std::vector<int>{64, 128} : std::vector<int>{64};
}

KernelRequest request(const Config &config, const char *kernel) {
  KernelRequest result;
  result.file = "kernels/gdn/forward.tile";
  result.source = forwardSource();
  result.kernel = kernel;
  result.staticDims = {
      {"HQ", config.headsQk}, {"HV", config.headsV}, {"DK", config.dimK}, {"DV", config.dimV}};
  result.params = {{"E", typeText(config.dtype)}};
  // A variant without a table of sequences has no type for it: one name for one kernel.
  if (config.packed)
    result.params.emplace_back("I", typeText(config.indexType));
  result.params.emplace_back("PACKED", boolText(config.packed));
  return result;
}

/// The tensors of the workspace, one behind the other.
struct Workspace {
  TensorRef ag, pg;   // E[SLOTS, HV, C, C]
  TensorRef gam, rev; // f32[SLOTS, HV, C]

  Workspace(const Config &config, const Extents &extents, void *memory) {
    const std::int64_t slots = workspaceSlots(config, extents), heads = config.headsV;
    auto *next = static_cast<std::byte *>(memory);
    auto take = [&next](DType dtype, std::initializer_list<std::int64_t> sizes) {
      const TensorRef tensor = TensorRef::packed(next, dtype, sizes);
      next += tensor.packedBytes();
      return tensor;
    };
    ag = take(config.dtype, {slots, heads, chunkTokens, chunkTokens});
    pg = take(config.dtype, {slots, heads, chunkTokens, chunkTokens});
    gam = take(DType::F32, {slots, heads, chunkTokens});
    rev = take(DType::F32, {slots, heads, chunkTokens});
  }
};

/// Positional arguments without an allocation.
class ArgList {
public:
  void add(const Arg &arg) { list[count++] = arg; }
  void addIf(const std::optional<TensorRef> &tensor) {
    if (tensor)
      add(*tensor);
  }
  Expected<void> launch(const Kernel &kernel, StreamHandle stream,
                        const LaunchOptions &options) const {
    return kernel.launch(stream, list.data(), count, options);
  }

private:
  std::array<Arg, 13> list = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  std::size_t count = 0;
};

float scaleOf(const Config &config, const Arguments &args) {
  return args.scale.value_or(1.0f / std::sqrt(static_cast<float>(config.dimK)));
}

/// The dims that no tensor may mention, and whether the launch may overlap its predecessor.
struct Launch {
  std::array<DimValue, 2> dims;
  LaunchOptions options;

  Launch(const Config &config, const Extents &extents, bool dependent)
      : dims{DimValue{"NS", extents.sequences},
             DimValue{"SLOTS", workspaceSlots(config, extents)}} {
    options.dims = dims.data();
    options.dimCount = dims.size();
    options.dependentLaunch = dependent;
  }
  Launch(const Launch &) = delete;
};

Expected<void> checkWorkspace(const Config &config, const Extents &extents, const void *workspace,
                              std::size_t bytes) {
  const std::size_t needed = workspaceBytes(config, extents);
  if (bytes < needed)
    return Error{"gdn-workspace",
                 fmt::format("the workspace has {} bytes, {} are needed", bytes, needed),
                 {}};
  const auto address = reinterpret_cast<std::uintptr_t>(workspace);
  if (needed > 0 && (address == 0 || address % 16 != 0))
    return Error{"gdn-workspace",
                 fmt::format("the workspace begins at {:#x}; it needs a multiple of 16 bytes that "
                             "is not null",
                             address),
                 {}};
  return {};
}

} // namespace

std::int64_t workspaceSlots(const Config &config, const Extents &extents) {
  if (config.packed)
    return extents.tokens / chunkTokens + extents.sequences + 1;
  return extents.batch * ceilDiv(extents.tokens, chunkTokens);
}

std::size_t workspaceBytes(const Config &config, const Extents &extents) {
  const std::int64_t matrices = 2 * chunkTokens * chunkTokens * dtypeBytes(config.dtype);
  const std::int64_t vectors = 2 * chunkTokens * dtypeBytes(DType::F32);
  return static_cast<std::size_t>(workspaceSlots(config, extents) * config.headsV *
                                  (matrices + vectors));
}

std::vector<KernelRequest> kernelRequests(const Config &config) {
  KernelRequest prepare = request(config, "gdn_prepare");
  prepare.params.emplace_back("G", typeText(config.gateType));
  prepare.params.emplace_back("W", typeText(config.betaType));
  prepare.params.emplace_back("GATE", std::to_string(static_cast<int>(config.gateKind)));
  prepare.params.emplace_back("SIGMOID", boolText(config.sigmoidBeta));
  std::vector<KernelRequest> result = {std::move(prepare)};
  for (int block : valueBlocks(config)) {
    KernelRequest chain = request(config, "gdn_chain");
    chain.params.emplace_back("F", typeText(config.stateType));
    chain.params.emplace_back("BV", std::to_string(block));
    chain.params.emplace_back("V_FIRST", boolText(config.stateLayout == StateLayout::ValueFirst));
    chain.params.emplace_back("INITIAL", boolText(config.initialState));
    chain.params.emplace_back("FINAL", boolText(config.finalState));
    result.push_back(std::move(chain));
  }
  return result;
}

Forward::Forward(Config config, int multiprocessors, Kernel prepare, std::vector<Kernel> chains)
    : settings(config), multiprocessors(multiprocessors), prepare(std::move(prepare)),
      chains(std::move(chains)) {}

Expected<Forward> Forward::create(const Device &device, KernelProvider &provider,
                                  const Config &config) {
  if (auto done = checkConfig(config); !done)
    return std::move(done).error();
  std::vector<Kernel> kernels;
  for (const KernelRequest &wanted : kernelRequests(config)) {
    Expected<Kernel> kernel = Kernel::load(device, provider, wanted);
    if (!kernel)
      return std::move(kernel).error();
    kernels.push_back(std::move(*kernel));
  }
  Kernel prepare = std::move(kernels.front());
  kernels.erase(kernels.begin());
  return Forward(config, device.properties().multiprocessors, std::move(prepare),
                 std::move(kernels));
}

int Forward::valueBlock(const Extents &extents) const {
  if (settings.valueBlock != 0)
    return settings.valueBlock;
  const std::int64_t wholeHeads = extents.sequences * settings.headsV * (settings.dimV / 128);
  return settings.dimV % 128 != 0 || 2 * wholeHeads <= multiprocessors ? 64 : 128;
}

const Kernel &Forward::chainKernel(int valueBlock) const {
  return valueBlock == 64 ? chains.front() : chains.back();
}

Expected<void> Forward::launchPrepare(StreamHandle stream, const Arguments &args,
                                      const Extents &extents, void *workspace,
                                      bool dependent) const {
  const Workspace work(settings, extents, workspace);
  ArgList list;
  for (const TensorRef &tensor : {args.q, args.k, args.gate, args.beta})
    list.add(tensor);
  list.addIf(args.aLog);
  list.addIf(args.dtBias);
  list.addIf(args.cuSeqlens);
  for (const TensorRef &tensor : {work.ag, work.pg, work.gam, work.rev, args.o})
    list.add(tensor);
  list.add(scaleOf(settings, args));
  return list.launch(prepare, stream, Launch(settings, extents, dependent).options);
}

Expected<void> Forward::launchChain(StreamHandle stream, const Arguments &args,
                                    const Extents &extents, void *workspace, bool dependent) const {
  const Workspace work(settings, extents, workspace);
  ArgList list;
  for (const TensorRef &tensor : {args.q, args.k, args.v, work.ag, work.pg, work.gam, work.rev})
    list.add(tensor);
  list.addIf(args.cuSeqlens);
  list.addIf(args.initialState);
  list.add(args.o);
  list.addIf(args.finalState);
  list.add(scaleOf(settings, args));
  return list.launch(chainKernel(valueBlock(extents)), stream,
                     Launch(settings, extents, dependent).options);
}

Expected<void> Forward::run(StreamHandle stream, const Arguments &args, void *workspace,
                            std::size_t workspaceBytes, const RunOptions &options) const {
  const Expected<Extents> extents = checkArguments(settings, args);
  if (!extents)
    return extents.error();
  if (auto done = checkWorkspace(settings, *extents, workspace, workspaceBytes); !done)
    return done;
  if (options.prepare)
    if (auto done = launchPrepare(stream, args, *extents, workspace, options.dependentLaunch);
        !done)
      return done;
  if (options.chain)
    return launchChain(stream, args, *extents, workspace, options.dependentLaunch);
  return {};
}

Expected<void> forward(const Device &device, KernelProvider &provider, StreamHandle stream,
                       const Config &config, const Arguments &args, void *workspace,
                       std::size_t workspaceBytes, const RunOptions &options) {
  // The kernels are unloaded on return and must have ended by then.
  const Expected<Forward> kernels = Forward::create(device, provider, config);
  if (!kernels)
    return kernels.error();
  if (auto done = kernels->run(stream, args, workspace, workspaceBytes, options); !done)
    return done;
  return device.synchronize();
}

} // namespace flashqla::gdn
