// What the emulation believes of layouts against what the compiler believes (compiler/layout):
// where a swizzle puts a byte, a descriptor an element, a product its registers.
#include "compiler/layout/fragment_layout.h"
#include "compiler/layout/shared_layout.h"
#include "kernels/host_tensor.h"
#include "tests/emulation/fibers.h"
#include "tests/emulation/map_image.h"
#include "tests/emulation/matrix_descriptor.h"
#include "tests/emulation/products.h"
#include "tests/file_test.h"
#include "tests/gpu/wgmma_layout.h"

#include <fmt/format.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

using namespace flashqla;
using namespace flashqla::emulation;

namespace {

constexpr std::uint32_t spans[] = {32, 64, 128};

/// A tile of 16-bit elements as an operand: [mn, k] if K-major, [k, mn] if MN-major.
struct OperandTile {
  SharedLayout layout;
  bool mnMajor;
  std::uint32_t at = sharedBase;

  std::uint32_t span() const { return static_cast<std::uint32_t>(layout.swizzleBytes()); }
  std::uint32_t address(unsigned mn, unsigned k) const {
    return at + static_cast<std::uint32_t>(mnMajor ? layout.byteOffset(k, mn)
                                                   : layout.byteOffset(mn, k));
  }
  /// As the emitter and `wgmma_descriptor` of the prelude make it, for the elements from (mn, k)
  /// on.
  std::uint64_t descriptor(unsigned mn, unsigned k) const {
    const auto panel = static_cast<std::uint32_t>(layout.panelBytes());
    const auto columns = static_cast<unsigned>(layout.panelColumns());
    const unsigned row = mnMajor ? k : mn, column = mnMajor ? mn : k;
    // Rows are multiples of eight here, which a swizzle leaves where they are.
    const std::uint32_t start = at + column / columns * panel + row * span() + column % columns * 2;
    const std::uint32_t leading = mnMajor ? panel : 16, stride = 8 * span();
    const std::uint64_t mode = span() == 128 ? 1 : span() == 64 ? 2 : 3;
    return mode << 62 | std::uint64_t{stride / 16} << 32 | std::uint64_t{leading / 16} << 16 |
           (start & 0x3ffff) / 16;
  }
};

OperandTile operandTile(unsigned mn, unsigned k, bool mnMajor, std::uint32_t span,
                        std::uint32_t at = sharedBase) {
  const std::vector<std::int64_t> shape =
      mnMajor ? std::vector<std::int64_t>{k, mn} : std::vector<std::int64_t>{mn, k};
  return {SharedLayout(shape, 2, span), mnMajor, at};
}

} // namespace

TEST(EmulatedLayouts, SwizzlesAreThoseOfSharedTiles) {
  for (const std::uint32_t span : spans) {
    const SharedLayout layout({24, span / 2}, 2, span);
    for (std::uint32_t row = 0; row < 24; ++row)
      for (std::uint32_t column = 0; column < span / 2; ++column)
        EXPECT_EQ(swizzled(4096 + row * span + column * 2, span),
                  4096 + layout.byteOffset(row, column));
  }
  EXPECT_EQ(swizzled(0x1ff0, 0), 0x1ff0u);
}

TEST(EmulatedLayouts, DescriptorsFindTheElementsOfSharedTiles) {
  constexpr unsigned extent = 128;
  for (const std::uint32_t span : spans)
    for (const bool mnMajor : {false, true}) {
      const OperandTile tile = operandTile(extent, extent, mnMajor, span);
      for (unsigned mn = 0; mn < extent; mn += 64)
        for (unsigned k = 0; k < extent; k += 16) {
          const auto matrix = MatrixDescriptor::decode(tile.descriptor(mn, k));
          for (unsigned i = 0; i < 64; ++i)
            for (unsigned j = 0; j < 16; ++j)
              ASSERT_EQ(matrix.address(i, j, mnMajor), tile.address(mn + i, k + j))
                  << span << (mnMajor ? " MN" : " K") << "-major, " << mn + i << ", " << k + j;
        }
    }
}

/// What was measured on a chip: operands anywhere in swizzled tiles.
TEST(EmulatedLayouts, DescriptorsReadWhatTheChipReads) {
  const WgmmaLayouts chip =
      readLayouts(fq_test::readFile(fq_test::testsFolder() / "gpu/golden/wgmma_layout.txt"));
  EXPECT_GT(chip.operands.size(), 300u);
  for (const OperandTable &table : chip.operands) {
    const auto matrix = MatrixDescriptor::decode(table.descriptor);
    for (int element = 0; element < table.wanted.extent; ++element)
      for (int k = 0; k < 16; ++k)
        ASSERT_EQ(matrix.address(element, k, !table.wanted.kMajor),
                  static_cast<std::uint32_t>(table.at(element, k)))
            << fmt::format("descriptor {:#x}, {}, {}", table.descriptor, element, k);
  }
}

