#include "runtime/json_fields.h"
#include "runtime/manifest.h"
#include "runtime/manifest_names.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <limits>

namespace flashqla {

using namespace detail;

namespace {

constexpr std::int64_t maxInt = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t dimLimit = std::int64_t{1} << 31;
constexpr int maxBlockThreads = 1024;
constexpr std::size_t maxRoles = 32; // a warp each
constexpr int maxRecords = 1 << 20;
constexpr int maxSharedBytes = 227 * 1024; // of one block on sm_90
// Limits of cuTensorMapEncodeTiled, CUDA driver API, "Tensor Map Object Management".
constexpr int maxMapRank = 5;
constexpr int maxBox = 256;
constexpr std::int64_t maxMapStrideBytes = (std::int64_t{1} << 40) - 16;
constexpr std::int64_t maxMapExtent = std::int64_t{1} << 32;

class ManifestReader {
public:
  Expected<Manifest> run(std::string_view text) {
    const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (json.is_discarded())
      return Error{
          "manifest-syntax", fmt::format("the manifest of {} bytes is not JSON", text.size()), {}};
    FieldReader reader(json, "", "manifest-field", failure);
    if (readHeader(reader)) {
      readDims(reader);
      reader.objects("arguments", [&](FieldReader &r) { readArgument(r); });
      bindExpressions(reader);
      reader.objects("tensorMaps", [&](FieldReader &r) { readTensorMap(r); });
      if (reader.has("timeline"))
        reader.object("timeline", [&](FieldReader &r) { readTimeline(r); });
      reader.objects("cudaParams", [&](FieldReader &r) { readCudaParam(r); });
      reader.objects("where", [&](FieldReader &r) { readWhere(r); });
      reader.objects("grid", [&](FieldReader &r) {
        manifest.grid.push_back({r.text("name"), expression(r, "extent")});
      });
      readRest(reader);
      checkLimits(reader);
      reader.finish();
    }
    if (failure)
      return *std::move(failure);
    return std::move(manifest);
  }

private:
  /// False when the rest of the text follows rules that this version does not know.
  bool readHeader(FieldReader &reader) {
    if (reader.text("format") != "flashqla-manifest")
      reader.fail("format", "is not \"flashqla-manifest\": this is some other JSON file");
    const std::int64_t version = reader.integer("version", 0, maxInt);
    if (!failure && version != Manifest::currentVersion)
      failure =
          Error{"manifest-version",
                fmt::format("the manifest has format version {}, this runtime reads version {}",
                            version, Manifest::currentVersion),
                {}};
    return !failure;
  }

  void readDims(FieldReader &reader) {
    manifest.kernel = name(reader, "kernel");
    manifest.file = reader.text("file");
    manifest.arch = reader.text("arch");
    if (!manifest.arch.starts_with("sm_"))
      reader.fail("arch", fmt::format("is \"{}\"; it begins with \"sm_\"", manifest.arch));
    manifest.entry = name(reader, "entry");
    manifest.compiler = reader.text("compiler");
    reader.objects("params", [&](FieldReader &r) {
      manifest.params.push_back({r.text("name"), r.text("value")});
    });
    reader.objects("dims", [&](FieldReader &r) {
      ManifestDim dim{uniqueName(r), std::nullopt};
      if (r.has("value"))
        dim.value = r.integer("value", 0, dimLimit - 1);
      manifest.dims.push_back(std::move(dim));
    });
  }

  void readArgument(FieldReader &reader) {
    ManifestArgument argument;
    argument.name = uniqueName(reader);
    argument.access = choice(reader, "access", accessNames);
    const std::optional<DType> dtype = dtypeFromName(reader.text("dtype"));
    if (!dtype || *dtype == DType::F64)
      reader.fail("dtype", "is none of bf16, f16, f32, i32, i64, bool");
    argument.dtype = dtype.value_or(DType::F32);
    if (argument.isTensor()) {
      for (const std::string &text : reader.texts("shape"))
        argument.shape.push_back(parsed(reader, "shape", text));
      if (argument.shape.size() > TensorRef::maxRank)
        reader.fail("shape", fmt::format("has more than {} dimensions", TensorRef::maxRank));
      readLayout(reader, argument);
    }
    manifest.arguments.push_back(std::move(argument));
  }

