#include "runtime/launch_check.h"

#include <fmt/format.h>
#include <limits>

namespace flashqla {

namespace {

constexpr std::int64_t dimLimit = std::int64_t{1} << 31;

template <class... Values>
Error problem(const char *code, fmt::format_string<Values...> format, Values &&...values) {
  return Error{code, fmt::format(format, std::forward<Values>(values)...), {}};
}

const char *kindName(Arg::Kind kind) {
  switch (kind) {
  case Arg::Kind::Tensor:
    return "a tensor";
  case Arg::Kind::Int:
    return "an integer";
  case Arg::Kind::Float:
    return "a float";
  case Arg::Kind::Bool:
    return "a bool";
  }
  return "?";
}

bool isFloat(DType dtype) {
  return dtype == DType::F32 || dtype == DType::BF16 || dtype == DType::F16;
}

class Checker {
public:
  Checker(const Manifest &manifest, const Arg *args, std::size_t count, SymbolValues &symbols)
      : manifest(manifest), args(args), count(count), values(symbols.values) {}

  Expected<void> run(const LaunchOptions &options) {
    if (auto done = checkKinds(); !done)
      return done;
    if (auto done = takeGivenDims(options); !done)
      return done;
    bindFromSizes();
    if (auto done = checkDims(); !done)
      return done;
    if (auto done = checkSizes(); !done)
      return done;
    // Before strides and alignment: a `where` clause says in the author's words what those would
    // say.
    if (auto done = checkWhere(); !done)
      return done;
    for (std::size_t i = 0; i < count; ++i)
      if (manifest.arguments[i].isTensor())
        if (auto done = checkMemory(manifest.arguments[i], args[i].tensor()); !done)
          return done;
    return checkBulkStores();
  }

private:
  /// Where the value of a dim comes from.
  struct Origin {
    enum class Kind : std::uint8_t { None, Static, Call, Tensor };
    Kind kind = Kind::None;
    int argument = 0;
  };

  Expected<void> checkKinds() {
    if (count != manifest.arguments.size()) {
      std::string names;
      for (const ManifestArgument &argument : manifest.arguments)
        names += (names.empty() ? "" : ", ") + argument.name;
      return problem("launch-arguments", "{} arguments given, the kernel takes {} ({})", count,
                     manifest.arguments.size(), names);
    }
    std::size_t scalarSlot = manifest.dims.size();
    for (std::size_t i = 0; i < count; ++i) {
      const ManifestArgument &argument = manifest.arguments[i];
      if (auto done = argument.isTensor() ? checkTensorKind(argument, args[i])
                                          : checkScalarKind(argument, args[i]);
          !done)
        return done;
      if (argument.isIntegerScalar())
        values[scalarSlot++] = args[i].integer();
    }
    return {};
  }

  Expected<void> checkTensorKind(const ManifestArgument &argument, const Arg &arg) const {
    if (arg.kind() != Arg::Kind::Tensor)
      return problem("launch-arguments", "`{}` is a tensor, the call gives {}", argument.name,
                     kindName(arg.kind()));
    const TensorRef &tensor = arg.tensor();
    if (tensor.dtype != argument.dtype)
      return problem("launch-dtype", "`{}` has elements of {}, the kernel takes {}", argument.name,
                     dtypeName(tensor.dtype), dtypeName(argument.dtype));
    if (tensor.rank != static_cast<int>(argument.shape.size()))
      return problem("launch-rank", "`{}` has {} dimensions, the kernel takes {}", argument.name,
                     tensor.rank, argument.shape.size());
    return {};
  }

  Expected<void> checkScalarKind(const ManifestArgument &argument, const Arg &arg) const {
    const bool fits = isFloat(argument.dtype)
                          ? arg.kind() == Arg::Kind::Float || arg.kind() == Arg::Kind::Int
                      : argument.dtype == DType::Bool ? arg.kind() == Arg::Kind::Bool
                                                      : arg.kind() == Arg::Kind::Int;
    if (!fits)
      return problem("launch-arguments", "`{}` is a scalar of type {}, the call gives {}",
                     argument.name, dtypeName(argument.dtype), kindName(arg.kind()));
    if (argument.dtype == DType::I32 && (arg.integer() < std::numeric_limits<std::int32_t>::min() ||
                                         arg.integer() > std::numeric_limits<std::int32_t>::max()))
      return problem("launch-arguments", "`{}` is {}, which i32 cannot hold", argument.name,
                     arg.integer());
    return {};
  }

