#include "compiler/sim/launch.h"

#include "compiler/sim/lanes.h"
#include "runtime/dim_expr.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace flashqla::sim {
namespace {

Error launchError(std::string text) { return {"sim-launch", std::move(text), {}}; }

} // namespace

Expected<void> PreparedLaunch::setRegisters() {
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

Expected<void> PreparedLaunch::setGrid() {
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
  blocks = 1;
  for (const auto &[axis, text] : program.grid) {
    Expected<DimExpr> extent = DimExpr::parse(text);
    if (!extent)
      return extent.error();
    if (Expected<void> bound = extent->bind(names); !bound)
      return bound.error();
    Expected<int64_t> size = extent->evaluate(values);
    if (!size)
      return size.error();
    if (*size < 0)
      return launchError(fmt::format("the grid axis `{}` is {} ({})", axis, *size, text));
    grid.push_back(*size);
    if (__builtin_mul_overflow(blocks, *size, &blocks))
      blocks = std::numeric_limits<int64_t>::max();
  }
  if (std::find(grid.begin(), grid.end(), 0) != grid.end())
    blocks = 0;
  else if (blocks > INT32_MAX)
    return launchError(fmt::format("the grid has {} CTAs; a launch takes fewer than 2^31", blocks));
  return {};
}

/// Extents are scalars of the kernel; a CTA without roles computes them.
std::vector<std::vector<int64_t>> PreparedLaunch::tensorExtents() {
  Registers registers = common;
  std::vector<GlobalTensor> none(program.tensors.size());
  Storage storage(program, none, false);
  Lanes lanes(program, storage, registers);
  for (const Step &step : program.prologue) {
    if (step.kind != StepKind::Scalar)
      break; // the arguments come first
    lanes.scalar(step.scalar);
  }
  std::vector<std::vector<int64_t>> extents(program.tensors.size());
  for (size_t i = 0; i < program.tensors.size(); ++i)
    for (Reg extent : program.tensors[i].extents)
      extents[i].push_back(registers.integer(extent));
  return extents;
}

Expected<void> PreparedLaunch::setTensors() {
  tensors.resize(program.tensors.size());
  made.resize(program.tensors.size());
  const std::vector<std::vector<int64_t>> extents = tensorExtents();
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
    if (owners && object.written && volume > 0) {
      tensors[i].writer = Owners(volume);
      if (object.read)
        tensors[i].reader = Owners(volume);
    }
  }
  return {};
}

Registers PreparedLaunch::registersOf(int64_t block) const {
  Registers registers = common;
  int64_t rest = block;
  size_t axis = 0;
  for (const auto &[name, text] : program.grid) {
    for (const LaunchValue &value : program.launchValues)
      if (value.kind == LaunchValue::Axis && value.name == name)
        registers.ints[value.reg.index] = rest % grid[axis];
    rest /= grid[axis++];
  }
  return registers;
}

Expected<void> PreparedLaunch::prepare() {
  for (const auto &step : {&PreparedLaunch::setRegisters, &PreparedLaunch::setGrid})
    if (Expected<void> ready = (this->*step)(); !ready)
      return ready;
  return blocks == 0 ? Expected<void>() : setTensors();
}

} // namespace flashqla::sim
