#include "kernels/gdn/gdn.h"

#include <fmt/format.h>

#include <initializer_list>
#include <string>

namespace flashqla::gdn {

namespace {

/// An extent with its name, "HQ = 16".
struct Extent {
  std::string_view name;
  std::int64_t value;
};

std::string sizesText(const TensorRef &tensor) {
  std::string text;
  for (int i = 0; i < tensor.rank; ++i)
    text += fmt::format("{}{}", i ? ", " : "", tensor.sizes[i]);
  return "[" + text + "]";
}

std::string extentsText(std::initializer_list<Extent> extents) {
  std::string names, values;
  for (const Extent &extent : extents) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", extent.name);
    values += fmt::format("{}{}", values.empty() ? "" : ", ", extent.value);
  }
  return fmt::format("[{}] = [{}]", names, values);
}

Expected<void> checkShape(std::string_view name, const TensorRef &tensor, DType dtype,
                          std::initializer_list<Extent> extents) {
  if (tensor.dtype != dtype)
    return Error{"gdn-dtype",
                 fmt::format("`{}` has elements of {}, the configuration says {}", name,
                             dtypeName(tensor.dtype), dtypeName(dtype)),
                 {}};
  bool fits = tensor.rank == static_cast<int>(extents.size());
  for (int i = 0; fits && i < tensor.rank; ++i)
    fits = tensor.sizes[i] == extents.begin()[i].value;
  if (fits)
    return {};
  return Error{"gdn-shape",
               fmt::format("`{}` has the shape {}, it should be {}", name, sizesText(tensor),
                           extentsText(extents)),
               {}};
}

/// The last dimension is contiguous; `alignBytes` divides the address and the other strides.
Expected<void> checkStrides(std::string_view name, const TensorRef &tensor,
                            std::int64_t alignBytes) {
  if (tensor.elementCount() == 0)
    return {};
  const std::int64_t bytes = dtypeBytes(tensor.dtype);
  for (int i = 0; i < tensor.rank; ++i) {
    const bool last = i == tensor.rank - 1;
    if (tensor.sizes[i] == 1)
      continue;
    if (last ? tensor.strides[i] != 1 : tensor.strides[i] < 0)
      return Error{"gdn-stride",
                   fmt::format("`{}` has stride {} in dimension {}; it should be {}", name,
                               tensor.strides[i], i, last ? "1" : "0 or more"),
                   {}};
    if (!last && tensor.strides[i] * bytes % alignBytes != 0)
      return Error{
          "gdn-alignment",
          fmt::format("`{}` has stride {} bytes in dimension {}; it needs a multiple of {}", name,
                      tensor.strides[i] * bytes, i, alignBytes),
          {}};
  }
  if (const auto address = reinterpret_cast<std::uintptr_t>(tensor.data);
      address % static_cast<std::uintptr_t>(alignBytes) != 0)
    return Error{"gdn-alignment",
                 fmt::format("`{}` begins at {:#x}; it needs a multiple of {} bytes", name, address,
                             alignBytes),
                 {}};
  return {};
}

Expected<void> checkPacked(std::string_view name, const TensorRef &tensor) {
  if (tensor.isPacked())
    return {};
  return Error{
      "gdn-stride", fmt::format("`{}` has gaps; it should be row-major without", name), {}};
}

/// An optional tensor is there exactly if the configuration says so.
Expected<void> checkPresence(std::string_view name, bool given, bool wanted) {
  if (given == wanted)
    return {};
  return Error{"gdn-argument",
               wanted
                   ? fmt::format("`{}` is missing; the configuration says that it is given", name)
                   : fmt::format("`{}` is given; the configuration says that there is none", name),
               {}};
}

/// One optional tensor with packed elements.
Expected<void> checkOptional(std::string_view name, const std::optional<TensorRef> &tensor,
                             bool wanted, DType dtype, std::initializer_list<Extent> extents) {
  if (auto done = checkPresence(name, tensor.has_value(), wanted); !done || !tensor)
    return done;
  if (auto done = checkShape(name, *tensor, dtype, extents); !done)
    return done;
  return checkPacked(name, *tensor);
}

Expected<void> checkTensors(const Config &config, const Arguments &args, const Extents &extents) {
  const Extent b{"B", extents.batch}, t{"T", extents.tokens};
  const Extent hq{"HQ", config.headsQk}, hv{"HV", config.headsV};
  const Extent dk{"K", config.dimK}, dv{"V", config.dimV};
  const struct {
    std::string_view name;
    const TensorRef &tensor;
    const Extent &heads, &dim;
  } wide[] = {
      {"q", args.q, hq, dk}, {"k", args.k, hq, dk}, {"v", args.v, hv, dv}, {"o", args.o, hv, dv}};
  for (const auto &[name, tensor, heads, dim] : wide) {
    if (auto done = checkShape(name, tensor, config.dtype, {b, t, heads, dim}); !done)
      return done;
    if (auto done = checkStrides(name, tensor, 16); !done)
      return done;
  }
  const struct {
    std::string_view name;
    const TensorRef &tensor;
    DType dtype;
  } narrow[] = {{"gate", args.gate, config.gateType}, {"beta", args.beta, config.betaType}};
  for (const auto &[name, tensor, dtype] : narrow) {
    if (auto done = checkShape(name, tensor, dtype, {b, t, hv}); !done)
      return done;
    if (auto done = checkStrides(name, tensor, dtypeBytes(dtype)); !done)
      return done;
  }
  return {};
}

Expected<void> checkOptionals(const Config &config, const Arguments &args, const Extents &extents) {
  const bool raw = config.gateKind == Gate::Raw;
  const Extent hv{"HV", config.headsV}, n{"N", extents.sequences};
  const bool keyFirst = config.stateLayout == StateLayout::KeyFirst;
  const Extent dk{"K", config.dimK}, dv{"V", config.dimV};
  const Extent row = keyFirst ? dk : dv, column = keyFirst ? dv : dk;
  if (auto done = checkOptional("a_log", args.aLog, raw, DType::F32, {hv}); !done)
    return done;
  if (auto done = checkOptional("dt_bias", args.dtBias, raw, DType::F32, {hv}); !done)
    return done;
  if (auto done = checkOptional("initial_state", args.initialState, config.initialState,
                                config.stateType, {n, hv, row, column});
      !done)
    return done;
  return checkOptional("final_state", args.finalState, config.finalState, config.stateType,
                       {n, hv, row, column});
}

Error unsupported(std::string message) { return Error{"gdn-unsupported", std::move(message), {}}; }

bool isFloat(DType dtype) {
  return dtype == DType::F32 || dtype == DType::BF16 || dtype == DType::F16;
}

} // namespace

