#include "tests/emulation/products.h"

#include "kernels/host_tensor.h"
#include "tests/emulation/fibers.h"
#include "tests/emulation/matrix_descriptor.h"
#include "tests/emulation/violation.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace flashqla::emulation {

namespace {

/// What accumulators hold while a product is in flight: a NaN that no computation makes.
constexpr std::uint32_t inFlight = 0x7fe5f119;

/// Elements of a chunk, and its bytes.
constexpr unsigned chunkElements = 8, chunkBytes = 16;

std::vector<float> halves() {
  std::vector<float> values(0x10000);
  for (std::size_t bits = 0; bits < values.size(); ++bits)
    values[bits] = fromF16(static_cast<std::uint16_t>(bits));
  return values;
}

float element(std::uint16_t bits, bool f16) {
  static const std::vector<float> table = halves();
  return f16 ? table[bits] : fromBf16(bits);
}

/// Row and column of an accumulator register, of 16 rows.
unsigned rowOf(unsigned lane, unsigned reg) { return lane / 4 + 8 * (reg / 2 % 2); }
unsigned columnOf(unsigned lane, unsigned reg) { return 8 * (reg / 4) + 2 * (lane % 4) + reg % 2; }

} // namespace

Products::Products(SharedMemory &shared, unsigned warps, Timing timing, Random &random)
    : shared(shared), timing(timing), random(random), warps(warps), records((warps + 3) / 4) {}
Products::~Products() = default;

void Products::reset() {
  std::ranges::for_each(warps, [](Warp &warp) { warp = Warp(); });
  std::ranges::for_each(records, [](std::vector<Record> &list) { list.clear(); });
}

void Products::fence(unsigned warp) { warps[warp].fenced = true; }

void Products::record(unsigned warp, Record entry) {
  std::vector<Record> &list = records[warp / 4];
  const std::size_t index = warps[warp].issued++;
  if (index == list.size()) {
    list.push_back(entry);
    return;
  }
  const Record &other = list[index];
  if (!(other.shape == entry.shape) || other.descriptorA != entry.descriptorA ||
      other.descriptorB != entry.descriptorB)
    violate("the warps of a warpgroup issue different products: descriptors {:#x}, {:#x} here and "
            "{:#x}, {:#x} in line {} by another warp",
            entry.descriptorA, entry.descriptorB, other.descriptorA, other.descriptorB, other.line);
}

Products::Accumulator &Products::accumulatorOf(Warp &warp, const ProductShape &shape,
                                               const ProductLane (&operands)[lanes]) {
  const unsigned registers = shape.columns / 2;
  float *const first = operands[0].accumulators;
  for (Accumulator &known : warp.accumulators) {
    if (first == known.registers[0] && shape.columns == known.columns)
      return known;
    if (first < known.registers[0] + known.columns / 2 && known.registers[0] < first + registers)
      violate("a product whose accumulators are partly those of another one in flight");
  }
  Accumulator &fresh = warp.accumulators.emplace_back();
  fresh.columns = shape.columns;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    fresh.registers[lane] = operands[lane].accumulators;
    for (unsigned i = 0; i < registers; ++i) {
      float &reg = fresh.registers[lane][i];
      // Without scale-d nothing is read; what was there may never have been written.
      fresh.value[rowOf(lane, i)][columnOf(lane, i)] =
          shape.accumulate ? reg : std::numeric_limits<float>::quiet_NaN();
      reg = std::bit_cast<float>(inFlight);
    }
  }
  return fresh;
}

void Products::issue(unsigned number, int line, const ProductShape &shape,
                     const ProductLane (&operands)[lanes]) {
  Warp &warp = warps[number];
  const auto [unused, registersA, descriptorA, descriptorB] = operands[0];
  for (const ProductLane &lane : operands)
    if (lane.descriptorA != descriptorA || lane.descriptorB != descriptorB)
      violate("the lanes of a warp issue a product with different descriptors");
  if (!warp.fenced)
    violate("a product without a wgmma.fence since the accumulators were last waited for");
  record(number, {shape, descriptorA, descriptorB, line});

  Product &product = warp.flying.emplace_back();
  product.shape = shape;
  product.line = line;
  product.group = warp.groups;
  product.accumulator = &accumulatorOf(warp, shape, operands);
  ++product.accumulator->users;
  if (shape.registerA) {
    for (unsigned lane = 0; lane < lanes; ++lane)
      for (unsigned i = 0; i < 8; ++i) // element i: register i / 2, its half i % 2
        product.a[lane / 4 + 8 * (i / 2 % 2)][2 * (lane % 4) + 8 * (i / 4) + i % 2] =
            element(static_cast<std::uint16_t>(operands[lane].a[i / 2] >> 16 * (i % 2)), shape.f16);
  } else {
    product.matrixA = read(descriptorA, rows * (number % 4), rows, shape.transposeA);
  }
  product.matrixB = read(descriptorB, 0, shape.columns, shape.transposeB);

  // Products of a warp take effect in order.
  if (timing == Timing::Early || (timing == Timing::Random && random.coin()))
    while (!warp.flying.empty())
      retireFirst(warp);
}