  /// "packed", "strided", each with an alignment in bytes if it has one: "strided(16)".
  void readLayout(FieldReader &reader, ManifestArgument &argument) {
    const std::string text = reader.text("layout");
    const std::size_t open = std::min(text.find('('), text.size());
    const auto layout = valueOf(layoutNames, std::string_view(text).substr(0, open));
    bool good = layout.has_value();
    if (open != text.size()) {
      const char *end = text.data() + text.size();
      const auto [stop, status] = std::from_chars(text.data() + open + 1, end, argument.alignBytes);
      const int bytes = argument.alignBytes;
      good = good && status == std::errc{} && std::string_view(stop, end) == ")" && bytes > 0 &&
             (bytes & (bytes - 1)) == 0;
    }
    if (!good)
      reader.fail("layout",
                  fmt::format("is \"{}\"; it is \"packed\" or \"strided\", with an alignment that "
                              "is a power of two as in \"strided(16)\"",
                              text));
    argument.layout = layout.value_or(Layout::Packed);
  }

  void bindExpressions(FieldReader &reader) {
    symbols = manifestSymbols(manifest);
    for (std::size_t i = 0; i < manifest.arguments.size() && !failure; ++i)
      for (DimExpr &extent : manifest.arguments[i].shape)
        if (auto bound = extent.bind(symbols); !bound)
          reader.fail(fmt::format("arguments[{}].shape", i),
                      fmt::format("does not hold: {}", bound.error().message));
  }

  void readTensorMap(FieldReader &reader) {
    TensorMapRecipe recipe;
    recipe.argument = argumentIndex(reader);
    if (!failure && !manifest.arguments[recipe.argument].isTensor())
      reader.fail("argument", "names a scalar");
    const std::optional<DType> element = dtypeFromName(reader.text("element"));
    if (!element || *element == DType::F64)
      reader.fail("element", "is none of bf16, f16, f32, i32, i64, bool");
    recipe.element = element.value_or(DType::F32);
    reader.objects("dimensions", [&](FieldReader &r) {
      recipe.dimensions.push_back(readMapDimension(r, recipe));
    });
    recipe.ragged = reader.flag("ragged");
    recipe.swizzle = choice(reader, "swizzle", swizzleNames);
    recipe.promotion = choice(reader, "promotion", promotionNames);
    recipe.zeroFill = reader.flag("zeroFill");
    checkTensorMap(reader, recipe);
    manifest.tensorMaps.push_back(std::move(recipe));
  }

  MapDimension readMapDimension(FieldReader &reader, const TensorMapRecipe &recipe) {
    MapDimension dimension;
    dimension.box = int(reader.integer("box", 1, maxBox));
    const bool innermost = recipe.dimensions.empty();
    if (reader.has("dimension")) {
      if (failure)
        return dimension;
      const int rank = int(manifest.arguments[recipe.argument].shape.size());
      dimension.tensorDimension = int(reader.integer("dimension", 0, rank - 1));
      if (innermost && dimension.tensorDimension != rank - 1)
        reader.fail("dimension",
                    "of the innermost one is not the last of the tensor, whose stride is 1");
      return dimension;
    }
    dimension.extent = reader.integer("extent", 1, maxMapExtent);
    dimension.strideBytes = reader.integer("strideBytes", 0, maxMapStrideBytes);
    if (dimension.strideBytes % 16 != 0)
      reader.fail("strideBytes",
                  fmt::format("is {}; TMA needs a multiple of 16", dimension.strideBytes));
    return dimension;
  }