/// PTX ISA, "Strides": core matrices of eight rows of 16 bytes.
TEST(EmulatedLayouts, DescriptorsWithoutSwizzle) {
  const MatrixDescriptor matrix{1024, 256, 512, 0};
  EXPECT_EQ(matrix.address(9, 3, false), 1024u + 512 + 16 + 6);
  EXPECT_EQ(matrix.address(1, 10, false), 1024u + 256 + 16 + 4);
  EXPECT_EQ(matrix.address(9, 3, true), 1024u + 512 + 3 * 16 + 2);
  EXPECT_EQ(matrix.address(1, 10, true), 1024u + 256 + 2 * 16 + 2);
}

namespace {

/// One product of a warpgroup with small integers, which every type holds exactly.
class ProductTest : public testing::Test {
protected:
  static constexpr unsigned rows = 64, depth = 16, warps = 4;

  void multiply(const ProductShape &shape, std::uint32_t span) {
    columns = shape.columns;
    const OperandTile a = operandTile(rows, depth, shape.transposeA, span);
    const OperandTile b =
        operandTile(columns, std::max(depth, span / 2), shape.transposeB, span, sharedBase + 65536);
    shared.reset();
    for (unsigned k = 0; k < depth; ++k) {
      for (unsigned m = 0; m < rows && !shape.registerA; ++m)
        put(a.address(m, k), valueA(m, k), shape.f16);
      for (unsigned n = 0; n < columns; ++n)
        put(b.address(n, k), valueB(n, k), shape.f16);
    }
    Random random(1);
    Products products(shared, warps, Timing::Early, random);
    const FragmentLayout layoutA = FragmentLayout::accumulator(rows, depth, warps);
    const FragmentLayout layoutD = FragmentLayout::accumulator(rows, columns, warps);
    for (unsigned warp = 0; warp < warps; ++warp) {
      std::vector<std::vector<float>> registers(Products::lanes,
                                                std::vector<float>(columns / 2, 1000.0f));
      ProductLane lanes[Products::lanes];
      for (unsigned lane = 0; lane < Products::lanes; ++lane) {
        lanes[lane].accumulators = registers[lane].data();
        lanes[lane].descriptorA = shape.registerA ? 0 : a.descriptor(0, 0);
        lanes[lane].descriptorB = b.descriptor(0, 0);
        for (unsigned i = 0; i < 8; ++i) {
          const std::vector<std::int64_t> at = layoutA.coordinates(warp, lane, i);
          lanes[lane].a[i / 2] |= std::uint32_t{rounded(valueA(at[0], at[1]), shape.f16)}
                                  << 16 * (i % 2);
        }
      }
      products.fence(warp);
      products.issue(warp, 0, shape, lanes);
      for (unsigned lane = 0; lane < Products::lanes; ++lane)
        for (unsigned i = 0; i < columns / 2; ++i) {
          const std::vector<std::int64_t> at = layoutD.coordinates(warp, lane, i);
          ASSERT_EQ(registers[lane][i], expected(shape, at[0], at[1]))
              << "N " << columns << ", " << at[0] << ", " << at[1];
        }
    }
  }

private:
  static float valueA(std::int64_t m, std::int64_t k) {
    return static_cast<float>((m * 7 + k * 3) % 13 - 6);
  }
  static float valueB(std::int64_t n, std::int64_t k) {
    return static_cast<float>((n * 5 + k * 11) % 9 - 4);
  }
  static std::uint16_t rounded(float x, bool f16) { return f16 ? toF16(x) : toBf16(x); }
  static float expected(const ProductShape &shape, std::int64_t m, std::int64_t n) {
    float sum = 0;
    for (unsigned k = 0; k < depth; ++k)
      sum += valueA(m, k) * valueB(n, k);
    return (shape.accumulate ? 1000.0f : 0.0f) + (shape.negateA != shape.negateB ? -sum : sum);
  }
  void put(std::uint32_t address, float x, bool f16) {
    const std::uint16_t bits = rounded(x, f16);
    shared.writeAsync(address, &bits, sizeof bits);
  }

  unsigned columns = 0;
  SharedNames names;
  SharedMemory shared{200 * 1024, 128, names};
};

} // namespace

TEST_F(ProductTest, EveryWidth) {
  for (unsigned columns = 8; columns <= 256; columns += 8)
    multiply({.columns = columns, .f16 = columns % 16 == 0, .registerA = true}, 128);
}

TEST_F(ProductTest, MajorsAndSwizzles) {
  for (const std::uint32_t span : spans)
    for (const bool transposeA : {false, true})
      for (const bool transposeB : {false, true})
        if (transposeA || span == 32) // a tile of depth 16 is 32 bytes wide
          multiply({.columns = 128, .transposeA = transposeA, .transposeB = transposeB}, span);
}

