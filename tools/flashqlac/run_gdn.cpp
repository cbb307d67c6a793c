#include "kernels/bundle_directory.h"
#include "runtime/manifest.h"
#include "tools/flashqlac/gdn_problem.h"
#include "tools/flashqlac/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <ostream>

namespace flashqla::cli {

namespace {

/// A tensor of the host and its copy on the device.
struct Mirror {
  HostTensor host;
  DeviceBuffer buffer;

  static Expected<Mirror> upload(const Device &device, HostTensor tensor) {
    Expected<DeviceBuffer> buffer =
        DeviceBuffer::upload(device, tensor.bytes().data(), tensor.bytes().size());
    if (!buffer)
      return buffer.error();
    return Mirror{std::move(tensor), std::move(*buffer)};
  }
  TensorRef ref() const { return host.ref(buffer.data()); }
  Expected<void> download() { return buffer.copyTo(host.bytes().data(), host.bytes().size()); }
};

/// Compiles what is asked for and remembers it.
class RecordingProvider : public KernelProvider {
public:
  RecordingProvider(const Environment &environment, JitProvider::Output output)
      : compiler(environment, output) {}

  Expected<Bundle> provide(const KernelRequest &request) override {
    Expected<Bundle> bundle = compiler.provide(request);
    if (bundle)
      made.emplace_back(bundleFileName(request), *bundle);
    return bundle;
  }

  /// A line for each kernel. Errors: manifest-….
  Expected<std::string> table() const;
  /// The kernels as files that BundleDirectory finds. Error: file-write.
  Expected<void> writeTo(const std::string &directory) const;

private:
  JitProvider compiler;
  std::vector<std::pair<std::string, Bundle>> made; // file name, bundle
};

Expected<std::string> RecordingProvider::table() const {
  std::string text = fmt::format("{:<16} {:>9} {:>13} {:>11} {:>10}\n", "kernel", "registers",
                                 "shared bytes", "spill bytes", "compile ms");
  for (const auto &[name, bundle] : made) {
    const Expected<Manifest> manifest = readManifest(bundle.manifest);
    if (!manifest)
      return manifest.error();
    const KernelResources &used = manifest->resources;
    std::string kernel = manifest->kernel;
    for (const ManifestParam &param : manifest->params)
      if (param.name == "BV")
        kernel += " BV=" + param.value;
    text += fmt::format("{:<16} {:>9} {:>13} {:>11} {:>10.0f}\n", kernel, used.registers,
                        used.staticSharedBytes + manifest->dynamicSharedBytes,
                        used.spillStoreBytes + used.spillLoadBytes, manifest->compileMs);
  }
  return text;
}

Expected<void> RecordingProvider::writeTo(const std::string &directory) const {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return Error{"file-write", fmt::format("{}: {}", directory, error.message()), {}};
  for (const auto &[name, bundle] : made)
    if (auto done = bundle.write(directory + "/" + name); !done)
      return done;
  return {};
}

struct GdnResults {
  HostTensor o;
  std::optional<HostTensor> finalState;
  float milliseconds = 0; ///< median of the repeats
  int valueBlock = 0;
};

/// The tensors of a problem on the device.
class DeviceProblem {
public:
  static Expected<DeviceProblem> upload(const Device &device, const GdnProblem &problem) {
    const reference::GdnInputs &in = problem.inputs;
    const gdn::Config &config = problem.config;
    DeviceProblem result;
    const auto add = [&](const HostTensor &tensor) -> Expected<TensorRef> {
      Expected<Mirror> mirror = Mirror::upload(device, tensor);
      if (!mirror)
        return mirror.error();
      result.mirrors.push_back(std::move(*mirror));
      return result.mirrors.back().ref();
    };
    std::vector<std::pair<const HostTensor *, TensorRef *>> plain = {{&in.q, &result.args.q},
                                                                     {&in.k, &result.args.k},
                                                                     {&in.v, &result.args.v},
                                                                     {&in.gate, &result.args.gate},
                                                                     {&in.beta, &result.args.beta}};
    for (const auto &[tensor, ref] : plain) {
      const Expected<TensorRef> added = add(*tensor);
      if (!added)
        return added.error();
      *ref = *added;
    }
    const std::optional<HostTensor> offsets =
        config.packed ? std::optional(HostTensor::integers(config.indexType, in.cuSeqlens))
                      : std::nullopt;
    const std::optional<HostTensor> state =
        config.finalState ? std::optional(HostTensor(config.stateType, stateShape(problem)))
                          : std::nullopt;
    std::vector<std::pair<const std::optional<HostTensor> *, std::optional<TensorRef> *>> optional =
        {{&offsets, &result.args.cuSeqlens},
         {&in.aLog, &result.args.aLog},
         {&in.dtBias, &result.args.dtBias},
         {&in.initialState, &result.args.initialState},
         {&state, &result.args.finalState}};
    for (const auto &[tensor, ref] : optional) {
      if (!*tensor)
        continue;
      const Expected<TensorRef> added = add(**tensor);
      if (!added)
        return added.error();
      *ref = *added;
    }
    const auto sizes = in.v.sizes();
    const Expected<TensorRef> o =
        add(HostTensor(config.dtype, std::vector<std::int64_t>(sizes.begin(), sizes.end())));
    if (!o)
      return o.error();
    result.args.o = *o;
    result.args.scale = static_cast<float>(in.scale);
    return result;
  }