  void checkTensorMap(FieldReader &reader, const TensorMapRecipe &recipe) {
    if (failure)
      return;
    const std::size_t rank = recipe.dimensions.size();
    const std::size_t maxRank = recipe.ragged ? maxMapRank - 2 : maxMapRank;
    if (rank < 1 || rank > maxRank)
      return reader.fail("dimensions", fmt::format("has {} entries; a {} map has 1 to {}", rank,
                                                   recipe.ragged ? "ragged" : "plain", maxRank));
    if (recipe.ragged && (rank < 2 || recipe.dimensions.back().tensorDimension < 0))
      return reader.fail("ragged", "needs a dimension of the tensor as the last and one before it");
    const ManifestArgument &argument = manifest.arguments[recipe.argument];
    const std::int64_t bytes = dtypeBytes(recipe.element);
    if (bytes != dtypeBytes(argument.dtype))
      return reader.fail("element", fmt::format("has {} bytes, elements of `{}` have {}", bytes,
                                                argument.name, dtypeBytes(argument.dtype)));
    const std::int64_t rowBytes = recipe.dimensions.front().box * bytes;
    if (rowBytes % 16 != 0)
      return reader.fail(
          "dimensions[0].box",
          fmt::format("makes rows of {} bytes; TMA needs a multiple of 16", rowBytes));
    if (recipe.swizzle != Swizzle::None) {
      const int width = 16 << int(recipe.swizzle);
      if (rowBytes > width)
        reader.fail(
            "dimensions[0].box",
            fmt::format("makes rows of {} bytes, more than the swizzle's {}", rowBytes, width));
    }
  }

  void readCudaParam(FieldReader &reader) {
    CudaParam param;
    param.kind = choice(reader, "kind", cudaParamNames);
    switch (param.kind) {
    case CudaParam::Kind::TensorMap:
      param.index = int(reader.integer("map", 0, std::int64_t(manifest.tensorMaps.size()) - 1));
      break;
    case CudaParam::Kind::Pointer:
    case CudaParam::Kind::Stride:
    case CudaParam::Kind::Scalar: {
      param.index = argumentIndex(reader);
      if (failure)
        return;
      const ManifestArgument &argument = manifest.arguments[param.index];
      if (argument.isTensor() == (param.kind == CudaParam::Kind::Scalar))
        reader.fail("argument", argument.isTensor() ? "names a tensor" : "names a scalar");
      else if (param.kind == CudaParam::Kind::Stride)
        param.dimension =
            int(reader.integer("dimension", 0, std::int64_t(argument.shape.size()) - 1));
      break;
    }
    case CudaParam::Kind::Dim: {
      const std::string dim = reader.text("dim");
      const auto found = std::find_if(manifest.dims.begin(), manifest.dims.end(),
                                      [&](const ManifestDim &d) { return d.name == dim; });
      if (found == manifest.dims.end())
        reader.fail("dim", fmt::format("names `{}`, which is no dim", dim));
      param.index = int(found - manifest.dims.begin());
      break;
    }
    case CudaParam::Kind::AssertBuffer:
      break;
    case CudaParam::Kind::Timeline:
      if (!manifest.timeline)
        reader.fail("kind", "is for kernels with a `timeline`");
      break;
    }
    manifest.cudaParams.push_back(param);
  }

  void readWhere(FieldReader &reader) {
    WhereCheck check;
    check.condition = expression(reader, "condition");
    check.text = reader.text("text");
    check.message = reader.text("message");
    manifest.where.push_back(std::move(check));
  }

  void readTimeline(FieldReader &reader) {
    ManifestTimeline &timeline = manifest.timeline.emplace();
    timeline.roles = reader.texts("roles");
    if (timeline.roles.size() > maxRoles)
      reader.fail("roles",
                  fmt::format("has {} entries; the limit is {}", timeline.roles.size(), maxRoles));
    timeline.records = int(reader.integer("records", 1, maxRecords));
    reader.objects("steps", [&](FieldReader &r) {
      ManifestTimeline::Step step;
      step.role = r.text("role");
      if (std::ranges::find(timeline.roles, step.role) == timeline.roles.end())
        r.fail("role", fmt::format("names `{}`, which is no role", step.role));
      step.kind = r.text("kind");
      step.line = int(r.integer("line", 0, std::numeric_limits<int>::max()));
      step.text = r.text("text");
      timeline.steps.push_back(std::move(step));
    });
  }

