#include "compiler/driver/timeline.h"

#include "compiler/driver/case_launch.h"
#include "compiler/driver/session.h"
#include "compiler/frontend/scope.h"
#include "compiler/passes/pipeline.h"
#include "compiler/sim/report.h"
#include "compiler/syntax/parser.h"
#include "runtime/files.h"

#include <fmt/format.h>

namespace flashqla::driver {
namespace {

/// Steps of a CTA: spans that no picture shows and no memory holds.
constexpr int64_t stepLimit = 2'000'000;

Error unknownName(const char *what, const std::string &kernel, const std::string &name,
                  const std::vector<std::string> &known) {
  Error error{"usage", fmt::format("`{}` has no {} `{}`", kernel, what, name), {}};
  if (std::string close = frontend::closestName(name, known); !close.empty())
    error.notes.push_back(fmt::format("did you mean `{}`?", close));
  return error;
}

Error valueError(const std::string &name, const std::string &text) {
  return {"usage", fmt::format("{}={}: a value is a number, true or false, or integers with commas between them", name, text),
          {}};
}

/// "0,64,200"
std::optional<std::vector<int64_t>> integers(const std::string &text) {
  std::vector<int64_t> result;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::optional<frontend::Constant> value = frontend::parseConstant(text.substr(begin, end - begin));
    if (!value || !std::holds_alternative<int64_t>(*value))
      return std::nullopt;
    result.push_back(std::get<int64_t>(*value));
    begin = end + 1;
  }
  return result;
}

/// The case that a request names, with what it replaces.
class CaseBuilder {
public:
  CaseBuilder(const ast::Kernel &kernel, const TimelineRequest &request) : kernel(kernel), request(request) {}
  Expected<frontend::CheckCase> build(std::vector<frontend::CheckCase> cases);

private:
  Expected<void> setDims();
  Expected<void> setValues();

  const ast::Kernel &kernel;
  const TimelineRequest &request;
  frontend::CheckCase made;
};

Expected<void> CaseBuilder::setDims() {
  std::vector<std::string> names;
  for (const ast::Dim &dim : kernel.dims)
    names.push_back(dim.name.text);
  for (const auto &[name, value] : request.dims) {
    auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      return unknownName("dim", kernel.name.text, name, names);
    if (value < 0 || value > INT32_MAX)
      return Error{"usage", fmt::format("{}={}: a dim is an extent from 0 to 2^31 - 1", name, value), {}};
    made.dims[name] = value;
    if (kernel.dims[found - names.begin()].isStatic)
      made.bindings[name] = value;
  }
  for (const ast::Dim &dim : kernel.dims)
    if (auto bound = made.bindings.find(dim.name.text); bound != made.bindings.end())
      if (const auto *value = std::get_if<int64_t>(&bound->second))
        made.dims[dim.name.text] = *value;
  return {};
}

Expected<void> CaseBuilder::setValues() {
  std::vector<std::string> names;
  for (const ast::Arg &arg : kernel.args)
    names.push_back(arg.name.text);
  for (const auto &[name, text] : request.values) {
    auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      return unknownName("argument", kernel.name.text, name, names);
    const ast::Arg &arg = kernel.args[found - names.begin()];
    if (arg.isTensor()) {
      if (arg.elem.builtin && frontend::isFloat(*arg.elem.builtin))
        return Error{"usage", fmt::format("`{}` does not hold integers: its contents do not steer the kernel", name), {}};
      std::optional<std::vector<int64_t>> table = integers(text);
      if (!table)
        return valueError(name, text);
      made.tables[name] = std::move(*table);
      continue;
    }
    std::optional<frontend::Constant> value = frontend::parseConstant(text);
    if (!value || std::holds_alternative<ast::ScalarType>(*value))
      return valueError(name, text);
    made.scalars[name] = *value;
  }
  return {};
}

Expected<frontend::CheckCase> CaseBuilder::build(std::vector<frontend::CheckCase> cases) {
  if (request.number < cases.size())
    made = std::move(cases[request.number]);
  else if (request.number > 0)
    return Error{"usage", fmt::format("`{}` has {} `check` case{}", kernel.name.text, cases.size(),
                                      cases.size() == 1 ? "" : "s"), {}};
  for (const auto &[name, value] : request.compile.bindings)
    made.bindings[name] = value;
  for (auto step : {&CaseBuilder::setDims, &CaseBuilder::setValues})
    if (Expected<void> done = (this->*step)(); !done)
      return done.error();
  return std::move(made);
}

class TimelineMaker {
public:
  TimelineMaker(Session::State &state, const TimelineRequest &request) : state(state), request(request) {}
  TimelineResult make() {
    if (read() && lower())
      simulate();
    return std::move(result);
  }

private:
  bool read();
  bool lower();
  void simulate();
  bool fail(Error error) {
    result.error = std::move(error);
    return false;
  }