  /// The output is the last tensor, the final state the one before it.
  Expected<GdnResults> download() {
    Mirror &o = mirrors.back();
    if (auto done = o.download(); !done)
      return done.error();
    GdnResults results{std::move(o.host), std::nullopt};
    if (args.finalState) {
      Mirror &state = mirrors[mirrors.size() - 2];
      if (auto done = state.download(); !done)
        return done.error();
      results.finalState = std::move(state.host);
    }
    return results;
  }

  gdn::Arguments args;

private:
  std::vector<Mirror> mirrors;
};

Expected<GdnResults> runOnDevice(const Device &device, KernelProvider &provider,
                                 const GdnProblem &problem, int repeats) {
  const Expected<gdn::Forward> forward = gdn::Forward::create(device, provider, problem.config);
  if (!forward)
    return forward.error();
  Expected<DeviceProblem> tensors = DeviceProblem::upload(device, problem);
  if (!tensors)
    return tensors.error();
  const std::size_t bytes = gdn::workspaceBytes(problem.config, problem.extents);
  const Expected<DeviceBuffer> workspace = DeviceBuffer::allocate(device, bytes);
  if (!workspace)
    return workspace.error();
  // The first run pays for what the driver loads lazily.
  const int warmup = repeats > 1 ? 1 : 0;
  Expected<std::vector<float>> times = timeByEvents(device, nullptr, warmup, repeats, [&] {
    return forward->run(nullptr, tensors->args, workspace->data(), bytes);
  });
  if (!times)
    return times.error();
  if (auto done = device.synchronize(); !done)
    return done.error();
  Expected<GdnResults> results = tensors->download();
  if (!results)
    return results;
  std::ranges::sort(*times);
  results->milliseconds = (*times)[times->size() / 2];
  results->valueBlock = forward->valueBlock(problem.extents);
  return results;
}

/// "o" of one tensor against the reference; whether it is within the bound.
bool compare(Context &context, const char *name, const HostTensor &got,
             const std::vector<double> &want, double bound) {
  const double error = relativeError(got.values(), want);
  const bool within = error <= bound; // false for a NaN
  context.out << fmt::format("{:<12} relative error {:.2e}, bound {:.1e}: {}\n", name, error, bound,
                             within ? "ok" : "TOO LARGE");
  return within;
}

bool checkResults(Context &context, const GdnOptions &options, const GdnProblem &problem,
                  const GdnResults &results) {
  const double bound = options.tolerance > 0 ? options.tolerance : gdnTolerance(problem.config);
  const reference::GdnOutputs want = reference::gdn(problem.inputs);
  bool within = compare(context, "o", results.o, want.o, bound);
  if (results.finalState)
    within &= compare(context, "final_state", *results.finalState, want.finalState, bound);
  return within;
}

Expected<void> writeResults(GdnResults &results, const std::string &path) {
  Safetensors file;
  file.add("o", results.o.ref(results.o.bytes().data()));
  if (results.finalState)
    file.add("final_state", results.finalState->ref(results.finalState->bytes().data()));
  return file.write(path);
}

Expected<GdnProblem> problemOf(const GdnOptions &options) {
  const Expected<Safetensors> file = Safetensors::read(options.inputs);
  if (!file)
    return file.error();
  return gdnProblemOf(*file, options);
}

/// Without making tensors where there are none.
Expected<gdn::Config> configOf(const GdnOptions &options) {
  if (options.inputs.empty()) {
    const Expected<MadeShape> shape = madeShape(options);
    return shape ? Expected<gdn::Config>(shape->config) : shape.error();
  }
  const Expected<GdnProblem> problem = problemOf(options);
  if (!problem)
    return problem.error();
  return problem->config;
}

/// Prints and keeps the kernels.
Expected<void> showKernels(Context &context, const GdnOptions &options,
                           const RecordingProvider &provider) {
  const Expected<std::string> table = provider.table();
  if (!table)
    return table.error();
  context.out << *table;
  return options.bundles.empty() ? Expected<void>() : provider.writeTo(options.bundles);
}

int compileOnly(Context &context, const GdnOptions &options, const Environment &environment) {
  const Expected<gdn::Config> config = configOf(options);
  if (!config)
    return fail(context, config.error());
  RecordingProvider provider(environment, JitProvider::Output::Cubin);
  for (const KernelRequest &request : gdn::kernelRequests(*config))
    if (const Expected<Bundle> bundle = provider.provide(request); !bundle)
      return fail(context, bundle.error());
  const Expected<void> shown = showKernels(context, options, provider);
  return shown ? Done : fail(context, shown.error());
}

/// Where it ran, what it ran on, how long it took.
void describeRun(Context &context, const GdnOptions &options, const Target &target,
                 const GdnProblem &problem, const GdnResults &results) {
  context.out << fmt::format("gdn.forward on {}: {}\n", target.device().properties().name,
                             describe(problem));
  const std::string time =
      target.isSimulator()
          ? fmt::format("{:.2f} s on {}", results.milliseconds / 1000,
                        counted(target.threads(), "thread"))
          : fmt::format("{:.3f} ms ({})", results.milliseconds,
                        options.repeat > 1 ? fmt::format("median of {}", options.repeat)
                                           : "first run");
  context.out << fmt::format("time         {}, blocks of {} columns of V\n", time,
                             results.valueBlock);
}

/// Runs and reports, on tensors that fit.
int runProblem(Context &context, const GdnOptions &options, const Target &target,
               const GdnProblem &problem, RecordingProvider &provider) {
  target.announce(context);
  Expected<GdnResults> results = runOnDevice(target.device(), provider, problem, options.repeat);
  if (!results)
    return target.fail(context, results.error());
  if (!target.isSimulator()) {
    if (const Expected<void> shown = showKernels(context, options, provider); !shown)
      return fail(context, shown.error());
    context.out << "\n";
  }
  describeRun(context, options, target, problem, *results);
  const bool within = !options.check || checkResults(context, options, problem, *results);
  if (!options.outputs.empty()) {
    if (const Expected<void> written = writeResults(*results, options.outputs); !written)
      return fail(context, written.error());
    context.out << fmt::format("wrote {}\n", options.outputs);
  }
  return within ? Done : Mistakes;
}

} // namespace

int runGdnVerb(Context &context, const GdnOptions &options) {
  if (options.repeat < 1)
    return fail(context, usageError(fmt::format("--repeat is 1 or more, not {}", options.repeat)));
  Environment environment = context.environment;
  environment.alwaysCompile |= options.noCache;
  if (options.noRun)
    return compileOnly(context, options, environment);
  // Mistakes first, then the device; made inputs last, as they take a while.
  std::optional<GdnProblem> problem;
  if (options.inputs.empty()) {
    if (const Expected<MadeShape> shape = madeShape(options); !shape)
      return fail(context, shape.error());
  } else {
    Expected<GdnProblem> given = problemOf(options);
    if (!given)
      return fail(context, given.error());
    problem = std::move(*given);
  }
  const Expected<Target> target = Target::open(context, options.device);
  if (!target)
    return fail(context, target.error());
  if (target->isSimulator() && !options.bundles.empty())
    return fail(context, usageError("--bundles keeps kernels for a GPU, and this runs in the "
                                    "simulator: give --no-run with it"));
  if (!problem) {
    Expected<GdnProblem> made = makeGdnProblem(options);
    if (!made)
      return fail(context, made.error());
    problem = std::move(*made);
  }
  RecordingProvider provider(environment, target->output());
  return runProblem(context, options, *target, *problem, provider);
}

} // namespace flashqla::cli