TEST_F(ProductTest, SignsAndScale) {
  multiply({.columns = 16, .registerA = true, .accumulate = false}, 32);
  multiply({.columns = 16, .registerA = true, .negateA = true}, 32);
  multiply({.columns = 16, .negateA = true, .negateB = true}, 32);
}

namespace {

struct Element {
  std::uint32_t address;
  std::uint64_t global;
};

std::vector<Element> walked(const MapImage &map, std::vector<int> coordinates) {
  std::vector<Element> elements;
  coordinates.resize(5);
  map.walk(coordinates.data(), 4096, [&](std::uint32_t address, std::uint64_t global) {
    elements.push_back({address, global});
  });
  return elements;
}

MapImage encoded(std::vector<std::uint64_t> extents, std::vector<std::uint64_t> strides,
                 std::vector<std::uint32_t> box, CUtensorMapSwizzle swizzle) {
  const std::uint32_t ones[5] = {1, 1, 1, 1, 1};
  CUtensorMap map;
  EXPECT_EQ(encodeMap(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, static_cast<unsigned>(extents.size()),
                      reinterpret_cast<void *>(0x100000), extents.data(), strides.data(),
                      box.data(), ones, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                      CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
            CUDA_SUCCESS);
  MapImage image;
  std::memcpy(static_cast<void *>(&image), &map, sizeof image);
  return image;
}

} // namespace

TEST(EmulatedMaps, BoxesAreClippedAndSwizzled) {
  const MapImage map = encoded({100, 10}, {256}, {64, 8}, CU_TENSOR_MAP_SWIZZLE_128B);
  EXPECT_EQ(map.boxBytes(), 1024u);
  const SharedLayout layout({8, 64}, 2, 128);
  const std::vector<Element> elements = walked(map, {64, -2});
  ASSERT_EQ(elements.size(), 512u);
  for (int row = 0; row < 8; ++row)
    for (int column = 0; column < 64; ++column) {
      const Element &element = elements[static_cast<std::size_t>(row * 64 + column)];
      EXPECT_EQ(element.address, 4096 + layout.byteOffset(row, column));
      const bool inside = 64 + column < 100 && row >= 2;
      EXPECT_EQ(element.global, inside ? 0x100000u + (row - 2) * 256 + (64 + column) * 2 : 0u);
    }
}

/// The map of runtime/manifest.h for `t +: 4 until e`: rows from e on are outside.
TEST(EmulatedMaps, RaggedMapsEndAtAnyRow) {
  constexpr std::uint64_t pitch = 512, units = 0x7fff0000;
  const MapImage map =
      encoded({64, 1 << 30, units, units}, {pitch, pitch, (std::uint64_t{1} << 35) - pitch},
              {64, 4, 1, 1}, CU_TENSOR_MAP_SWIZZLE_128B);
  const int t = 7, e = 9;
  const std::vector<Element> elements = walked(map, {0, (1 << 30) - (e - t), e, 1 << 30});
  for (std::size_t row = 0; row < 4; ++row)
    EXPECT_EQ(elements[row * 64].global, row < 2 ? 0x100000 + (t + row) * pitch : 0);
}

TEST(EmulatedMaps, WhatTheDriverRefuses) {
  auto refused = [](std::uint64_t address, std::uint64_t stride, std::uint32_t box,
                    CUtensorMapSwizzle swizzle) {
    const std::uint64_t extents[] = {64, 64};
    const std::uint32_t boxes[] = {box, 8}, ones[] = {1, 1};
    CUtensorMap map;
    return encodeMap(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, reinterpret_cast<void *>(address),
                     extents, &stride, boxes, ones, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                     CU_TENSOR_MAP_L2_PROMOTION_NONE,
                     CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS;
  };
  EXPECT_FALSE(refused(0x1000, 128, 64, CU_TENSOR_MAP_SWIZZLE_128B));
  EXPECT_TRUE(refused(0x1008, 128, 64, CU_TENSOR_MAP_SWIZZLE_128B)); // address
  EXPECT_TRUE(refused(0x1000, 136, 64, CU_TENSOR_MAP_SWIZZLE_128B)); // stride
  EXPECT_TRUE(refused(0x1000, std::uint64_t{1} << 40, 64, CU_TENSOR_MAP_SWIZZLE_128B));
  EXPECT_TRUE(refused(0x1000, 128, 4, CU_TENSOR_MAP_SWIZZLE_NONE));   // 8 bytes
  EXPECT_TRUE(refused(0x1000, 128, 128, CU_TENSOR_MAP_SWIZZLE_128B)); // wider than 128
}
