#include "tests/random/simulated.h"

#include "compiler/driver/compile.h"
#include "compiler/passes/pipeline.h"
#include "compiler/sim/decode.h"
#include "compiler/sim/report.h"
#include "compiler/support/render.h"
#include "compiler/syntax/parser.h"
#include "kernels/host_tensor.h"

#include "mlir/IR/MLIRContext.h"

#include <fmt/format.h>

#include <cmath>

namespace flashqla::random {
namespace {

constexpr float unwritten = -123.0f;

std::uint64_t hashOf(const std::string &name) {
  std::uint64_t hash = 0;
  for (char c : name)
    hash = randomBits(hash, static_cast<unsigned char>(c));
  return hash;
}

/// One program on its way through the compiler.
class Simulation {
public:
  explicit Simulation(const Program &program)
      : program(program), file("random.tile", program.text()), context(mlir::MLIRContext::Threading::DISABLED) {
    files.add(file);
    frontend::loadDialects(context);
  }
  Simulated run();

private:
  bool runCase(const sim::DecodedKernel &kernel, CaseRun &test, Tensors &results);
  sim::SimLaunch launchOf(const frontend::CheckCase &test) const;
  void prepare(CaseRun &test);
  bool runInstance(const ast::Module &module, const frontend::Bindings &bindings, std::vector<CaseRun> cases);
  void refuse();

