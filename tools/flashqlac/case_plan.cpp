#include "tools/flashqlac/case_plan.h"

#include "kernels/host_tensor.h"

#include <algorithm>

namespace flashqla::cli {

namespace {

/// The values that expressions of the manifest see.
std::vector<std::int64_t> symbolValues(const Manifest &manifest, const frontend::CheckCase &shape) {
  std::vector<std::int64_t> values;
  for (const std::string &name : manifestSymbols(manifest)) {
    std::int64_t value = 0;
    if (const auto dim = shape.dims.find(name); dim != shape.dims.end())
      value = dim->second;
    else if (const auto scalar = shape.scalars.find(name); scalar != shape.scalars.end())
      if (const auto *integer = std::get_if<std::int64_t>(&scalar->second))
        value = *integer;
    values.push_back(value);
  }
  return values;
}

HostTensor contents(const ManifestArgument &argument, std::vector<std::int64_t> sizes,
                    const frontend::CheckCase &shape) {
  HostTensor tensor(argument.dtype, std::move(sizes));
  if (const auto table = shape.tables.find(argument.name); table != shape.tables.end()) {
    const std::int64_t count =
        std::min(tensor.elementCount(), static_cast<std::int64_t>(table->second.size()));
    for (std::int64_t i = 0; i < count; ++i)
      tensor.set(i, static_cast<double>(table->second[static_cast<std::size_t>(i)]));
  } else if (argument.dtype == DType::BF16 || argument.dtype == DType::F16 ||
             argument.dtype == DType::F32) {
    fillUniform(tensor, 1, -0.5, 0.5);
  }
  return tensor;
}

Expected<Safetensors> makeInputs(const Manifest &manifest, const frontend::CheckCase &shape) {
  const std::vector<std::int64_t> symbols = symbolValues(manifest, shape);
  Safetensors inputs;
  for (const ManifestArgument &argument : manifest.arguments) {
    if (!argument.isTensor() || argument.access == Access::Out)
      continue;
    std::vector<std::int64_t> sizes;
    for (const DimExpr &extent : argument.shape) {
      const Expected<std::int64_t> size = extent.evaluate(symbols);
      if (!size)
        return size.error();
      sizes.push_back(*size);
    }
    HostTensor tensor = contents(argument, std::move(sizes), shape);
    inputs.add(argument.name, tensor.ref(tensor.bytes().data()));
  }
  return inputs;
}

} // namespace

Expected<LaunchPlan> planCase(const Manifest &manifest, const frontend::CheckCase &shape) {
  Expected<Safetensors> inputs = makeInputs(manifest, shape);
  if (!inputs)
    return inputs.error();
  std::vector<Definition> scalars, dims;
  for (const ManifestArgument &argument : manifest.arguments) {
    if (argument.isTensor())
      continue;
    const auto given = shape.scalars.find(argument.name);
    const std::string other = argument.dtype == DType::Bool ? "true" : "1";
    scalars.push_back({argument.name, given == shape.scalars.end()
                                          ? other
                                          : frontend::constantText(given->second)});
  }
  for (const ManifestDim &dim : manifest.dims)
    if (const auto given = shape.dims.find(dim.name); given != shape.dims.end())
      dims.push_back({dim.name, std::to_string(given->second)});
  return planLaunch(manifest, std::move(*inputs), scalars, dims);
}

} // namespace flashqla::cli
