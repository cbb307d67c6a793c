#include "compiler/sim/simulate.h"

#include "compiler/sim/interpret.h"
#include "runtime/dim_expr.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <thread>

namespace flashqla::sim {
namespace {

Error launchError(std::string text) { return {"sim-launch", std::move(text), {}}; }

/// One launch: what all CTAs share.
class Run {
public:
  Run(const Program &program, SimLaunch &launch) : program(program), launch(launch) {}
  Expected<SimResult> run();

private:
  Expected<void> setRegisters();
  Expected<void> setGrid();
  Expected<void> setTensors();
  void work();
  void runBlock(int64_t block);

  const Program &program;
  SimLaunch &launch;
  Registers common;
  std::vector<int64_t> grid;
  std::vector<TensorValues> made; ///< of arguments that the launch does not have
  std::vector<GlobalTensor> tensors;
  int64_t chosen = 0; ///< CTAs that run
  std::atomic<int64_t> next = 0, done = 0, steps = 0;
  std::mutex mutex;
  SimResult result;
  std::map<int64_t, std::vector<Finding>> findings; ///< by CTA
};

Expected<void> Run::setRegisters() {
  common.ints.assign(program.ints, 0);
  common.reals.assign(program.reals, 0.0f);
  for (const LaunchValue &value : program.launchValues) {
    if (value.kind == LaunchValue::Dim) {
      auto found = launch.dims.find(value.name);
      if (found == launch.dims.end())
        return launchError(fmt::format("the dim `{}` has no value", value.name));
      common.ints[value.reg.index] = found->second;
    } else if (value.kind == LaunchValue::Scalar) {
      auto found = launch.scalars.find(value.name);
      if (found == launch.scalars.end()) {
        if (launch.values || !value.reg.real)
          return launchError(fmt::format("the scalar `{}` has no value", value.name));
        continue;
      }
      if (value.reg.real)
        common.reals[value.reg.index] = found->second.real;
      else
        common.ints[value.reg.index] = found->second.integer;
    }
  }
  return {};
}

Expected<void> Run::setGrid() {
  std::vector<std::string> names;
  std::vector<int64_t> values;
  for (const auto &[name, value] : launch.dims) {
    names.push_back(name);
    values.push_back(value);
  }
  for (const auto &[name, value] : launch.scalars) { // integers may stand in the grid
    names.push_back(name);
    values.push_back(value.integer);
  }
  result.blocks = 1;
  for (const auto &[axis, text] : program.grid) {
    Expected<DimExpr> extent = DimExpr::parse(text);
    if (!extent)
      return extent.error();
    if (Expected<void> bound = extent->bind(names); !bound)
      return bound.error();
    Expected<int64_t> size = extent->evaluate(values);
    if (!size)
      return size.error();
    grid.push_back(*size);
    result.blocks *= std::max<int64_t>(*size, 0);
  }
  return {};
}

Expected<void> Run::setTensors() {
  // Extents are scalars of the kernel; a CTA without roles computes them.
  tensors.resize(program.tensors.size());
  made.resize(program.tensors.size());
  std::vector<std::vector<int64_t>> extents(program.tensors.size());
  {
    Registers registers = common;
    std::vector<GlobalTensor> none(program.tensors.size());
    Storage storage(program, none, false);
    Lanes lanes(program, storage, registers);
    for (const Step &step : program.prologue) {
      if (step.kind != StepKind::Scalar)
        break; // the arguments come first
      lanes.scalar(step.scalar);
    }
    for (size_t i = 0; i < program.tensors.size(); ++i)
      for (Reg extent : program.tensors[i].extents)
        extents[i].push_back(registers.integer(extent));
  }
  for (size_t i = 0; i < program.tensors.size(); ++i) {
    const TensorObject &object = program.tensors[i];
    auto given = launch.tensors.find(object.name);
    TensorValues &values = given == launch.tensors.end() ? made[i] : given->second;
    if (values.extents.empty())
      values.extents = extents[i];
    const int64_t wanted = static_cast<int64_t>(isReal(object.element) ? values.reals.size() : values.ints.size());
    if (values.extents != extents[i] || (wanted != 0 && wanted != values.volume()))
      return launchError(fmt::format("`{}` is [{}] and should be [{}]", object.name, fmt::join(values.extents, ", "),
                                     fmt::join(extents[i], ", ")));
    constexpr double most = 1e12; // elements
    double elements = 1;
    for (int64_t extent : values.extents)
      elements *= static_cast<double>(extent);
    if (elements > most || std::any_of(values.extents.begin(), values.extents.end(), [](int64_t e) { return e < 0; }))
      return launchError(fmt::format("`{}` is [{}]: no memory holds that", object.name, fmt::join(values.extents, ", ")));
    const int64_t volume = values.volume();
    const bool present = isReal(object.element) ? !values.reals.empty() : !values.ints.empty();
    if (launch.values && !present && volume > 0) {
      if (isReal(object.element))
        values.reals.assign(volume, 0.0f);
      else
        values.ints.assign(volume, 0);
    }
    tensors[i].values = &values;
    if (object.written && volume > 0) {
      tensors[i].writer = Owners(volume);
      if (object.read)
        tensors[i].reader = Owners(volume);
    }
  }
  return {};
}

void Run::runBlock(int64_t block) {
  Registers registers = common;
  int64_t rest = block;
  size_t axis = 0;
  for (const auto &[name, text] : program.grid) {
    for (const LaunchValue &value : program.launchValues)
      if (value.kind == LaunchValue::Axis && value.name == name)
        registers.ints[value.reg.index] = rest % grid[axis];
    rest /= grid[axis++];
  }
  Interpreter interpreter({program, tensors, std::move(registers), static_cast<int32_t>(block), launch.values,
                           launch.stepLimit, launch.threads <= 1});
  interpreter.run();
  steps += interpreter.steps();
  std::lock_guard lock(mutex);
  result.steps += interpreter.steps();
  for (const auto &[where, count] : interpreter.trips())
    result.trips[where] = std::max(result.trips[where], count);
  for (const auto &[where, count] : interpreter.machine().waits()) {
    result.waits[where].executed += count.executed;
    result.waits[where].implied += count.implied;
  }
  if (!interpreter.machine().findings().empty())
    findings[block] = interpreter.machine().findings();
}

void Run::work() {
  for (int64_t number; (number = next++) < chosen;) {
    if (launch.totalLimit > 0 && steps > launch.totalLimit) {
      std::lock_guard lock(mutex);
      result.complete = false;
      return;
    }
    runBlock(number + 1 == chosen ? result.blocks - 1 : number);
    const int64_t finished = ++done;
    if (launch.progress)
      launch.progress(finished, chosen);
  }
}

Expected<SimResult> Run::run() {
  for (const auto &step : {&Run::setRegisters, &Run::setGrid})
    if (Expected<void> ready = (this->*step)(); !ready)
      return ready.error();
  if (result.blocks == 0)
    return std::move(result);
  if (Expected<void> ready = setTensors(); !ready)
    return ready.error();
  chosen = launch.blockLimit > 0 ? std::min(launch.blockLimit, result.blocks) : result.blocks;
  const int64_t threads = std::clamp<int64_t>(launch.threads, 1, chosen);
  std::vector<std::thread> others;
  for (int64_t i = 1; i < threads; ++i)
    others.emplace_back([&] { work(); });
  work();
  for (std::thread &thread : others)
    thread.join();
  // CTAs run the same text: what one of them reports is reported once.
  for (auto &[block, list] : findings)
    for (Finding &finding : list) {
      bool known = std::any_of(result.findings.begin(), result.findings.end(), [&](const Finding &earlier) {
        return earlier.kind == finding.kind && earlier.where == finding.where;
      });
      if (!known)
        result.findings.push_back(std::move(finding));
    }
  return std::move(result);
}

} // namespace

Expected<SimResult> simulate(const Program &program, SimLaunch &launch) { return Run(program, launch).run(); }

} // namespace flashqla::sim
