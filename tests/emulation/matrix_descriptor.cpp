#include "tests/emulation/matrix_descriptor.h"

#include "tests/emulation/map_image.h"
#include "tests/emulation/violation.h"

namespace flashqla::emulation {

namespace {

constexpr std::uint32_t elementBytes = 2, coreBytes = 16, coreRows = 8;

} // namespace

MatrixDescriptor MatrixDescriptor::decode(std::uint64_t bits) {
  constexpr std::uint32_t swizzles[] = {0, 128, 64, 32};
  auto field = [bits](unsigned position) {
    return static_cast<std::uint32_t>(bits >> position & 0x3fff) << 4;
  };
  if (bits >> 49 & 7)
    violate("a matrix descriptor ({:#x}) with a base offset", bits);
  return {field(0), field(16), field(32), swizzles[bits >> 62]};
}

std::uint32_t MatrixDescriptor::address(unsigned mn, unsigned k, bool mnMajor) const {
  if (!swizzle) {
    const unsigned row = mnMajor ? k : mn, column = mnMajor ? mn : k;
    return start + mn / coreRows * stride + k / coreRows * leading + row % coreRows * coreBytes +
           column % coreRows * elementBytes;
  }
  const unsigned rowElements = swizzle / elementBytes;
  const std::uint32_t plain =
      mnMajor ? start + mn / rowElements * leading + k / coreRows * stride +
                    k % coreRows * swizzle + mn % rowElements * elementBytes
              : start + mn / coreRows * stride + mn % coreRows * swizzle + k * elementBytes;
  return swizzled(plain, swizzle);
}

} // namespace flashqla::emulation