  Expected<void> takeGivenDims(const LaunchOptions &options) {
    for (std::size_t slot = 0; slot < manifest.dims.size(); ++slot)
      if (manifest.dims[slot].value) {
        values[slot] = *manifest.dims[slot].value;
        origins[slot] = {Origin::Kind::Static, 0};
      }
    for (std::size_t i = 0; i < options.dimCount; ++i) {
      const DimValue &given = options.dims[i];
      std::size_t slot = 0;
      while (slot < manifest.dims.size() && manifest.dims[slot].name != given.name)
        ++slot;
      if (slot == manifest.dims.size())
        return problem("launch-dims", "the kernel has no dim `{}`", given.name);
      if (origins[slot].kind != Origin::Kind::None && values[slot] != given.value)
        return problem("launch-dims", "the call gives {} = {}, {} says {}", given.name, given.value,
                       originText(origins[slot]), values[slot]);
      if (origins[slot].kind == Origin::Kind::None) {
        values[slot] = given.value;
        origins[slot] = {Origin::Kind::Call, 0};
      }
    }
    return {};
  }

  /// Plain names first, so that `seq: [NS + 1]` is compared with a tensor that has NS itself.
  void bindFromSizes() {
    for (const bool plain : {true, false})
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t d = 0; d < manifest.arguments[i].shape.size(); ++d)
          if (const auto form = manifest.arguments[i].shape[d].asNamePlusConstant())
            bindDim(*form, plain, static_cast<int>(i), static_cast<int>(d));
  }

  void bindDim(DimExpr::NamePlusConstant form, bool plain, int argument, int dimension) {
    const bool isDim = form.slot < static_cast<int>(manifest.dims.size());
    std::int64_t value = 0;
    if (!isDim || origins[form.slot].kind != Origin::Kind::None || plain != (form.constant == 0) ||
        __builtin_sub_overflow(args[argument].tensor().sizes[dimension], form.constant, &value))
      return;
    values[form.slot] = value;
    origins[form.slot] = {Origin::Kind::Tensor, argument};
  }

  Expected<void> checkDims() const {
    for (std::size_t slot = 0; slot < manifest.dims.size(); ++slot) {
      const std::string &name = manifest.dims[slot].name;
      if (origins[slot].kind == Origin::Kind::None)
        return problem("launch-dims",
                       "the sizes of the tensors do not give dim `{}`: name it in the call", name);
      if (values[slot] < 0 || values[slot] >= dimLimit)
        return problem("launch-dims", "{} = {} from {}; a dim lies in 0 … 2^31 - 1", name,
                       values[slot], originText(origins[slot]));
    }
    return {};
  }

  Expected<void> checkSizes() const {
    for (std::size_t i = 0; i < count; ++i) {
      const ManifestArgument &argument = manifest.arguments[i];
      for (std::size_t d = 0; d < argument.shape.size(); ++d)
        if (auto done = checkSize(argument, d, args[i].tensor().sizes[d]); !done)
          return done;
    }
    return {};
  }

  Expected<void> checkSize(const ManifestArgument &argument, std::size_t dimension,
                           std::int64_t size) const {
    const DimExpr &expr = argument.shape[dimension];
    const Expected<std::int64_t> wanted = expr.evaluate({values, Manifest::maxSymbols});
    if (!wanted)
      return wanted.error();
    if (*wanted == size)
      return {};
    const auto form = expr.asNamePlusConstant();
    if (form && form->constant == 0 && form->slot < static_cast<int>(manifest.dims.size()))
      return problem("launch-shape", "`{}` has {} = {}, {} says {}", argument.name, expr.text(),
                     size, originText(origins[form->slot]), *wanted);
    Error error = problem("launch-shape", "`{}` has {} elements in dimension {}, `{}` is {}",
                          argument.name, size, dimension, expr.text(), *wanted);
    for (const int slot : expr.slots())
      if (slot < static_cast<int>(manifest.dims.size()))
        error.notes.push_back(fmt::format("{} = {} from {}", manifest.dims[slot].name, values[slot],
                                          originText(origins[slot])));
    return error;
  }

  Expected<void> checkWhere() const {
    for (const WhereCheck &check : manifest.where) {
      const std::span<const std::int64_t> all(values, Manifest::maxSymbols);
      const Expected<std::int64_t> holds = check.condition.evaluate(all);
      if (!holds)
        return Error(holds.error()).withNote(fmt::format("in the clause `where {}`", check.text));
      if (*holds)
        continue;
      const std::string with = check.condition.describe(all);
      return problem("launch-where", "`{}` does not hold{}{}{}", check.text,
                     with.empty() ? "" : fmt::format(" ({})", with),
                     check.message.empty() ? "" : ": ", check.message);
    }
    return {};
  }

