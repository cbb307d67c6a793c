#include "runtime/tensor_map.h"

#include <algorithm>
#include <fmt/format.h>

namespace flashqla {

namespace {

constexpr std::uint64_t strideLimitBytes = std::uint64_t{1} << 40;
constexpr std::uint64_t alignBytes = 16;
// The ragged map: the row coordinate is 2^30 − (e − t), so that the hardware clips at row e.
constexpr std::uint64_t raggedExtent = std::uint64_t{1} << 30;
constexpr std::uint64_t raggedUnits = 0x7fff0000;
constexpr std::uint64_t raggedSpanBytes = std::uint64_t{1} << 35;

CUtensorMapDataType dataType(DType dtype) {
  switch (dtype) {
  case DType::BF16:
    return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  case DType::F16:
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  case DType::F32:
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  case DType::I32:
    return CU_TENSOR_MAP_DATA_TYPE_INT32;
  case DType::I64:
    return CU_TENSOR_MAP_DATA_TYPE_INT64;
  case DType::Bool:
    return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  case DType::F64:
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
  }
  return CU_TENSOR_MAP_DATA_TYPE_UINT8;
}

CUtensorMapSwizzle swizzleMode(Swizzle swizzle) {
  switch (swizzle) {
  case Swizzle::None:
    return CU_TENSOR_MAP_SWIZZLE_NONE;
  case Swizzle::B32:
    return CU_TENSOR_MAP_SWIZZLE_32B;
  case Swizzle::B64:
    return CU_TENSOR_MAP_SWIZZLE_64B;
  case Swizzle::B128:
    return CU_TENSOR_MAP_SWIZZLE_128B;
  }
  return CU_TENSOR_MAP_SWIZZLE_NONE;
}

CUtensorMapL2promotion promotionMode(L2Promotion promotion) {
  switch (promotion) {
  case L2Promotion::None:
    return CU_TENSOR_MAP_L2_PROMOTION_NONE;
  case L2Promotion::B64:
    return CU_TENSOR_MAP_L2_PROMOTION_L2_64B;
  case L2Promotion::B128:
    return CU_TENSOR_MAP_L2_PROMOTION_L2_128B;
  case L2Promotion::B256:
    return CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
  }
  return CU_TENSOR_MAP_L2_PROMOTION_NONE;
}

/// The stride of one dimension of the tensor in bytes, checked for the hardware. A dimension of
/// extent one is only ever addressed at 0, and libraries put any stride there: it gets a legal one.
Expected<std::uint64_t> mapStride(const std::string &name, const TensorRef &tensor, int dimension) {
  if (tensor.sizes[dimension] <= 1)
    return alignBytes;
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(tensor.strides[dimension], dtypeBytes(tensor.dtype), &bytes) ||
      bytes < 0 || std::uint64_t(bytes) >= strideLimitBytes)
    return Error{
        "launch-stride",
        fmt::format("`{}` has stride {} elements in dimension {}; TMA needs less than 2^40 bytes",
                    name, tensor.strides[dimension], dimension),
        {}};
  if (bytes % alignBytes)
    return Error{"launch-alignment",
                 fmt::format("`{}` has stride {} bytes in dimension {}; TMA needs a multiple of 16",
                             name, bytes, dimension),
                 {}};
  return std::uint64_t(bytes);
}

/// A map that is legal and reads one element: every extent is one.
TensorMapRequest emptyRequest(unsigned rank, void *memory) {
  TensorMapRequest request;
  request.address = memory;
  std::fill_n(request.extents, rank, 1);
  std::fill_n(request.strides, rank - 1, alignBytes);
  return request;
}

/// Replaces the last dimension, of stride ts, by the three that can be clipped at any row.
Expected<void> makeRagged(TensorMapRequest &request, unsigned last, const std::string &name,
                          int dimension) {
  const std::uint64_t ts = request.strides[last - 1];
  if (request.extents[last] > raggedExtent)
    return Error{"launch-shape",
                 fmt::format("`{}` has {} elements in its ragged dimension {}; the limit is 2^30",
                             name, request.extents[last], dimension),
                 {}};
  if (ts >= raggedSpanBytes)
    return Error{
        "launch-stride",
        fmt::format("`{}` has stride {} bytes in its ragged dimension {}; the limit is 2^35", name,
                    ts, dimension),
        {}};
  request.extents[last] = raggedExtent;
  request.extents[last + 1] = request.extents[last + 2] = raggedUnits;
  request.strides[last] = ts;
  request.strides[last + 1] = raggedSpanBytes - ts;
  return {};
}

} // namespace

