#include "tests/gpu/wgmma_probe.h"

#include "tests/gpu/raw_kernel.h"

#include <fmt/format.h>

namespace flashqla {

namespace {

constexpr unsigned sharedBytes = 192 * 1024; // both regions and what lies behind them

/// What the kernels take.
struct DeviceCase {
  std::uint32_t isA, start, leading, stride, mode;
};

struct Probed {
  int registers;
  std::vector<std::uint8_t> sums; // by [pass][k][register][thread]
  std::uint64_t descriptor;

  /// The element that a register received at k; −1 where it was not exactly one.
  int number(int k, int reg, int thread) const {
    auto sum = [&](int pass) { return sums[((pass * 16 + k) * registers + reg) * 128 + thread]; };
    return sum(2) == 1 ? sum(0) + 256 * sum(1) : -1;
  }
};

/// The row and column of a register (PTX ISA, "Register fragments for wgmma.mma_async.m64nNk16").
Place documented(int reg, int thread) {
  const int lane = thread % 32, warp = thread / 32;
  return {16 * warp + lane / 4 + 8 * (reg / 2 % 2), 8 * (reg / 4) + 2 * (lane % 4) + reg % 2};
}

std::vector<Probed> run(const RawModule &module, const WgmmaForm &form,
                        const std::vector<OperandCase> &cases) {
  std::vector<DeviceCase> wanted;
  for (const OperandCase &item : cases)
    wanted.push_back({item.isA, item.start, item.leading, item.stride, item.mode()});
  const std::size_t perCase = std::size_t{3} * 16 * 64 * form.n;
  const DeviceArray<DeviceCase> input{std::span<const DeviceCase>(wanted)};
  const DeviceArray<std::uint8_t> output(cases.size() * perCase);
  const DeviceArray<std::uint64_t> descriptors(cases.size());
  module.launch(
      "probe_" + form.name(),
      {.blocks = static_cast<unsigned>(cases.size()), .threads = 128, .shared = sharedBytes},
      input.pointer(), output.pointer(), descriptors.pointer());
  const std::vector<std::uint8_t> sums = output.download();
  const std::vector<std::uint64_t> bits = descriptors.download();
  std::vector<Probed> result;
  for (std::size_t i = 0; i < cases.size(); ++i)
    result.push_back(
        {form.n / 2, {sums.begin() + i * perCase, sums.begin() + (i + 1) * perCase}, bits[i]});
  return result;
}

/// Where each element of the operand was read, in elements; −1 too where registers that share it
/// do not agree.
std::vector<std::int32_t> tableOf(const Probed &probed, bool isA, int extent) {
  std::vector<std::int32_t> table(static_cast<std::size_t>(extent) * 16, -2);
  for (int k = 0; k < 16; ++k)
    for (int reg = 0; reg < probed.registers; ++reg)
      for (int thread = 0; thread < 128; ++thread) {
        const std::int32_t found = probed.number(k, reg, thread);
        std::int32_t &entry = table[documented(reg, thread)[isA ? 0 : 1] * 16 + k];
        if (entry == -2)
          entry = found;
        if (entry != found)
          entry = -1;
      }
  return table;
}

OperandTable operandTable(const Probed &probed, const OperandCase &wanted) {
  OperandTable table{wanted, probed.descriptor, tableOf(probed, wanted.isA, wanted.extent)};
  for (std::int32_t &byte : table.bytes)
    byte = byte < 0 ? byte : 2 * byte;
  return table;
}

/// Rows and columns without labels: in K-major operands at the origin, rows are 128 bytes.
std::vector<Place> accumulatorOf(const Probed &a, const Probed &b) {
  std::vector<Place> places;
  for (int reg = 0; reg < a.registers; ++reg)
    for (int thread = 0; thread < 128; ++thread)
      places.push_back({a.number(0, reg, thread) / 64, b.number(0, reg, thread) / 64});
  return places;
}

/// The row and k of each element of an A operand in registers.
std::vector<Place> registerOperand(const std::vector<std::int32_t> &table) {
  std::vector<Place> places(8 * 128, Place{-1, -1});
  for (int row = 0; row < 64; ++row)
    for (int k = 0; k < 16; ++k)
      if (const int number = table[row * 16 + k]; number >= 0 && number < 8 * 128)
        places[number % 8 * 128 + number / 8] = {row, k};
  return places;
}

void probeForm(const RawModule &module, const WgmmaForm &form, WgmmaLayouts &layouts) {
  const OperandCase a = plainOperand(form, true), b = plainOperand(form, false);
  const std::vector<Probed> probed = run(module, form, {a, b});
  FormSums sums{form.name(), "", "", ""};
  if (form.registerA) {
    const std::vector<Place> places = registerOperand(tableOf(probed[0], true, 64));
    sums.a = checksum(places);
    if (layouts.operandA.empty())
      layouts.operandA = places;
  } else {
    sums.a = checksum(operandTable(probed[0], a).bytes);
  }
  sums.b = checksum(operandTable(probed[1], b).bytes);
  if (!form.registerA && a.kMajor && b.kMajor) {
    const std::vector<Place> places = accumulatorOf(probed[0], probed[1]);
    sums.d = checksum(places);
    if (form.n == 256)
      layouts.accumulator = places;
  }
  layouts.forms.push_back(std::move(sums));
}

} // namespace

WgmmaLayouts probeWgmma() {
  const RawModule module("wgmma_probe");
  WgmmaLayouts layouts;
  for (const WgmmaForm &form : wgmmaForms())
    probeForm(module, form, layouts);
  const std::vector<OperandCase> cases = operandCases();
  for (std::size_t first = 0, end = 0; first < cases.size(); first = end) {
    const OperandCase &like = cases[first]; // consecutive cases of one form
    while (end < cases.size() && cases[end].isA == like.isA && cases[end].kMajor == like.kMajor &&
           cases[end].extent == like.extent)
      ++end;
    const WgmmaForm form = like.isA ? WgmmaForm{8, false, false, !like.kMajor, false}
                                    : WgmmaForm{like.extent, false, true, false, !like.kMajor};
    const std::vector<OperandCase> group(cases.begin() + first, cases.begin() + end);
    const std::vector<Probed> probed = run(module, form, group);
    for (std::size_t i = 0; i < group.size(); ++i)
      layouts.operands.push_back(operandTable(probed[i], group[i]));
  }
  return layouts;
}

} // namespace flashqla