  Session::State &state;
  const TimelineRequest &request;
  TimelineResult result;
  ast::Module module;
  mlir::OwningOpRef<mlir::ModuleOp> ir;
  tile::KernelOp kernel;
};

bool TimelineMaker::read() {
  std::string text = request.compile.source;
  if (text.empty()) {
    Expected<std::string> contents = readFile(request.compile.file);
    if (!contents)
      return fail(contents.error());
    text = std::move(*contents);
  }
  const SourceFile &file = state.add(request.compile.file, std::move(text));
  module = parse(file, state.diags);
  if (state.diags.hasErrors())
    return false;
  Expected<std::string> name = chooseKernel(module, file.name(), request.compile.kernel);
  if (!name)
    return fail(name.error());
  result.kernel = *name;
  std::vector<frontend::CheckCase> cases = frontend::checkCases(module, *name, state.diags);
  if (state.diags.hasErrors())
    return false;
  Expected<frontend::CheckCase> shape =
      CaseBuilder(*frontend::findKernel(module, *name), request).build(std::move(cases));
  if (!shape)
    return fail(shape.error());
  result.shape = std::move(*shape);
  return true;
}

bool TimelineMaker::lower() {
  ir = frontend::instantiate(module, result.kernel, result.shape.bindings, state.mlir(), state.diags);
  if (!ir)
    return false;
  kernel = *ir->getOps<tile::KernelOp>().begin();
  passes::Context context{state.byName, state.diags};
  return passes::checkAndPlan(kernel, context) && passes::lowerKernel(kernel, context);
}

void TimelineMaker::simulate() {
  CaseRules rules(kernel);
  for (const auto &[name, value] : request.dims)
    rules.follow(result.shape, name);
  for (const auto &[name, value] : request.dims) // what was asked for stands
    result.shape.dims[name] = value;
  if (const std::string refusal = rules.refusal(result.shape); !refusal.empty()) {
    fail({"sim-launch", fmt::format("`{}` at {}: {}", result.kernel, shapeText(result.shape), refusal), {}});
    return;
  }
  const sim::DecodedKernel decoded = sim::decode(kernel);
  sim::SimLaunch launch = launchOf(result.shape, decoded.program);
  launch.stepLimit = stepLimit;
  const sim::TimelineOptions options{request.block,
                                     request.resident.value_or(static_cast<int64_t>(kernel.getResident())), request.costs};
  Expected<sim::SimulatedTimeline> made =
      sim::simulateTimeline(decoded.program, launch, sim::statementsOf(decoded, state.byName), options);
  if (!made) {
    fail(made.error());
    return;
  }
  sim::SimResult findings;
  findings.findings = std::move(made->findings);
  sim::report(findings, decoded, "at " + shapeText(result.shape), state.byName, state.diags);
  result.timeline = std::move(made->timeline);
}

} // namespace

TimelineResult Session::timeline(const TimelineRequest &request) { return TimelineMaker(*state, request).make(); }

} // namespace flashqla::driver
