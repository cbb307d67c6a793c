#include "compiler/codegen/emit_manifest.h"

using namespace mlir;
using namespace flashqla::tile;

namespace flashqla::codegen {
namespace {

DType dtypeOf(Type type) {
  if (type.isBF16())
    return DType::BF16;
  if (type.isF16())
    return DType::F16;
  if (type.isF32())
    return DType::F32;
  if (type.isInteger(32))
    return DType::I32;
  return type.isInteger(64) ? DType::I64 : DType::Bool;
}

/// Expressions come from the frontend, which writes what the runtime reads.
DimExpr expression(StringRef text) {
  Expected<DimExpr> parsed = DimExpr::parse(text.str());
  assert(parsed && "the frontend writes expressions that parse");
  return std::move(*parsed);
}

StringRef text(DictionaryAttr dictionary, StringRef key) { return dictionary.getAs<StringAttr>(key).getValue(); }

ManifestArgument argumentOf(DictionaryAttr entry, const std::set<std::string> &aligned) {
  ManifestArgument argument;
  argument.name = text(entry, "name").str();
  argument.dtype = dtypeOf(entry.getAs<TypeAttr>("type").getValue());
  if (text(entry, "kind") == "scalar") {
    argument.access = flashqla::Access::Scalar;
    return argument;
  }
  StringRef access = text(entry, "access"), layout = text(entry, "layout");
  argument.access = access == "in"    ? flashqla::Access::In
                    : access == "out" ? flashqla::Access::Out
                                      : flashqla::Access::InOut;
  for (Attribute extent : entry.getAs<ArrayAttr>("shape"))
    argument.shape.push_back(expression(cast<StringAttr>(extent).getValue()));
  argument.layout = layout == "packed" ? Layout::Packed : Layout::Strided;
  if (layout == "strided16" || aligned.count(argument.name))
    argument.alignBytes = 16;
  return argument;
}

TensorMapRecipe recipeOf(DictionaryAttr entry, const Manifest &manifest) {
  TensorMapRecipe recipe;
  for (size_t i = 0; i < manifest.arguments.size(); ++i)
    if (manifest.arguments[i].name == text(entry, "argument"))
      recipe.argument = static_cast<int>(i);
  recipe.element = manifest.arguments[recipe.argument].dtype;
  recipe.ragged = entry.getAs<BoolAttr>("ragged").getValue();
  recipe.swizzle = static_cast<flashqla::Swizzle>(entry.getAs<SwizzleAttr>("swizzle").getValue());
  for (auto [dim, box] : llvm::zip_equal(entry.getAs<DenseI64ArrayAttr>("dims").asArrayRef(),
                                         entry.getAs<DenseI64ArrayAttr>("boxes").asArrayRef()))
    recipe.dimensions.push_back({static_cast<int>(dim), 1, 0, static_cast<int>(box)});
  return recipe;
}

} // namespace

Manifest makeManifest(KernelOp kernel, const EmittedKernel &emitted, const CompiledCuda &compiled,
                      const std::string &file, const std::string &arch) {
  Manifest manifest;
  manifest.kernel = manifest.entry = kernel.getSymName().str();
  manifest.file = file;
  manifest.arch = arch;
  for (NamedAttribute param : kernel.getParams())
    manifest.params.push_back({param.getName().str(), cast<StringAttr>(param.getValue()).getValue().str()});
  for (Attribute name : kernel.getDims()) {
    ManifestDim dim{cast<StringAttr>(name).getValue().str(), {}};
    if (auto value = kernel.getStaticDims().getAs<IntegerAttr>(dim.name))
      dim.value = value.getInt();
    manifest.dims.push_back(std::move(dim));
  }
  for (Attribute entry : kernel.getArguments())
    manifest.arguments.push_back(argumentOf(cast<DictionaryAttr>(entry), emitted.aligned));
  manifest.cudaParams = emitted.parameters;
  for (Attribute entry : kernel->getAttrOfType<ArrayAttr>("tensor_maps"))
    manifest.tensorMaps.push_back(recipeOf(cast<DictionaryAttr>(entry), manifest));
  for (Attribute entry : kernel.getWhere()) {
    auto clause = cast<DictionaryAttr>(entry);
    auto message = clause.getAs<StringAttr>("message");
    manifest.where.push_back({expression(text(clause, "condition")), text(clause, "source").str(),
                              message ? message.getValue().str() : ""});
  }
  for (Attribute axis : kernel.getGrid())
    manifest.grid.push_back({text(cast<DictionaryAttr>(axis), "name").str(),
                             expression(text(cast<DictionaryAttr>(axis), "extent"))});
  manifest.blockThreads = static_cast<int>(emitted.threads);
  manifest.dynamicSharedBytes = static_cast<int>(kernel->getAttrOfType<IntegerAttr>("shared_bytes").getInt());
  manifest.resources.registers = compiled.registers;
  manifest.resources.spillStoreBytes = compiled.spillStoreBytes;
  manifest.resources.spillLoadBytes = compiled.spillLoadBytes;
  for (const Advisory &advisory : compiled.advisories)
    manifest.resources.advisories.push_back(advisory.text);
  manifest.asserts = emitted.asserts;
  manifest.timeline = emitted.timeline;
  return manifest;
}

} // namespace flashqla::codegen
