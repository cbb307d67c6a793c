#include "runtime/manifest.h"
#include "runtime/manifest_names.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flashqla {

using namespace detail;

namespace {

using Json = nlohmann::ordered_json;

/// A JSON array with `convert(item)` of each item.
template <class Items, class Convert> Json listOf(const Items &items, Convert convert) {
  Json result = Json::array();
  for (const auto &item : items)
    result.push_back(convert(item));
  return result;
}

Json dimJson(const ManifestDim &dim) {
  Json result = {{"name", dim.name}};
  if (dim.value)
    result["value"] = *dim.value;
  return result;
}

Json argumentJson(const ManifestArgument &argument) {
  Json result = {{"name", argument.name},
                 {"access", nameOf(accessNames, argument.access)},
                 {"dtype", dtypeName(argument.dtype)}};
  if (argument.access == Access::Scalar)
    return result;
  result["shape"] = listOf(argument.shape, [](const DimExpr &extent) { return extent.text(); });
  std::string layout(nameOf(layoutNames, argument.layout));
  if (argument.alignBytes)
    layout += fmt::format("({})", argument.alignBytes);
  result["layout"] = layout;
  return result;
}

Json cudaParamJson(const Manifest &manifest, const CudaParam &param) {
  Json result = {{"kind", nameOf(cudaParamNames, param.kind)}};
  switch (param.kind) {
  case CudaParam::Kind::TensorMap:
    result["map"] = param.index;
    break;
  case CudaParam::Kind::Stride:
    result["argument"] = manifest.arguments.at(param.index).name;
    result["dimension"] = param.dimension;
    break;
  case CudaParam::Kind::Pointer:
  case CudaParam::Kind::Scalar:
    result["argument"] = manifest.arguments.at(param.index).name;
    break;
  case CudaParam::Kind::Dim:
    result["dim"] = manifest.dims.at(param.index).name;
    break;
  case CudaParam::Kind::AssertBuffer:
  case CudaParam::Kind::Timeline:
    break;
  }
  return result;
}

Json mapDimensionJson(const MapDimension &dimension) {
  if (dimension.tensorDimension >= 0)
    return {{"dimension", dimension.tensorDimension}, {"box", dimension.box}};
  return {
      {"extent", dimension.extent}, {"strideBytes", dimension.strideBytes}, {"box", dimension.box}};
}

Json tensorMapJson(const Manifest &manifest, const TensorMapRecipe &recipe) {
  return {{"argument", manifest.arguments.at(recipe.argument).name},
          {"element", dtypeName(recipe.element)},
          {"dimensions", listOf(recipe.dimensions, mapDimensionJson)},
          {"ragged", recipe.ragged},
          {"swizzle", nameOf(swizzleNames, recipe.swizzle)},
          {"promotion", nameOf(promotionNames, recipe.promotion)},
          {"zeroFill", recipe.zeroFill}};
}

Json resourcesJson(const KernelResources &resources) {
  return {{"registers", resources.registers},
          {"spillStoreBytes", resources.spillStoreBytes},
          {"spillLoadBytes", resources.spillLoadBytes},
          {"staticSharedBytes", resources.staticSharedBytes},
          {"advisories", resources.advisories}};
}

Json timelineJson(const ManifestTimeline &timeline) {
  return {{"roles", timeline.roles},
          {"records", timeline.records},
          {"steps", listOf(timeline.steps, [](const ManifestTimeline::Step &step) {
             return Json{{"role", step.role},
                         {"kind", step.kind},
                         {"line", step.line},
                         {"text", step.text}};
           })}};
}

} // namespace

std::vector<std::string> manifestSymbols(const Manifest &manifest) {
  std::vector<std::string> symbols;
  for (const ManifestDim &dim : manifest.dims)
    symbols.push_back(dim.name);
  for (const ManifestArgument &argument : manifest.arguments)
    if (argument.isIntegerScalar())
      symbols.push_back(argument.name);
  return symbols;
}

std::string writeManifest(const Manifest &manifest) {
  Json json = {{"format", "flashqla-manifest"}, {"version", Manifest::currentVersion},
               {"kernel", manifest.kernel},     {"file", manifest.file},
               {"arch", manifest.arch},         {"entry", manifest.entry},
               {"compiler", manifest.compiler}};
  json["params"] = listOf(manifest.params, [](const ManifestParam &param) {
    return Json{{"name", param.name}, {"value", param.value}};
  });
  json["dims"] = listOf(manifest.dims, dimJson);
  json["arguments"] = listOf(manifest.arguments, argumentJson);
  json["cudaParams"] = listOf(
      manifest.cudaParams, [&](const CudaParam &param) { return cudaParamJson(manifest, param); });
  json["tensorMaps"] = listOf(manifest.tensorMaps, [&](const TensorMapRecipe &recipe) {
    return tensorMapJson(manifest, recipe);
  });
  json["where"] = listOf(manifest.where, [](const WhereCheck &check) {
    return Json{
        {"condition", check.condition.text()}, {"text", check.text}, {"message", check.message}};
  });
  json["grid"] = listOf(manifest.grid, [](const GridAxis &axis) {
    return Json{{"name", axis.name}, {"extent", axis.extent.text()}};
  });
  json["blockThreads"] = manifest.blockThreads;
  json["dynamicSharedBytes"] = manifest.dynamicSharedBytes;
  json["resources"] = resourcesJson(manifest.resources);
  json["asserts"] = listOf(manifest.asserts, [](const AssertMessage &message) {
    return Json{{"line", message.line}, {"text", message.text}};
  });
  if (manifest.timeline)
    json["timeline"] = timelineJson(*manifest.timeline);
  json["compileMs"] = manifest.compileMs;
  return json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

} // namespace flashqla
