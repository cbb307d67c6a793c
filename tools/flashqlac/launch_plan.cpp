#include "tools/flashqlac/launch_plan.h"

#include "compiler/frontend/scope.h"
#include "runtime/launch_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

namespace flashqla::cli {

namespace {

std::optional<ast::ScalarType> scalarTypeOf(DType dtype) {
  for (const ast::ScalarType type :
       {ast::ScalarType::BF16, ast::ScalarType::F16, ast::ScalarType::F32, ast::ScalarType::I32,
        ast::ScalarType::I64, ast::ScalarType::Bool})
    if (ast::scalarTypeName(type) == dtypeName(dtype))
      return type;
  return std::nullopt; // f64
}

std::optional<std::int64_t> parseInteger(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::optional<double> parseReal(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

const Definition *find(const std::vector<Definition> &definitions, std::string_view name) {
  const auto found = std::ranges::find(definitions, name, &Definition::name);
  return found == definitions.end() ? nullptr : &*found;
}

std::string listed(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "`" : ", `") + name + "`";
  return text.empty() ? "none" : text;
}

/// An error about a name that is none of `known`, with the closest one as a note.
Error unknownName(std::string code, std::string message, std::string_view name,
                  const std::vector<std::string> &known) {
  Error error{std::move(code), std::move(message), {}};
  if (const std::string close = frontend::closestName(name, known); !close.empty())
    error.notes.push_back(fmt::format("did you mean `{}`?", close));
  return error;
}

/// The value of a scalar argument.
Expected<Arg> parseScalar(const ManifestArgument &argument, const std::string &text) {
  const auto wrong = [&](std::string_view form) {
    return Error{"run-scalar",
                 fmt::format("--set {}={}: `{}` is a scalar of type {}, which is given as {}",
                             argument.name, text, argument.name, dtypeName(argument.dtype), form),
                 {}};
  };
  if (argument.dtype == DType::Bool) {
    if (text != "true" && text != "false")
      return wrong("true or false");
    return Arg(text == "true");
  }
  if (argument.dtype == DType::I32 || argument.dtype == DType::I64) {
    const std::optional<std::int64_t> value = parseInteger(text);
    if (!value)
      return wrong("an integer");
    return Arg(*value);
  }
  const std::optional<double> value = parseReal(text);
  if (!value)
    return wrong("a number such as 0.125");
  return Arg(*value);
}

class Planner {
public:
  Planner(const Manifest &manifest, Safetensors inputs)
      : manifest(manifest), inputs(std::move(inputs)) {}

  Expected<LaunchPlan> run(const std::vector<Definition> &scalars,
                           const std::vector<Definition> &dims) {
    if (auto done = takeScalars(scalars); !done)
      return done.error();
    if (auto done = takeDims(dims); !done)
      return done.error();
    if (auto done = takeInputs(); !done)
      return done.error();
    bindFromSizes();
    if (auto done = allocateOutputs(); !done)
      return done.error();
    if (auto done = checkAll(); !done)
      return done.error();
    for (const NamedTensor &tensor : inputs.tensors)
      if (!tensor.name.empty())
        plan.unused.push_back(tensor.name);
    return std::move(plan);
  }

private:
  Expected<void> takeScalars(const std::vector<Definition> &scalars);
  Expected<void> takeDims(const std::vector<Definition> &dims);
  Expected<void> takeInputs();
  void bindFromSizes();
  Expected<void> allocateOutputs();
  Expected<void> checkAll();
  Error unknownDim(const ManifestArgument &argument, std::string_view name) const;

  const Manifest &manifest;
  Safetensors inputs; // tensors that were taken have no name any more
  LaunchPlan plan;
  SymbolValues symbols;
  std::vector<bool> known = std::vector<bool>(Manifest::maxSymbols, false); // by slot
};

Expected<void> Planner::takeScalars(const std::vector<Definition> &scalars) {
  std::vector<std::string> names;
  for (const ManifestArgument &argument : manifest.arguments)
    if (!argument.isTensor())
      names.push_back(argument.name);
  for (const Definition &given : scalars)
    if (std::ranges::find(names, given.name) == names.end())
      return unknownName("run-scalar",
                         fmt::format("--set {}: `{}` has no scalar of that name; its scalars: {}",
                                     given.name, manifest.kernel, listed(names)),
                         given.name, names);
  std::size_t slot = manifest.dims.size();
  plan.arguments.resize(manifest.arguments.size());
  for (std::size_t i = 0; i < manifest.arguments.size(); ++i) {
    const ManifestArgument &argument = manifest.arguments[i];
    plan.arguments[i].access = argument.access;
    if (argument.isTensor())
      continue;
    const Definition *given = find(scalars, argument.name);
    if (!given)
      return Error{"run-scalar",
                   fmt::format("the scalar `{}: {}` has no value; give it with --set {}=VALUE",
                               argument.name, dtypeName(argument.dtype), argument.name),
                   {}};
    Expected<Arg> value = parseScalar(argument, given->value);
    if (!value)
      return value.error();
    plan.arguments[i].scalar = *value;
    if (argument.isIntegerScalar()) {
      known[slot] = true;
      symbols.values[slot++] = value->integer();
    }
  }
  return {};
}

Expected<void> Planner::takeDims(const std::vector<Definition> &dims) {
  std::vector<std::string> names;
  for (std::size_t slot = 0; slot < manifest.dims.size(); ++slot) {
    names.push_back(manifest.dims[slot].name);
    known[slot] = manifest.dims[slot].value.has_value();
    symbols.values[slot] = manifest.dims[slot].value.value_or(0);
  }
  plan.dimNames = dims;
  for (const Definition &given : plan.dimNames) {
    const auto found = std::ranges::find(names, given.name);
    if (found == names.end())
      return unknownName("run-dim",
                         fmt::format("--dim {}: `{}` has no dim of that name; its dims: {}",
                                     given.name, manifest.kernel, listed(names)),
                         given.name, names);
    const std::optional<std::int64_t> value = parseInteger(given.value);
    if (!value)
      return usageError(fmt::format("--dim {}={}: a dim is an integer", given.name, given.value));
    const auto slot = static_cast<std::size_t>(found - names.begin());
    if (!known[slot])
      symbols.values[slot] = *value;
    known[slot] = true;
    plan.dims.push_back({given.name, *value}); // a wrong one for a static dim is a launch error
  }
  return {};
}

Expected<void> Planner::takeInputs() {
  std::vector<std::string> names;
  for (const NamedTensor &tensor : inputs.tensors)
    names.push_back(tensor.name);
  for (std::size_t i = 0; i < manifest.arguments.size(); ++i) {
    const ManifestArgument &argument = manifest.arguments[i];
    if (!argument.isTensor() || argument.access == Access::Out)
      continue;
    const auto found = std::ranges::find(inputs.tensors, argument.name, &NamedTensor::name);
    if (found == inputs.tensors.end())
      return unknownName("run-input",
                         fmt::format("the inputs have no tensor `{}` ({}); they have {}",
                                     argument.name, typeText(argument), listed(names)),
                         argument.name, names);
    if (found->dtype != argument.dtype || found->shape.size() != argument.shape.size())
      return Error{"run-input",
                   fmt::format("the tensor `{}` is {}, the kernel takes {}", argument.name,
                               typeText(*found), typeText(argument)),
                   {}};
    plan.arguments[i].tensor = std::move(*found);
    found->name.clear();
  }
  return {};
}

/// Extents of the form `D`, `D + 1`, `D - 1` give D; plain names first, as a launch does.
void Planner::bindFromSizes() {
  for (const bool plain : {true, false})
    for (std::size_t i = 0; i < manifest.arguments.size(); ++i) {
      const ManifestArgument &argument = manifest.arguments[i];
      if (!argument.isTensor() || argument.access == Access::Out)
        continue;
      for (std::size_t d = 0; d < argument.shape.size(); ++d)
        if (const auto form = argument.shape[d].asNamePlusConstant();
            form && !known[static_cast<std::size_t>(form->slot)] &&
            plain == (form->constant == 0)) {
          known[static_cast<std::size_t>(form->slot)] = true;
          symbols.values[form->slot] = plan.arguments[i].tensor.shape[d] - form->constant;
        }
    }
}

Error Planner::unknownDim(const ManifestArgument &argument, std::string_view name) const {
  return Error{
      "run-dim",
      fmt::format("no input says how large `{}` is, which the output `{}` ({}) needs; give "
                  "it with --dim {}=VALUE",
                  name, argument.name, typeText(argument), name),
      {}};
}

Expected<void> Planner::allocateOutputs() {
  // More than any GPU holds: a mistake rather than a wish.
  constexpr std::int64_t maxBytes = std::int64_t{1} << 40;
  const std::vector<std::string> names = manifestSymbols(manifest);
  for (std::size_t i = 0; i < manifest.arguments.size(); ++i) {
    const ManifestArgument &argument = manifest.arguments[i];
    if (argument.access != Access::Out)
      continue;
    NamedTensor &tensor = plan.arguments[i].tensor;
    tensor.name = argument.name;
    tensor.dtype = argument.dtype;
    std::int64_t bytes = dtypeBytes(argument.dtype);
    for (const DimExpr &extent : argument.shape) {
      for (const int slot : extent.slots())
        if (!known[static_cast<std::size_t>(slot)])
          return unknownDim(argument, names[static_cast<std::size_t>(slot)]);
      const Expected<std::int64_t> value = extent.evaluate(symbols.values);
      if (!value)
        return value.error();
      if (*value < 0 || (*value > 0 && bytes > maxBytes / *value))
        return Error{"run-dim",
                     fmt::format("the output `{}` ({}) would have an extent of {} for {}",
                                 argument.name, typeText(argument), *value,
                                 extent.describe(symbols.values)),
                     {}};
      tensor.shape.push_back(*value);
      bytes *= *value;
    }
    tensor.data.resize(static_cast<std::size_t>(bytes));
  }
  return {};
}

/// What a launch would check, with host memory in place of the device's.
Expected<void> Planner::checkAll() {
  std::vector<Arg> args;
  for (PlannedArgument &argument : plan.arguments)
    args.push_back(argument.access == Access::Scalar ? argument.scalar
                                                     : Arg(argument.tensor.ref()));
  LaunchOptions options;
  options.dims = plan.dims.data();
  options.dimCount = plan.dims.size();
  SymbolValues checked;
  if (auto done = checkLaunch(manifest, args.data(), args.size(), options, checked); !done) {
    if (done.error().code != "launch-dims")
      return done;
    return std::move(done).error().withNote("--dim NAME=VALUE gives a dim that no tensor has");
  }
  const Expected<std::int64_t> blocks = gridBlocks(manifest, checked);
  if (!blocks)
    return blocks.error();
  plan.blocks = *blocks;
  return {};
}

} // namespace

std::string typeText(const ManifestArgument &argument) {
  std::string shape;
  for (const DimExpr &extent : argument.shape)
    shape += (shape.empty() ? "" : ", ") + extent.text();
  return fmt::format("{}[{}]", dtypeName(argument.dtype), shape);
}

std::string typeText(const NamedTensor &tensor) {
  std::string shape;
  for (const std::int64_t extent : tensor.shape)
    shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
  return fmt::format("{}[{}]", dtypeName(tensor.dtype), shape);
}

void bindFromTensors(const ast::Kernel &kernel, const Safetensors &inputs,
                     frontend::Bindings &bindings) {
  const auto isStaticDim = [&](const std::string &name) {
    return std::ranges::any_of(
        kernel.dims, [&](const ast::Dim &dim) { return dim.isStatic && dim.name.text == name; });
  };
  const auto isParam = [&](const std::string &name) {
    return std::ranges::any_of(kernel.params,
                               [&](const ast::Param &param) { return param.name.text == name; });
  };
  for (const ast::Arg &arg : kernel.args) {
    const NamedTensor *tensor = inputs.find(arg.name.text);
    if (!arg.isTensor() || arg.direction == ast::Direction::Out || !tensor)
      continue;
    if (const auto type = scalarTypeOf(tensor->dtype);
        type && !arg.elem.builtin && isParam(arg.elem.name.text))
      bindings.try_emplace(arg.elem.name.text, *type);
    for (std::size_t d = 0; d < std::min(arg.shape.extents.size(), tensor->shape.size()); ++d) {
      const ast::Expr &extent = ast::withoutParens(*arg.shape.extents[d]);
      if (extent.isBareName() && isStaticDim(extent.name.text))
        bindings.try_emplace(extent.name.text, tensor->shape[d]);
    }
  }
}

Expected<LaunchPlan> planLaunch(const Manifest &manifest, Safetensors inputs,
                                const std::vector<Definition> &scalars,
                                const std::vector<Definition> &dims) {
  return Planner(manifest, std::move(inputs)).run(scalars, dims);
}

} // namespace flashqla::cli
