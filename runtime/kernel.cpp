#include "flashqla/executor.h"
#include "flashqla/runtime.h"
#include "runtime/device_state.h"
#include "runtime/launch_check.h"
#include "runtime/scalar.h"
#include "runtime/tensor_map.h"
#include "runtime/timeline_buffer.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fmt/format.h>
#include <mutex>

namespace flashqla {

namespace {

/// Memory for tensors without elements: the first half is read as zeros, the second takes stray
/// stores.
constexpr std::size_t emptyBytes = 256;

/// "sm_90a" runs on exactly 9.0; "sm_90" on 9.x.
bool runsOn(std::string_view arch, const DeviceProperties &device) {
  int number = 0;
  const char *end = arch.data() + arch.size();
  const auto [stop, status] = std::from_chars(arch.data() + std::strlen("sm_"), end, number);
  const int major = number / 10, minor = number % 10;
  const bool exact = stop != end;
  return status == std::errc{} && major == device.major &&
         (exact ? minor == device.minor : minor <= device.minor);
}

Error noTimeline(const Manifest &manifest) {
  return {
      "kernel-timeline",
      fmt::format("{} records no timeline: it was compiled without --instrument", manifest.kernel),
      {}};
}

} // namespace

struct Kernel::Impl {
  const DeviceState &device;
  const Manifest manifest;
  std::unique_ptr<Executor::Program> program; // instead of a module, on an executor
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUdeviceptr empty = 0;
  std::uint32_t *assertFlag = nullptr; // pinned host memory, which kernels address directly
  TimelineBuffer timeline;             // of an instrumented kernel
  std::mutex mutex;                    // over `maps`
  std::vector<TensorMapCache> maps;

  Impl(const DeviceState &device, Manifest loaded) : device(device), manifest(std::move(loaded)) {}
  ~Impl() {
    const ContextScope scope(device);
    if (module)
      device.api.moduleUnload(module);
    if (empty)
      device.api.memFree(empty);
    if (assertFlag)
      device.api.memFreeHost(assertFlag);
    timeline.release(device);
  }

