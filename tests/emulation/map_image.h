// What the emulated driver writes into a CUtensorMap, and how the TMA unit walks a box through it.
//
// Coordinates, extents and boxes go from the innermost dimension outwards. A box lies in shared
// memory without gaps, innermost dimension first; a swizzle then exchanges 16-byte chunks by an XOR
// of absolute address bits. Elements outside of the tensor are filled or left alone, one by one,
// and addresses are taken modulo 2^64: both is what ragged maps (runtime/manifest.h) build on.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <functional>

namespace flashqla::emulation {

/// Exchanges address bits as a swizzle over `span` bytes does: none (0), 32, 64 or 128.
constexpr std::uint32_t swizzled(std::uint32_t address, std::uint32_t span) {
  const std::uint32_t mask = span / 16 ? span / 16 - 1 : 0; // chunks of 16 bytes
  return address ^ (address >> 7 & mask) << 4;
}

struct MapImage {
  static constexpr std::uint64_t validMagic = 0x70616d6c61716c66;
  std::uint64_t magic = validMagic;
  std::uint64_t address = 0;
  std::uint64_t extents[5] = {1, 1, 1, 1, 1};
  std::uint64_t strides[5] = {}; // bytes; the first is the element's size
  std::uint16_t box[5] = {1, 1, 1, 1, 1};
  std::uint8_t rank = 0;
  std::uint8_t elementBytes = 0;
  std::uint8_t swizzle = 0;  // bytes
  std::uint8_t fillByte = 0; // of elements outside: 0, or 0xff for not a number

  std::uint32_t boxElements() const;
  std::uint32_t boxBytes() const { return boxElements() * elementBytes; }

  /// Calls `visit` for each element of the box at `coordinates`, whose tile begins at the shared
  /// address `tile`: with its address there and in global memory, which is 0 outside of the tensor.
  void walk(const int *coordinates, std::uint32_t tile,
            const std::function<void(std::uint32_t, std::uint64_t)> &visit) const;
};
static_assert(sizeof(MapImage) <= sizeof(CUtensorMap));

/// cuTensorMapEncodeTiled: CUDA_ERROR_INVALID_VALUE for what the driver's manual forbids, and for
/// element strides, interleaving and boxes narrower than their swizzle, which are not emulated.
CUresult encodeMap(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                   const cuuint64_t *extents, const cuuint64_t *strides, const cuuint32_t *box,
                   const cuuint32_t *elementStrides, CUtensorMapInterleave interleave,
                   CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                   CUtensorMapFloatOOBfill fill);

} // namespace flashqla::emulation