  Expected<void> checkMemory(const ManifestArgument &argument, const TensorRef &tensor) const {
    bool empty = false;
    for (int i = 0; i < tensor.rank; ++i)
      empty = empty || tensor.sizes[i] == 0;
    if (empty)
      return {};
    if (!tensor.data)
      return problem("launch-pointer", "`{}` is a null pointer and has elements", argument.name);
    if (auto done = argument.layout == Layout::Packed ? checkPacked(argument, tensor)
                                                      : checkStrided(argument, tensor);
        !done)
      return done;
    const std::int64_t align =
        argument.alignBytes ? argument.alignBytes : dtypeBytes(argument.dtype);
    if (const auto address = reinterpret_cast<std::uintptr_t>(tensor.data); address % align)
      return problem("launch-alignment", "`{}` begins at {:#x}; it needs a multiple of {} bytes",
                     argument.name, address, align);
    return {};
  }

  /// A bulk store clips rows at multiples of 16 bytes (seen on an H200): it would write into the gap
  /// behind a row that ends elsewhere.
  Expected<void> checkBulkStores() const {
    for (const TensorMapRecipe &recipe : manifest.tensorMaps) {
      const ManifestArgument &argument = manifest.arguments[recipe.argument];
      const int row = recipe.dimensions[0].tensorDimension;
      if (argument.access == Access::In || row < 0)
        continue;
      const std::int64_t bytes =
          args[recipe.argument].tensor().sizes[row] * static_cast<std::int64_t>(dtypeBytes(argument.dtype));
      if (bytes % 16)
        return problem("launch-alignment",
                       "`{}` has rows of {} bytes; a bulk store writes multiples of 16",
                       argument.name, bytes);
    }
    return {};
  }

  Expected<void> checkPacked(const ManifestArgument &argument, const TensorRef &tensor) const {
    std::int64_t stride = 1;
    for (int i = tensor.rank - 1; i >= 0; --i) {
      if (tensor.sizes[i] > 1 && tensor.strides[i] != stride)
        return problem("launch-stride",
                       "`{}` has stride {} in dimension {}; the kernel takes it packed: {}",
                       argument.name, tensor.strides[i], i, stride);
      if (__builtin_mul_overflow(stride, tensor.sizes[i], &stride))
        return problem("launch-shape", "`{}` has more than 2^63 elements", argument.name);
    }
    return {};
  }

  Expected<void> checkStrided(const ManifestArgument &argument, const TensorRef &tensor) const {
    const int last = tensor.rank - 1;
    const std::int64_t bytes = dtypeBytes(tensor.dtype);
    for (int i = 0; i <= last; ++i) {
      if (tensor.sizes[i] <= 1)
        continue; // the stride is never used
      const std::int64_t stride = tensor.strides[i];
      if (i == last && stride != 1)
        return problem("launch-stride", "`{}` has stride {} in its last dimension; it must be 1",
                       argument.name, stride);
      std::int64_t strideBytes = 0;
      if (stride < 0 || __builtin_mul_overflow(stride, bytes, &strideBytes))
        return problem("launch-stride", "`{}` has stride {} in dimension {}", argument.name, stride,
                       i);
      if (i != last && argument.alignBytes && strideBytes % argument.alignBytes)
        return problem("launch-alignment",
                       "`{}` has stride {} bytes in dimension {}; it needs a multiple of {}",
                       argument.name, strideBytes, i, argument.alignBytes);
    }
    return {};
  }

  std::string originText(Origin origin) const {
    switch (origin.kind) {
    case Origin::Kind::None:
      return "nothing";
    case Origin::Kind::Static:
      return "the compiled kernel";
    case Origin::Kind::Call:
      return "the call";
    case Origin::Kind::Tensor:
      return fmt::format("`{}`", manifest.arguments[origin.argument].name);
    }
    return "?";
  }

  const Manifest &manifest;
  const Arg *args;
  std::size_t count;
  std::int64_t *values;
  Origin origins[Manifest::maxSymbols] = {};
};

} // namespace

Expected<void> checkLaunch(const Manifest &manifest, const Arg *args, std::size_t count,
                           const LaunchOptions &options, SymbolValues &symbols) {
  return Checker(manifest, args, count, symbols).run(options);
}

Expected<std::int64_t> gridBlocks(const Manifest &manifest, const SymbolValues &symbols) {
  std::int64_t blocks = 1;
  for (const GridAxis &axis : manifest.grid) {
    const Expected<std::int64_t> extent = axis.extent.evaluate(symbols.values);
    if (!extent)
      return Error(extent.error()).withNote(fmt::format("in the grid axis `{}`", axis.name));
    if (*extent < 0)
      return problem("launch-grid", "the grid axis `{}` is {} ({})", axis.name, *extent,
                     axis.extent.text());
    if (__builtin_mul_overflow(blocks, *extent, &blocks))
      blocks = std::numeric_limits<std::int64_t>::max();
    if (*extent == 0)
      return 0;
  }
  if (blocks >= dimLimit)
    return problem("launch-grid", "the grid has {} CTAs; a launch takes fewer than 2^31", blocks);
  return blocks;
}

} // namespace flashqla