  Expected<void> checkDevice() const;
  Expected<void> load(const Bundle &bundle);
  Expected<void> loadModule(const std::string &cubin);
  Expected<void> allocate();
  Expected<void> launch(StreamHandle stream, const Arg *args, std::size_t count,
                        const LaunchOptions &options);
  Expected<void> pack(const Arg *args, const SymbolValues &symbols, std::uint64_t *slots,
                      void **params);
  Expected<void> start(StreamHandle stream, std::int64_t blocks, bool dependent,
                       void **params) const;
};

Expected<void> Kernel::Impl::checkDevice() const {
  const DeviceProperties &properties = device.properties;
  if (!runsOn(manifest.arch, properties))
    return Error{"kernel-arch",
                 fmt::format("{} was compiled for {}; {} is sm_{}{}", manifest.kernel,
                             manifest.arch, properties.name, properties.major, properties.minor),
                 {}};
  const int shared = manifest.dynamicSharedBytes + manifest.resources.staticSharedBytes;
  if (shared > properties.sharedBytesPerBlock)
    return Error{"kernel-load",
                 fmt::format("{} uses {} bytes of shared memory; a block has {}", manifest.kernel,
                             shared, properties.sharedBytesPerBlock),
                 {}};
  return {};
}

Expected<void> Kernel::Impl::load(const Bundle &bundle) {
  if (!device.executor)
    return loadModule(bundle.cubin);
  Expected<std::unique_ptr<Executor::Program>> loaded = device.executor->load(bundle, manifest);
  if (!loaded)
    return std::move(loaded).error();
  program = *std::move(loaded);
  return {};
}

Expected<void> Kernel::Impl::loadModule(const std::string &cubin) {
  if (!std::string_view(cubin).starts_with("\177ELF"))
    return Error{
        "kernel-load",
        fmt::format("the cubin of {} ({} bytes) is no ELF file", manifest.kernel, cubin.size()),
        {}};
  auto done = device.check(device.api.moduleLoadData(&module, cubin.data()), "cuModuleLoadData");
  if (done)
    done = device.check(device.api.moduleGetFunction(&function, module, manifest.entry.c_str()),
                        "cuModuleGetFunction");
  if (done && manifest.dynamicSharedBytes)
    done = device.check(device.api.funcSetAttribute(function,
                                                    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                    manifest.dynamicSharedBytes),
                        "cuFuncSetAttribute");
  if (!done)
    return Error{
        "kernel-load",
        fmt::format("{} (entry `{}`): {}", manifest.kernel, manifest.entry, done.error().message),
        {}};
  return {};
}

Expected<void> Kernel::Impl::allocate() {
  for (const TensorMapRecipe &recipe : manifest.tensorMaps)
    maps.emplace_back(recipe);
  if (!maps.empty()) {
    if (auto done = device.check(device.api.memAlloc(&empty, emptyBytes), "cuMemAlloc"); !done)
      return done;
    if (auto done = device.check(device.api.memsetD8(empty, 0, emptyBytes), "cuMemsetD8"); !done)
      return done;
  }
  for (const CudaParam &param : manifest.cudaParams)
    if (param.kind == CudaParam::Kind::AssertBuffer && !assertFlag) {
      void *memory = nullptr;
      if (auto done =
              device.check(device.api.memAllocHost(&memory, sizeof *assertFlag), "cuMemAllocHost");
          !done)
        return done;
      assertFlag = static_cast<std::uint32_t *>(memory);
      *assertFlag = 0;
    }
  return manifest.timeline ? timeline.allocate(device, *manifest.timeline) : Expected<void>();
}

/// slots: one per parameter that is not a tensor map; params: the address of each parameter.
Expected<void> Kernel::Impl::pack(const Arg *args, const SymbolValues &symbols,
                                  std::uint64_t *slots, void **params) {
  for (std::size_t i = 0; i < manifest.cudaParams.size(); ++i) {
    const CudaParam &param = manifest.cudaParams[i];
    params[i] = &slots[i];
    switch (param.kind) {
    case CudaParam::Kind::TensorMap: {
      const TensorMapRecipe &recipe = manifest.tensorMaps[param.index];
      const ManifestArgument &argument = manifest.arguments[recipe.argument];
      const CUdeviceptr half = argument.access == Access::In ? 0 : emptyBytes / 2;
      const Expected<TensorMapRequest> request =
          requestTensorMap(recipe, argument.name, args[recipe.argument].tensor(),
                           reinterpret_cast<void *>(empty + half));
      if (!request)
        return request.error();
      const Expected<const CUtensorMap *> map = maps[param.index].get(device.api, *request);
      if (!map)
        return map.error();
      params[i] = const_cast<CUtensorMap *>(*map);
      break;
    }
    case CudaParam::Kind::Pointer:
      slots[i] = reinterpret_cast<std::uintptr_t>(args[param.index].tensor().data);
      break;
    case CudaParam::Kind::Stride:
      slots[i] = args[param.index].tensor().strides[param.dimension];
      break;
    case CudaParam::Kind::Dim:
      slots[i] = symbols.values[param.index];
      break;
    case CudaParam::Kind::Scalar: {
      const Arg &arg = args[param.index];
      slots[i] = scalarBits(manifest.arguments[param.index].dtype, arg.integer(), arg.real());
      break;
    }
    case CudaParam::Kind::AssertBuffer:
      slots[i] = reinterpret_cast<std::uintptr_t>(assertFlag);
      break;
    case CudaParam::Kind::Timeline:
      slots[i] = timeline.address();
      break;
    }
  }
  return {};
}

Expected<void> Kernel::Impl::start(StreamHandle stream, std::int64_t blocks, bool dependent,
                                   void **params) const {
  CUlaunchAttribute attribute = {};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config = {};
  config.gridDimX = static_cast<unsigned>(blocks);
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = manifest.blockThreads;
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = manifest.dynamicSharedBytes;
  config.hStream = stream;
  config.attrs = &attribute;
  config.numAttrs = dependent ? 1 : 0;
  const ContextScope scope(device);
  return device.check(device.api.launchKernelEx(&config, function, params, nullptr),
                      "cuLaunchKernelEx");
}

Expected<void> Kernel::Impl::launch(StreamHandle stream, const Arg *args, std::size_t count,
                                    const LaunchOptions &options) {
  SymbolValues symbols;
  if (auto done = checkLaunch(manifest, args, count, options, symbols); !done)
    return done;
  const Expected<std::int64_t> blocks = gridBlocks(manifest, symbols);
  if (!blocks)
    return blocks.error();
  if (*blocks == 0)
    return {};
  std::uint64_t slots[Manifest::maxCudaParams];
  void *params[Manifest::maxCudaParams];
  // The driver copies the parameters before it returns; until then the cached maps must stay.
  const std::lock_guard lock(mutex);
  if (auto done = pack(args, symbols, slots, params); !done)
    return done;
  if (program)
    return program->launch({args, symbols.values});
  return start(stream, *blocks, options.dependentLaunch, params);
}

Expected<Kernel> Kernel::load(const Device &device, const Bundle &bundle) {
  Expected<Manifest> manifest = readManifest(bundle.manifest);
  if (!manifest)
    return std::move(manifest).error();
  auto impl = std::make_unique<Impl>(device.state(), *std::move(manifest));
  const ContextScope scope(device.state());
  auto done = impl->checkDevice();
  if (done)
    done = impl->load(bundle);
  if (done)
    done = impl->allocate();
  if (!done)
    return std::move(done).error();
  return Kernel(std::move(impl));
}

Expected<Kernel> Kernel::load(const Device &device, KernelProvider &provider,
                              const KernelRequest &request) {
  Expected<Bundle> bundle = provider.provide(request);
  if (!bundle)
    return std::move(bundle).error();
  return load(device, *bundle);
}

Kernel::Kernel(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Kernel::Kernel(Kernel &&) noexcept = default;
Kernel &Kernel::operator=(Kernel &&) noexcept = default;
Kernel::~Kernel() = default;

Expected<void> Kernel::launch(StreamHandle stream, const Arg *args, std::size_t count,
                              const LaunchOptions &options) const {
  Expected<void> done = impl->launch(stream, args, count, options);
  if (done)
    return done;
  Error error = std::move(done).error();
  error.message = fmt::format("launch of {}: {}", impl->manifest.kernel, error.message);
  return error;
}

Expected<void> Kernel::takeFailedAssert() const {
  if (!impl->assertFlag)
    return {};
  const std::uint32_t code =
      __atomic_exchange_n(impl->assertFlag, std::uint32_t{0}, __ATOMIC_ACQ_REL);
  if (code == 0)
    return {};
  const Manifest &manifest = impl->manifest;
  if (code > manifest.asserts.size())
    return Error{
        "assert-failed", fmt::format("{}: assert number {} failed", manifest.kernel, code - 1), {}};
  const AssertMessage &failed = manifest.asserts[code - 1];
  return Error{"assert-failed",
               fmt::format("{}:{}: `assert {}` failed in {}", manifest.file, failed.line,
                           failed.text, manifest.kernel),
               {}};
}

Expected<void> Kernel::recordTimeline(std::int64_t block) const {
  if (!impl->manifest.timeline)
    return noTimeline(impl->manifest);
  return impl->timeline.reset(impl->device, *impl->manifest.timeline, block);
}

Expected<std::vector<std::vector<TimelineRecord>>> Kernel::takeTimeline() const {
  if (!impl->manifest.timeline)
    return noTimeline(impl->manifest);
  auto recorded = impl->timeline.read(impl->device, *impl->manifest.timeline);
  if (recorded && std::ranges::all_of(*recorded, [](const auto &role) { return role.empty(); }))
    return Error{
        "kernel-timeline",
        fmt::format("{} recorded nothing: it was not launched on a GPU, or its grid has no "
                    "such CTA",
                    impl->manifest.kernel),
        {}};
  return recorded;
}

const Manifest &Kernel::manifest() const { return impl->manifest; }

} // namespace flashqla