/// From now on a product reads rows `first` … of a matrix, all 16 columns.
Products::Matrix Products::read(std::uint64_t descriptor, unsigned first, unsigned count,
                                bool transposed) {
  const auto place = MatrixDescriptor::decode(descriptor);
  Matrix result{{}, transposed};
  for (unsigned mn = first; mn < first + count; mn += transposed ? chunkElements : 1)
    for (unsigned k = 0; k < depth; k += transposed ? 1 : chunkElements) {
      result.chunks.push_back(place.address(mn, k, transposed));
      shared.beginReading(result.chunks.back(), chunkBytes);
    }
  return result;
}

template <class Visit>
void Products::forElements(const Matrix &matrix, bool f16, Visit visit) const {
  const unsigned perRow = matrix.transposed ? depth : depth / chunkElements;
  for (unsigned chunk = 0; chunk < matrix.chunks.size(); ++chunk) {
    std::uint16_t bits[chunkElements];
    shared.readAsync(matrix.chunks[chunk], bits, chunkBytes);
    for (unsigned i = 0; i < chunkElements; ++i)
      if (matrix.transposed)
        visit(chunk / perRow * chunkElements + i, chunk % perRow, element(bits[i], f16));
      else
        visit(chunk / perRow, chunk % perRow * chunkElements + i, element(bits[i], f16));
  }
}

void Products::compute(const Product &product) const {
  const ProductShape &shape = product.shape;
  const float signA = shape.negateA ? -1.0f : 1.0f, signB = shape.negateB ? -1.0f : 1.0f;
  float a[rows][depth], b[depth][maxColumns];
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned k = 0; k < depth; ++k)
      a[row][k] = signA * product.a[row][k];
  forElements(product.matrixA, shape.f16,
              [&](unsigned row, unsigned k, float x) { a[row][k] = signA * x; });
  forElements(product.matrixB, shape.f16,
              [&](unsigned column, unsigned k, float x) { b[k][column] = signB * x; });
  for (unsigned row = 0; row < rows; ++row) {
    float *const sums = product.accumulator->value[row];
    if (!shape.accumulate)
      std::fill_n(sums, shape.columns, 0.0f);
    for (unsigned k = 0; k < depth; ++k)
      for (unsigned column = 0; column < shape.columns; ++column)
        sums[column] += a[row][k] * b[k][column];
  }
}

void Products::retireFirst(Warp &warp) {
  const Product product = std::move(warp.flying.front());
  warp.flying.pop_front();
  try {
    compute(product);
    for (const Matrix *matrix : {&product.matrixA, &product.matrixB})
      for (std::uint32_t chunk : matrix->chunks)
        shared.endReading(chunk, chunkBytes);
    if (--product.accumulator->users == 0)
      release(warp, *product.accumulator);
  } catch (const Violation &violation) {
    violate("{} (the product of line {})", violation.what(), product.line);
  }
}

/// Hands the registers back to the lanes.
void Products::release(Warp &warp, Accumulator &accumulator) {
  for (unsigned lane = 0; lane < lanes; ++lane)
    for (unsigned i = 0; i < accumulator.columns / 2; ++i) {
      float &reg = accumulator.registers[lane][i];
      if (std::bit_cast<std::uint32_t>(reg) != inFlight)
        violate("accumulator {} of lane {} was written while a product was in flight", i, lane);
      reg = accumulator.value[rowOf(lane, i)][columnOf(lane, i)];
    }
  warp.accumulators.remove_if([&](const Accumulator &other) { return &other == &accumulator; });
}

void Products::commit(unsigned warp) { ++warps[warp].groups; }

void Products::wait(unsigned number, unsigned keep) {
  Warp &warp = warps[number];
  while (!warp.flying.empty() && warp.flying.front().group + keep < warp.groups)
    retireFirst(warp);
  warp.fenced = false;
}

void Products::checkCtaEnd() const {
  for (std::size_t number = 0; number < warps.size(); ++number) {
    const Warp &warp = warps[number];
    if (!warp.flying.empty())
      violate("warp {} ends with a product of line {} in flight", number, warp.flying.front().line);
    if (warp.issued != records[number / 4].size())
      violate("warp {} issued {} products and another one of its warpgroup {}", number, warp.issued,
              records[number / 4].size());
  }
}

} // namespace flashqla::emulation