unsigned tensorMapRank(const TensorMapRecipe &recipe) {
  return static_cast<unsigned>(recipe.dimensions.size()) + (recipe.ragged ? 2 : 0);
}

Expected<TensorMapRequest> requestTensorMap(const TensorMapRecipe &recipe, const std::string &name,
                                            const TensorRef &tensor, void *empty) {
  for (int i = 0; i < tensor.rank; ++i)
    if (tensor.sizes[i] == 0)
      return emptyRequest(tensorMapRank(recipe), empty);

  TensorMapRequest request;
  request.address = tensor.data;
  if (const auto address = reinterpret_cast<std::uintptr_t>(tensor.data); address % alignBytes)
    return Error{
        "launch-alignment",
        fmt::format("`{}` begins at {:#x}; TMA needs a multiple of 16 bytes", name, address),
        {}};
  for (std::size_t i = 0; i < recipe.dimensions.size(); ++i) {
    const MapDimension &dimension = recipe.dimensions[i];
    const bool constant = dimension.tensorDimension < 0;
    request.extents[i] = constant ? dimension.extent : tensor.sizes[dimension.tensorDimension];
    if (i == 0)
      continue; // the innermost stride is the element
    if (constant) {
      request.strides[i - 1] = dimension.strideBytes;
      continue;
    }
    const Expected<std::uint64_t> stride = mapStride(name, tensor, dimension.tensorDimension);
    if (!stride)
      return stride.error();
    request.strides[i - 1] = *stride;
  }
  if (recipe.ragged)
    if (auto done = makeRagged(request, static_cast<unsigned>(recipe.dimensions.size()) - 1, name,
                               recipe.dimensions.back().tensorDimension);
        !done)
      return std::move(done).error();
  return request;
}

TensorMapCache::TensorMapCache(const TensorMapRecipe &recipe)
    : recipe(&recipe), entries(std::make_unique<Entry[]>(capacity)) {}

Expected<const CUtensorMap *> TensorMapCache::get(const DriverApi &api,
                                                  const TensorMapRequest &request) {
  for (unsigned i = 0; i < used; ++i)
    if (entries[i].request == request)
      return &entries[i].map;
  std::uint32_t box[5] = {1, 1, 1, 1, 1};
  const std::uint32_t elementStrides[5] = {1, 1, 1, 1, 1};
  for (std::size_t i = 0; i < recipe->dimensions.size(); ++i)
    box[i] = recipe->dimensions[i].box;
  CUtensorMap map;
  if (auto done = checkDriver(
          api,
          api.tensorMapEncodeTiled(
              &map, dataType(recipe->element), tensorMapRank(*recipe), request.address,
              request.extents, request.strides, box, elementStrides, CU_TENSOR_MAP_INTERLEAVE_NONE,
              swizzleMode(recipe->swizzle), promotionMode(recipe->promotion),
              recipe->zeroFill ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE
                               : CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA),
          "cuTensorMapEncodeTiled");
      !done)
    return std::move(done).error();
  Entry &entry = entries[next];
  entry.request = request;
  entry.map = map;
  used = std::max(used, next + 1);
  next = (next + 1) % capacity;
  return &entry.map;
}

} // namespace flashqla
