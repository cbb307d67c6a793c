// The compiler's model of wgmma against what was measured on the chip (tests/gpu/golden/
// wgmma_layout.txt): layouts of fragments, swizzles, descriptors, windows.
#include "compiler/codegen/operand.h"
#include "compiler/layout/fragment_layout.h"
#include "tests/file_test.h"
#include "tests/gpu/wgmma_layout.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace flashqla;
using codegen::OperandSteps;

namespace {

const std::string &goldenText() {
  static const std::string text =
      fq_test::readFile(fq_test::testsFolder() / "gpu/golden/wgmma_layout.txt");
  return text;
}

const WgmmaLayouts &golden() {
  static const WgmmaLayouts layouts = readLayouts(goldenText());
  return layouts;
}

/// Places of a fragment of one warpgroup, in the order of the golden file.
std::vector<Place> placesOf(const FragmentLayout &layout) {
  std::vector<Place> places;
  for (int reg = 0; reg < layout.registers(); ++reg)
    for (int thread = 0; thread < 128; ++thread) {
      const std::vector<int64_t> at = layout.coordinates(thread / 32, thread % 32, reg);
      places.push_back({static_cast<int>(at[0]), static_cast<int>(at[1])});
    }
  return places;
}

/// Bytes of an operand that starts at an element of a tile, as the compiler lays the tile out.
std::vector<std::int32_t> bytesOf(const SharedLayout &tile, bool kMajor, int extent, int64_t row,
                                  int64_t column) {
  std::vector<std::int32_t> bytes;
  for (int element = 0; element < extent; ++element)
    for (int k = 0; k < 16; ++k)
      bytes.push_back(static_cast<std::int32_t>(
          tile.byteOffset(row + (kMajor ? element : k), column + (kMajor ? k : element))));
  return bytes;
}

/// What the hardware reads when the compiler addresses this window: the bytes of one k-step.
const OperandTable *measured(const SharedLayout &tile, bool isA, bool kMajor, int extent,
                             int64_t row, int64_t column, int64_t step) {
  const OperandSteps steps = codegen::operandSteps(tile, kMajor);
  const int64_t start =
      row * tile.rowBytes() + codegen::windowColumnByte(tile, column) + steps.stepByte(step);
  return golden().find({isA, kMajor, static_cast<int>(tile.swizzleBytes()), extent,
                        static_cast<std::uint32_t>(start),
                        static_cast<std::uint32_t>(steps.leading),
                        static_cast<std::uint32_t>(steps.stride)});
}

/// A window along the contiguous dimension reads its own elements if it starts at a panel or lies
/// inside one.
bool fitsPanels(const SharedLayout &tile, int64_t column, int64_t extent) {
  const int64_t panel = tile.panelColumns();
  return column % panel == 0 || column % panel + extent <= panel;
}

} // namespace

TEST(WgmmaLayout, golden_file_reads_back) { EXPECT_EQ(printLayouts(golden()), goldenText()); }

TEST(WgmmaLayout, accumulator_of_every_width_is_the_fragment_layout) {
  EXPECT_EQ(golden().accumulator, placesOf(FragmentLayout::accumulator(64, 256, 4)));
  int widths = 0;
  for (const WgmmaForm &form : wgmmaForms())
    for (const FormSums &sums : golden().forms)
      if (sums.name == form.name() && !sums.d.empty()) {
        EXPECT_EQ(sums.d, checksum(placesOf(FragmentLayout::accumulator(64, form.n, 4))))
            << sums.name;
        ++widths;
      }
  EXPECT_EQ(widths, 32 + 3);
}

TEST(WgmmaLayout, packed_accumulator_is_an_operand) {
  EXPECT_EQ(golden().operandA, placesOf(FragmentLayout::accumulator(64, 16, 4)));
}

TEST(WgmmaLayout, every_form_reads_swizzled_tiles) {
  const std::vector<WgmmaForm> forms = wgmmaForms();
  ASSERT_EQ(golden().forms.size(), forms.size());
  for (size_t i = 0; i < forms.size(); ++i) {
    const WgmmaForm &form = forms[i];
    auto sumOf = [&](bool isA) {
      const OperandCase plain = plainOperand(form, isA);
      const SharedLayout tile = plain.kMajor
                                    ? SharedLayout({plain.extent, 64}, 2, 128)
                                    : SharedLayout({16, (plain.extent + 63) / 64 * 64}, 2, 128);
      return checksum(bytesOf(tile, plain.kMajor, plain.extent, 0, 0));
    };
    const std::string a =
        form.registerA ? checksum(placesOf(FragmentLayout::accumulator(64, 16, 4))) : sumOf(true);
    FormSums expected{form.name(), golden().forms[i].d, a, sumOf(false)};
    EXPECT_EQ(golden().forms[i], expected) << form.name();
  }
}

TEST(WgmmaLayout, k_major_windows_read_their_elements_if_they_fit_panels) {
  int fitting = 0, others = 0;
  for (const bool isA : {true, false})
    for (const int64_t swizzle : {128, 64, 32})
      for (const int64_t rows : {64, 128})
        for (const int64_t panels : {1, 2}) {
          const SharedLayout tile({rows, panels * swizzle / 2}, 2, swizzle);
          for (int64_t row = 0; row + 64 <= rows; row += 8)
            for (int64_t column = 0; column < tile.columns(); column += 8) {
              bool reads = true; // all k-steps so far
              for (int64_t step = 0; column + 16 * (step + 1) <= tile.columns(); ++step) {
                const OperandTable *table = measured(tile, isA, true, 64, row, column, step);
                if (!table)
                  break;
                reads = reads && table->bytes == bytesOf(tile, true, 64, row, column + 16 * step);
                const bool fits = fitsPanels(tile, column, 16 * (step + 1));
                EXPECT_EQ(reads, fits)
                    << fmt::format("{} rows, swizzle {}, window at {}, {}, {} k-steps", rows,
                                   swizzle, row, column, step + 1);
                (fits ? fitting : others) += 1;
              }
            }
        }
  EXPECT_GT(fitting, 100);
  EXPECT_GT(others, 20);
}

TEST(WgmmaLayout, other_windows_read_their_elements_if_they_fit_panels) {
  int fitting = 0, others = 0;
  for (const bool isA : {true, false})
    for (const int64_t swizzle : {128, 64, 32})
      for (const int64_t rows : {16, 64, 128})
        for (const int64_t panels : {1, 2, 4, 5}) {
          const SharedLayout tile({rows, panels * swizzle / 2}, 2, swizzle);
          const int64_t panel = tile.panelColumns();
          for (int64_t row = 0; row + 16 <= rows; row += 8)
            for (int64_t column = 0; column < tile.columns(); column += 8)
              for (const int64_t extent : {int64_t{8}, int64_t{64}, panel, 4 * panel}) {
                const OperandTable *table =
                    measured(tile, isA, false, static_cast<int>(extent), row, column, 0);
                if (!table || column + extent > tile.columns())
                  continue;
                const bool fits = fitsPanels(tile, column, extent);
                EXPECT_EQ(table->bytes ==
                              bytesOf(tile, false, static_cast<int>(extent), row, column),
                          fits)
                    << fmt::format("{} rows, swizzle {}, window of {} at {}, {}", rows, swizzle,
                                   extent, row, column);
                (fits ? fitting : others) += 1;
              }
        }
  EXPECT_GT(fitting, 100);
  EXPECT_GT(others, 20);
}