  const Program &program;
  SourceFile file;
  SourceFiles files;
  Diagnostics diags;
  mlir::MLIRContext context;
  Simulated result;
};

void Simulation::refuse() {
  result.verdict.kind = Verdict::Kind::Refused;
  for (const Diagnostic &diagnostic : diags.all())
    if (diagnostic.severity == Severity::Error) {
      result.verdict.name = diagnosticInfo(diagnostic.kind).name;
      break;
    }
  result.verdict.text = renderText(diags);
}

sim::SimLaunch Simulation::launchOf(const frontend::CheckCase &test) const {
  sim::SimLaunch launch;
  launch.dims = {test.dims.begin(), test.dims.end()};
  launch.stepLimit = 1'000'000;
  for (const Argument &argument : program.arguments)
    if (argument.kind == Argument::Kind::Real)
      launch.scalars[argument.name] = {0, static_cast<float>(argument.real)};
  return launch;
}

/// Contents of the arguments.
void Simulation::prepare(CaseRun &test) {
  const std::map<std::string, std::int64_t> dims(test.test.dims.begin(), test.test.dims.end());
  for (const Argument &argument : program.arguments) {
    if (argument.kind == Argument::Kind::Real)
      continue;
    sim::TensorValues &tensor = test.inputs[argument.name];
    tensor.extents = program.sizesOf(argument, dims);
    if (argument.kind == Argument::Kind::Table)
      tensor.ints = test.test.tables.at(argument.name);
    else
      fill(tensor, argument, program.seed);
  }
}

bool Simulation::runCase(const sim::DecodedKernel &kernel, CaseRun &test, Tensors &results) {
  if (test.inputs.empty())
    prepare(test);
  sim::SimLaunch launch = launchOf(test.test);
  launch.tensors = test.inputs;
  Expected<sim::SimResult> run = sim::simulate(kernel.program, launch);
  if (!run) {
    result.verdict = {Verdict::Kind::Refused, "launch", run.error().text()};
    return false;
  }
  sim::report(*run, kernel, kernel.program.lowered ? "in the lowered kernel" : "as written", files, diags);
  if (diags.hasErrors()) {
    refuse();
    return false;
  }
  results = std::move(launch.tensors);
  return true;
}

bool Simulation::runInstance(const ast::Module &module, const frontend::Bindings &bindings, std::vector<CaseRun> cases) {
  passes::Context passContext{files, diags};
  auto ir = frontend::instantiate(module, "random_program", bindings, context, diags);
  if (!ir || !passes::checkAndPlan(*ir->getOps<tile::KernelOp>().begin(), passContext)) {
    refuse();
    return false;
  }
  tile::KernelOp kernel = *ir->getOps<tile::KernelOp>().begin();
  const sim::DecodedKernel surface = sim::decode(kernel);
  for (CaseRun &test : cases)
    if (!runCase(surface, test, test.results))
      return false;
  if (!passes::lowerKernel(kernel, passContext)) {
    refuse();
    return false;
  }
  const sim::DecodedKernel lowered = sim::decode(kernel);
  for (CaseRun &test : cases) {
    Tensors results;
    if (!runCase(lowered, test, results))
      return false;
    const std::string text = difference(program, test.results, results, /*bitwise=*/true);
    if (!text.empty()) {
      result.verdict = {Verdict::Kind::Differs, "surface-lowered", text};
      return false;
    }
    result.cases.push_back(std::move(test));
  }
  return true;
}

Simulated Simulation::run() {
  const ast::Module module = parse(file, diags);
  if (diags.hasErrors() || !frontend::checkModule(module, context, diags)) {
    refuse();
    return std::move(result);
  }
  std::map<frontend::Bindings, std::vector<CaseRun>> instances;
  for (frontend::CheckCase &test : frontend::checkCases(module, "random_program", diags)) {
    std::vector<CaseRun> &cases = instances[test.bindings];
    cases.push_back({std::move(test), {}, {}});
  }
  for (auto &[bindings, cases] : instances)
    if (!runInstance(module, bindings, std::move(cases)))
      break;
  return std::move(result);
}

} // namespace

void fill(sim::TensorValues &tensor, const Argument &argument, std::uint64_t seed) {
  const std::int64_t volume = tensor.volume();
  tensor.reals.assign(volume, unwritten);
  if (argument.kind == Argument::Kind::Output)
    return;
  const std::uint64_t hash = randomBits(seed, hashOf(argument.name));
  const Number &number = argument.number;
  const std::int64_t most = std::int64_t(1) << number.bits();
  for (std::int64_t i = 0; i < volume; ++i) {
    const auto steps = static_cast<std::int64_t>(randomBits(hash, i) % (2 * most + 1)) - most;
    tensor.reals[i] = std::ldexp(static_cast<float>(steps), -number.fraction);
  }
}

std::string difference(const Program &program, const Tensors &expected, const Tensors &got, bool bitwise) {
  for (const Argument &argument : program.arguments) {
    if (argument.kind != Argument::Kind::Output && argument.kind != Argument::Kind::InOut)
      continue;
    const std::vector<float> &want = expected.at(argument.name).reals, &have = got.at(argument.name).reals;
    for (size_t i = 0; i < want.size(); ++i) {
      const bool same = want[i] == have[i] || (bitwise && std::isnan(want[i]) && std::isnan(have[i]));
      if (same && !std::isnan(want[i]))
        continue;
      const double tolerance = bitwise ? 0 : argument.number.error + std::fabs(want[i]) * (argument.number.exact() ? 0 : 0x1p-7);
      if (std::fabs(static_cast<double>(want[i]) - have[i]) <= tolerance && want[i] != unwritten)
        continue;
      return fmt::format("{}[{}] of [{}] is {} and should be {}, within {}", argument.name, i,
                         fmt::join(expected.at(argument.name).extents, ", "), have[i], want[i], tolerance);
    }
  }
  return {};
}

Simulated simulate(const Program &program, bool protocol) {
  Simulated simulated = Simulation(program).run();
  if (!protocol || !simulated.verdict.good())
    return simulated;
  driver::Session session(Environment{});
  if (session.check("random.tile", program.text()))
    return simulated;
  simulated.verdict = {Verdict::Kind::Refused, "check", renderText(session.diagnostics())};
  for (const Diagnostic &diagnostic : session.diagnostics().all())
    if (diagnostic.severity == Severity::Error) {
      simulated.verdict.name = diagnosticInfo(diagnostic.kind).name;
      break;
    }
  return simulated;
}

} // namespace flashqla::random