Expected<void> checkConfig(const Config &config) {
  if (config.dtype != DType::BF16 && config.dtype != DType::F16)
    return unsupported(fmt::format("q, k, v and o have elements of {}; bf16 and f16 are supported",
                                   dtypeName(config.dtype)));
  if (config.headsQk < 1 || config.headsV < 1 || config.headsV % config.headsQk != 0)
    return unsupported(fmt::format("{} value heads for {} q/k heads; a multiple is supported",
                                   config.headsV, config.headsQk));
  if (config.dimK != 64 && config.dimK != 128)
    return unsupported(fmt::format("K = {}; 64 and 128 are supported", config.dimK));
  if (config.dimV < 64 || config.dimV % 64 != 0)
    return unsupported(fmt::format("V = {}; multiples of 64 are supported", config.dimV));
  if (config.valueBlock != 0 &&
      ((config.valueBlock != 64 && config.valueBlock != 128) || config.dimV % config.valueBlock))
    return unsupported(fmt::format("a value block of {} for V = {}; 64 and 128 are supported where "
                                   "they divide V",
                                   config.valueBlock, config.dimV));
  if (config.indexType != DType::I32 && config.indexType != DType::I64)
    return unsupported(fmt::format("cu_seqlens has elements of {}; i32 and i64 are supported",
                                   dtypeName(config.indexType)));
  const struct {
    std::string_view name;
    DType dtype;
  } floats[] = {
      {"gate", config.gateType}, {"beta", config.betaType}, {"a state", config.stateType}};
  for (const auto &[name, dtype] : floats)
    if (!isFloat(dtype))
      return unsupported(fmt::format("{} has elements of {}; f32, bf16 and f16 are supported", name,
                                     dtypeName(dtype)));
  return {};
}

Expected<Extents> checkArguments(const Config &config, const Arguments &args) {
  if (args.q.rank != 4)
    return Error{"gdn-shape",
                 fmt::format("`q` has the shape {}, it should be [B, T, HQ, K]", sizesText(args.q)),
                 {}};
  Extents extents{args.q.sizes[0], args.q.sizes[1], args.q.sizes[0]};
  if (auto done = checkPresence("cu_seqlens", args.cuSeqlens.has_value(), config.packed); !done)
    return std::move(done).error();
  if (config.packed) {
    if (args.cuSeqlens->rank != 1 || args.cuSeqlens->sizes[0] < 1)
      return Error{"gdn-shape",
                   fmt::format("`cu_seqlens` has the shape {}, it should be [N + 1]",
                               sizesText(*args.cuSeqlens)),
                   {}};
    if (extents.batch != 1)
      return Error{"gdn-shape",
                   fmt::format("`q` has B = {}; packed sequences need B = 1", extents.batch),
                   {}};
    extents.sequences = args.cuSeqlens->sizes[0] - 1;
    if (auto done = checkOptional("cu_seqlens", args.cuSeqlens, true, config.indexType,
                                  {{"N + 1", extents.sequences + 1}});
        !done)
      return std::move(done).error();
  }
  if (auto done = checkTensors(config, args, extents); !done)
    return std::move(done).error();
  if (auto done = checkOptionals(config, args, extents); !done)
    return std::move(done).error();
  return extents;
}

} // namespace flashqla::gdn
