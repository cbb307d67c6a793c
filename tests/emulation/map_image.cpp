#include "tests/emulation/map_image.h"

#include <cstring>

namespace flashqla::emulation {

namespace {

unsigned bytesOf(CUtensorMapDataType type) {
  switch (type) {
  case CU_TENSOR_MAP_DATA_TYPE_UINT8:
    return 1;
  case CU_TENSOR_MAP_DATA_TYPE_UINT16:
  case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
  case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
    return 2;
  case CU_TENSOR_MAP_DATA_TYPE_UINT32:
  case CU_TENSOR_MAP_DATA_TYPE_INT32:
  case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    return 4;
  case CU_TENSOR_MAP_DATA_TYPE_UINT64:
  case CU_TENSOR_MAP_DATA_TYPE_INT64:
  case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
    return 8;
  default:
    return 0;
  }
}

bool isFloat(CUtensorMapDataType type) {
  return type == CU_TENSOR_MAP_DATA_TYPE_FLOAT16 || type == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 ||
         type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32 || type == CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
}

} // namespace

std::uint32_t MapImage::boxElements() const {
  std::uint32_t count = 1;
  for (unsigned i = 0; i < rank; ++i)
    count *= box[i];
  return count;
}

void MapImage::walk(const int *coordinates, std::uint32_t tile,
                    const std::function<void(std::uint32_t, std::uint64_t)> &visit) const {
  std::int64_t index[5] = {}; // inside the box
  const std::uint32_t count = boxElements();
  for (std::uint32_t element = 0; element < count; ++element) {
    std::uint64_t global = address;
    bool inside = true;
    for (unsigned i = 0; i < rank; ++i) {
      const std::int64_t coordinate = coordinates[i] + index[i];
      inside &= coordinate >= 0 && static_cast<std::uint64_t>(coordinate) < extents[i];
      global += static_cast<std::uint64_t>(coordinate) * strides[i];
    }
    visit(swizzled(tile + element * elementBytes, swizzle), inside ? global : 0);
    for (unsigned i = 0; i < rank && ++index[i] == box[i]; ++i)
      index[i] = 0;
  }
}

CUresult encodeMap(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                   const cuuint64_t *extents, const cuuint64_t *strides, const cuuint32_t *box,
                   const cuuint32_t *elementStrides, CUtensorMapInterleave interleave,
                   CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                   CUtensorMapFloatOOBfill fill) {
  constexpr std::uint64_t extentLimit = std::uint64_t{1} << 32;
  constexpr std::uint64_t strideLimit = std::uint64_t{1} << 40;
  MapImage image;
  image.address = reinterpret_cast<std::uint64_t>(address);
  image.rank = static_cast<std::uint8_t>(rank);
  image.elementBytes = static_cast<std::uint8_t>(bytesOf(type));
  image.swizzle = swizzle == CU_TENSOR_MAP_SWIZZLE_128B  ? 128
                  : swizzle == CU_TENSOR_MAP_SWIZZLE_64B ? 64
                  : swizzle == CU_TENSOR_MAP_SWIZZLE_32B ? 32
                                                         : 0;
  const bool nan = fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
  image.fillByte = nan ? 0xff : 0;
  bool legal = rank >= 1 && rank <= 5 && image.elementBytes && image.address &&
               image.address % 16 == 0 && interleave == CU_TENSOR_MAP_INTERLEAVE_NONE &&
               (image.swizzle || swizzle == CU_TENSOR_MAP_SWIZZLE_NONE) && (!nan || isFloat(type));
  for (unsigned i = 0; i < rank && legal; ++i) {
    legal = extents[i] >= 1 && extents[i] <= extentLimit && box[i] >= 1 && box[i] <= 256 &&
            elementStrides[i] == 1 &&
            (i == 0 || (strides[i - 1] % 16 == 0 && strides[i - 1] < strideLimit));
    image.extents[i] = extents[i];
    image.strides[i] = i ? strides[i - 1] : image.elementBytes;
    image.box[i] = static_cast<std::uint16_t>(box[i]);
  }
  const unsigned rowBytes = image.box[0] * image.elementBytes;
  if (!legal || rowBytes % 16 || (image.swizzle && rowBytes != image.swizzle))
    return CUDA_ERROR_INVALID_VALUE;
  std::memset(map, 0, sizeof *map);
  std::memcpy(map, &image, sizeof image);
  return CUDA_SUCCESS;
}

} // namespace flashqla::emulation
