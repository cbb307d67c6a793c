#include "compiler/driver/sim_executor.h"

#include "compiler/driver/sim_tensors.h"
#include "compiler/frontend/frontend.h"
#include "compiler/passes/pipeline.h"
#include "compiler/sim/numerics.h"
#include "compiler/sim/report.h"
#include "compiler/support/render.h"
#include "compiler/syntax/parser.h"
#include "runtime/manifest.h"

#include "mlir/IR/MLIRContext.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <thread>

namespace flashqla {
namespace {

frontend::Bindings bindingsOf(const Manifest &manifest) {
  frontend::Bindings bindings;
  for (const ManifestParam &param : manifest.params)
    if (std::optional<frontend::Constant> value = frontend::parseConstant(param.value))
      bindings[param.name] = *value;
  for (const ManifestDim &dim : manifest.dims)
    if (dim.value)
      bindings[dim.name] = *dim.value;
  return bindings;
}

std::string textOf(const Diagnostics &diags) {
  std::string text = renderText(diags);
  while (text.ends_with('\n'))
    text.pop_back();
  return text;
}

/// A tensor that may steer control flow.
bool isTable(const ManifestArgument &argument) {
  return argument.dtype == DType::I32 || argument.dtype == DType::I64 || argument.dtype == DType::Bool;
}

sim::SimScalar scalarOf(const ManifestArgument &argument, const Arg &arg) {
  const float real = static_cast<float>(arg.real());
  const bool f16 = argument.dtype == DType::F16, bf16 = argument.dtype == DType::BF16;
  return {arg.integer(), f16 ? sim::roundF16(real) : bf16 ? sim::roundBF16(real) : real};
}

} // namespace

/// A kernel made again from its text.
class SimExecutor::LoadedKernel final : public Executor::Program {
public:
  LoadedKernel(SimExecutor &simulator, const Manifest &manifest)
      : simulator(simulator), manifest(manifest), context(mlir::MLIRContext::Threading::DISABLED) {}

  Expected<void> prepare(const SourceFile &source);
  Expected<void> launch(const CheckedLaunch &launch) override;

private:
  sim::SimLaunch gather(const CheckedLaunch &launch) const;
  void scatter(const sim::SimLaunch &results, const CheckedLaunch &launch) const;
  std::string situation(const CheckedLaunch &launch) const;

  SimExecutor &simulator;
  const Manifest manifest;
  mlir::MLIRContext context;
  SourceFiles files;
  mlir::OwningOpRef<mlir::ModuleOp> ir;
  sim::DecodedKernel decoded;
};

Expected<void> SimExecutor::LoadedKernel::prepare(const SourceFile &source) {
  files.add(source);
  frontend::loadDialects(context);
  Diagnostics diags;
  const ast::Module module = parse(source, diags);
  if (!diags.hasErrors())
    ir = frontend::instantiate(module, manifest.kernel, bindingsOf(manifest), context, diags);
  if (ir) {
    tile::KernelOp kernel = *ir->getOps<tile::KernelOp>().begin();
    passes::Context scope{files, diags};
    if (passes::checkAndPlan(kernel, scope) && (!simulator.options.lowered || passes::lowerKernel(kernel, scope))) {
      decoded = sim::decode(kernel);
      return {};
    }
  }
  return Error{"sim-load", fmt::format("the text of {} cannot be made a kernel again", manifest.kernel), {textOf(diags)}};
}

sim::SimLaunch SimExecutor::LoadedKernel::gather(const CheckedLaunch &launch) const {
  sim::SimLaunch made;
  made.values = simulator.options.values;
  made.threads = simulator.options.threads;
  if (simulator.options.progress)
    made.progress = [this](int64_t done, int64_t blocks) { simulator.options.progress(manifest.kernel, done, blocks); };
  for (size_t i = 0; i < manifest.dims.size(); ++i)
    made.dims[manifest.dims[i].name] = launch.dims[i];
  for (size_t i = 0; i < manifest.arguments.size(); ++i) {
    const ManifestArgument &argument = manifest.arguments[i];
    if (!argument.isTensor())
      made.scalars[argument.name] = scalarOf(argument, launch.args[i]);
    else if (made.values || isTable(argument))
      made.tensors[argument.name] = driver::readTensor(launch.args[i].tensor());
  }
  return made;
}

void SimExecutor::LoadedKernel::scatter(const sim::SimLaunch &results, const CheckedLaunch &launch) const {
  for (size_t i = 0; i < manifest.arguments.size(); ++i)
    if (manifest.arguments[i].access == Access::Out || manifest.arguments[i].access == Access::InOut)
      driver::writeTensor(results.tensors.at(manifest.arguments[i].name), launch.args[i].tensor());
}

std::string SimExecutor::LoadedKernel::situation(const CheckedLaunch &launch) const {
  std::string text = "in a launch";
  for (size_t i = 0; i < manifest.dims.size(); ++i)
    text += fmt::format("{}{} = {}", i ? ", " : " at ", manifest.dims[i].name, launch.dims[i]);
  return text;
}

Expected<void> SimExecutor::LoadedKernel::launch(const CheckedLaunch &launch) {
  sim::SimLaunch simulated = gather(launch);
  const Expected<sim::SimResult> result = sim::simulate(decoded.program, simulated);
  if (!result)
    return result.error();
  if (simulated.values)
    scatter(simulated, launch);
  if (result->findings.empty())
    return {};
  Diagnostics mine;
  sim::report(*result, decoded, situation(launch), files, mine);
  const std::lock_guard lock(simulator.mutex);
  sim::report(*result, decoded, situation(launch), files, simulator.found);
  return Error{"sim-findings",
               fmt::format("the simulator found {} mistake{}", mine.errorCount(), mine.errorCount() == 1 ? "" : "s"),
               {textOf(mine)}};
}

SimExecutor::SimExecutor(SimOptions given) : options(std::move(given)) {
  if (options.threads == 0)
    options.threads = std::max(1u, std::thread::hardware_concurrency());
}
SimExecutor::~SimExecutor() = default;

DeviceProperties SimExecutor::properties() const {
  DeviceProperties properties;
  properties.name = "the simulator";
  properties.major = 9;
  properties.multiprocessors = 132;
  properties.sharedBytesPerBlock = 227 * 1024;
  return properties;
}

Expected<std::unique_ptr<Executor::Program>> SimExecutor::load(const Bundle &bundle, const Manifest &manifest) {
  const SourceFile *source = nullptr;
  {
    const std::lock_guard lock(mutex);
    source = files.emplace_back(std::make_unique<SourceFile>(manifest.file, bundle.source)).get();
  }
  auto kernel = std::make_unique<LoadedKernel>(*this, manifest);
  if (Expected<void> done = kernel->prepare(*source); !done)
    return done.error();
  return std::unique_ptr<Program>(std::move(kernel));
}

} // namespace flashqla