  void readRest(FieldReader &reader) {
    manifest.blockThreads = int(reader.integer("blockThreads", 1, maxBlockThreads));
    manifest.dynamicSharedBytes = int(reader.integer("dynamicSharedBytes", 0, maxSharedBytes));
    reader.object("resources", [&](FieldReader &r) {
      constexpr int maximum = std::numeric_limits<int>::max();
      manifest.resources.registers = int(r.integer("registers", 0, maximum));
      manifest.resources.spillStoreBytes = int(r.integer("spillStoreBytes", 0, maximum));
      manifest.resources.spillLoadBytes = int(r.integer("spillLoadBytes", 0, maximum));
      manifest.resources.staticSharedBytes = int(r.integer("staticSharedBytes", 0, maximum));
      manifest.resources.advisories = r.texts("advisories");
    });
    reader.objects("asserts", [&](FieldReader &r) {
      const int line = int(r.integer("line", 0, std::numeric_limits<int>::max()));
      manifest.asserts.push_back({line, r.text("text")});
    });
    manifest.compileMs = reader.real("compileMs");
  }

  void checkLimits(FieldReader &reader) {
    const auto check = [&](std::string_view field, std::size_t count, int limit) {
      if (count > std::size_t(limit))
        reader.fail(field, fmt::format("has {} entries; the limit is {}", count, limit));
    };
    check("dims", symbols.size(), Manifest::maxSymbols);
    check("arguments", manifest.arguments.size(), Manifest::maxArguments);
    check("cudaParams", manifest.cudaParams.size(), Manifest::maxCudaParams);
    check("tensorMaps", manifest.tensorMaps.size(), Manifest::maxTensorMaps);
  }

  std::string name(FieldReader &reader, std::string_view key) {
    std::string text = reader.text(key);
    if (text.empty())
      reader.fail(key, "is empty");
    return text;
  }

  /// Dims and arguments share one name space: expressions and messages name both.
  std::string uniqueName(FieldReader &reader) {
    std::string text = name(reader, "name");
    if (std::find(names.begin(), names.end(), text) != names.end())
      reader.fail("name", fmt::format("is \"{}\", as an earlier one is", text));
    names.push_back(text);
    return text;
  }

  template <class E, std::size_t N>
  E choice(FieldReader &reader, std::string_view key, const EnumName<E> (&values)[N]) {
    const std::string text = reader.text(key);
    if (const auto value = valueOf(values, text))
      return *value;
    std::string all;
    for (const EnumName<E> &entry : values)
      all += fmt::format("{}{}", all.empty() ? "" : ", ", entry.name);
    reader.fail(key, fmt::format("is \"{}\"; it is one of {}", text, all));
    return values[0].value;
  }

  int argumentIndex(FieldReader &reader) {
    const std::string text = reader.text("argument");
    for (std::size_t i = 0; i < manifest.arguments.size(); ++i)
      if (manifest.arguments[i].name == text)
        return int(i);
    reader.fail("argument", fmt::format("names `{}`, which is no argument", text));
    return 0;
  }

  DimExpr parsed(FieldReader &reader, std::string_view key, const std::string &text) {
    Expected<DimExpr> expr = DimExpr::parse(text);
    if (expr)
      return *std::move(expr);
    reader.fail(key, fmt::format("does not read: {}", expr.error().message));
    return DimExpr();
  }

  DimExpr expression(FieldReader &reader, std::string_view key) {
    DimExpr expr = parsed(reader, key, reader.text(key));
    if (failure)
      return DimExpr();
    if (auto bound = expr.bind(symbols); !bound)
      reader.fail(key, fmt::format("does not hold: {}", bound.error().message));
    return expr;
  }

  Manifest manifest;
  std::vector<std::string> symbols;
  std::vector<std::string> names;
  std::optional<Error> failure;
};

} // namespace

Expected<Manifest> readManifest(std::string_view json) { return ManifestReader().run(json); }

} // namespace flashqla
