#include "tests/gpu/wgmma_forms.h"

#include <algorithm>
#include <fmt/format.h>

namespace flashqla {

std::string WgmmaForm::name() const {
  return fmt::format("{}_{}{}{}_n{}", registerA ? "rs" : "ss", f16 ? "f16" : "bf16",
                     transposeA ? "_ta" : "", transposeB ? "_tb" : "", n);
}

std::vector<WgmmaForm> wgmmaForms() {
  std::vector<WgmmaForm> forms;
  auto add = [&](int n, bool f16) {
    for (bool transposeB : {false, true}) {
      forms.push_back({n, f16, true, false, transposeB});
      for (bool transposeA : {false, true})
        forms.push_back({n, f16, false, transposeA, transposeB});
    }
  };
  for (int n = 8; n <= 256; n += 8)
    add(n, false);
  for (int n : {8, 64, 256})
    add(n, true);
  return forms;
}

namespace {

void addKMajor(std::vector<OperandCase> &cases, bool isA, int swizzle, int extent) {
  const std::uint32_t row = static_cast<std::uint32_t>(swizzle);
  auto add = [&](std::uint32_t start, std::uint32_t leading, std::uint32_t stride) {
    cases.push_back({isA, true, swizzle, extent, start, leading, stride});
  };
  for (std::uint32_t column = 0; column < row; column += 16) // 8 elements further each
    add(column, 16, 8 * row);
  for (std::uint32_t rows : {1, 2, 4, 8, 16, 24})
    add(rows * row, 16, 8 * row);
  add(8 * row + row / 2, 16, 8 * row);
  add(4 * row + row / 2, 16, 8 * row);
  for (std::uint32_t height : {64, 128}) { // the second panel of a tile that high
    add(height * row, 16, 8 * row);
    add(height * row + row / 2, 16, 8 * row);
  }
  add(0, 0, 8 * row);
  add(0, 2048, 8 * row);
  add(0, 16, 16 * row);
}

void addKStrided(std::vector<OperandCase> &cases, bool isA, int swizzle, int extent) {
  const std::uint32_t row = static_cast<std::uint32_t>(swizzle);
  for (std::uint32_t height : {16, 64, 128}) {
    const std::uint32_t panel = height * row;
    auto add = [&](std::uint32_t start) {
      cases.push_back({isA, false, swizzle, extent, start, panel, 8 * row});
    };
    if (height == 64)
      for (std::uint32_t column = 0; column < row; column += 16)
        add(column);
    else
      add(0);
    if (height > 16)
      for (std::uint32_t rows : {8, 16, 40})
        add(rows * row);
    if (height == 64) {
      add(panel); // the second panel
      add(panel + 16 * row);
      add(4 * row);
    }
  }
  cases.push_back({isA, false, swizzle, extent, 0, 64 * row, 16 * row});
}

} // namespace

std::vector<OperandCase> operandCases() {
  std::vector<OperandCase> cases;
  for (int swizzle : {128, 64, 32}) {
    const int panel = swizzle / 2;
    addKMajor(cases, true, swizzle, 64);
    addKStrided(cases, true, swizzle, 64);
    addKMajor(cases, false, swizzle, 64);
    for (int extent : {8, panel, 4 * panel})
      addKStrided(cases, false, swizzle, extent);
  }
  auto outside = [](const OperandCase &wanted) { // of the 64 KB that the probe fills
    const std::uint32_t lines = wanted.kMajor ? 64 : 16,
                        panel = wanted.kMajor ? 64 : wanted.swizzle / 2,
                        panels = std::max<std::uint32_t>(1, wanted.extent / panel);
    return wanted.start + (panels - 1) * wanted.leading + lines / 8 * wanted.stride > 65536;
  };
  std::erase_if(cases, outside);
  return cases;
}

OperandCase plainOperand(const WgmmaForm &form, bool isA) {
  const bool kMajor = !(isA ? form.transposeA : form.transposeB);
  return {isA, kMajor, 128, isA ? 64 : form.n, 0, kMajor ? 16u : 2048u, 1024};
}

} // namespace flashqla
