#include "compiler/syntax/parser.h"
#include "tools/flashqlac/planned_launch.h"
#include "tools/flashqlac/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

namespace flashqla::cli {

namespace {

/// Where a static dim has no value for want of a tensor: that one.
Expected<void> checkStaticDims(const ast::Kernel &kernel, const Safetensors &inputs,
                               const frontend::Bindings &bindings) {
  for (const ast::Dim &dim : kernel.dims) {
    if (!dim.isStatic || bindings.contains(dim.name.text))
      continue;
    for (const ast::Arg &arg : kernel.args) {
      const auto saysIt = [&](const ast::ExprPtr &extent) {
        const ast::Expr &inner = ast::withoutParens(*extent);
        return inner.isBareName() && inner.name.text == dim.name.text;
      };
      if (arg.isTensor() && arg.direction != ast::Direction::Out && !arg.condition &&
          !inputs.find(arg.name.text) && std::ranges::any_of(arg.shape.extents, saysIt))
        return Error{"run-input",
                     fmt::format("the inputs have no tensor `{}`, which says how large `{}` is",
                                 arg.name.text, dim.name.text),
                     {}};
    }
  }
  return {};
}

/// Binds what the tensors decide. Texts with mistakes and kernels that are not there are left to
/// the compiler, which reports them.
Expected<void> completeBindings(driver::CompileRequest &request, const Safetensors &inputs) {
  const SourceFile file(request.file, request.source);
  Diagnostics ignored;
  const ast::Module module = parse(file, ignored);
  const ast::Kernel *only = nullptr;
  for (const ast::TopLevel &item : module.items)
    if (const auto *kernel = std::get_if<ast::Kernel>(&item.node))
      if (request.kernel.empty() || kernel->name.text == request.kernel) {
        if (only)
          return {};
        only = kernel;
      }
  if (!only)
    return {};
  bindFromTensors(*only, inputs, request.bindings);
  return checkStaticDims(*only, inputs, request.bindings);
}

/// Copies the arguments to the device, runs the kernel, copies back what it wrote.
Expected<void> launch(const Device &device, const Kernel &kernel, LaunchPlan &plan) {
  const Expected<PlannedLaunch> planned = PlannedLaunch::upload(device, plan);
  if (!planned)
    return planned.error();
  if (auto done = planned->run(kernel); !done)
    return done;
  return planned->download();
}

/// The file of the tensors that the kernel wrote, and a line that says what is in it.
Expected<std::string> writeOutputs(LaunchPlan &plan, const std::string &path) {
  Safetensors file;
  std::string text;
  for (PlannedArgument &argument : plan.arguments)
    if (argument.access == Access::Out || argument.access == Access::InOut) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", argument.tensor.name,
                          typeText(argument.tensor));
      file.tensors.push_back(std::move(argument.tensor));
    }
  const Expected<void> written = file.write(path);
  if (!written)
    return written.error();
  return path + ": " + text;
}

Expected<void> checkOptions(const RunOptions &options) {
  if (options.kernel.file.empty())
    return usageError("say what to run: a .tile file, or gdn.forward");
  if (options.inputs.empty() || options.outputs.empty())
    return usageError("a kernel needs --inputs FILE and --outputs FILE, both .safetensors");
  return {};
}

} // namespace

int runVerb(Context &context, const RunOptions &options) {
  if (const Expected<void> fits = checkOptions(options); !fits)
    return fail(context, fits.error());
  const auto scalars = parseDefinitions(options.scalars, "--set");
  const auto dims = parseDefinitions(options.dims, "--dim");
  if (!scalars || !dims)
    return fail(context, scalars ? dims.error() : scalars.error());
  Expected<driver::CompileRequest> request = makeRequest(context, options.kernel);
  if (!request)
    return fail(context, request.error());
  Expected<Safetensors> inputs = Safetensors::read(options.inputs);
  if (!inputs)
    return fail(context, inputs.error());
  if (const Expected<void> fits = completeBindings(*request, *inputs); !fits)
    return fail(context, fits.error());
  const Expected<Target> target = Target::open(context, options.device);
  if (!target)
    return fail(context, target.error());
  request->assemble = !target->isSimulator();
  driver::CompileResult result;
  if (const int status = compileAndReport(context, *request, options.kernel.trace, result))
    return status;
  const Expected<Manifest> manifest = readManifest(result.bundle->manifest);
  if (!manifest)
    return fail(context, manifest.error());
  Expected<LaunchPlan> plan = planLaunch(*manifest, std::move(*inputs), *scalars, *dims);
  if (!plan)
    return fail(context, plan.error());
  for (const std::string &name : plan->unused)
    note(context, fmt::format("the tensor `{}` is no input of {}", name, manifest->kernel));
  const Expected<Kernel> kernel = Kernel::load(target->device(), *result.bundle);
  if (!kernel)
    return fail(context, kernel.error());
  target->announce(context);
  if (const Expected<void> done = launch(target->device(), *kernel, *plan); !done)
    return target->fail(context, done.error());
  const Expected<std::string> written = writeOutputs(*plan, options.outputs);
  if (!written)
    return fail(context, written.error());
  context.out << fmt::format("{}: {} of {} threads on {}\n{}\n", manifest->kernel,
                             counted(plan->blocks, "CTA"), manifest->blockThreads,
                             target->device().properties().name, *written);
  return Done;
}

} // namespace flashqla::cli
