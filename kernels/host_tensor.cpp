#include "kernels/host_tensor.h"

#include "kernels/parallel.h"

#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <numbers>
#include <utility>

namespace flashqla {

namespace {

constexpr std::int64_t grainElements = 1 << 14;

} // namespace

std::uint16_t toBf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value))
    return static_cast<std::uint16_t>((bits >> 16) | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float fromBf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t toF16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000);
  const float magnitude = std::fabs(value);
  if (std::isnan(value))
    return sign | 0x7e00;
  if (magnitude >= 65520.0f) // halfway between the largest f16 and 2^16
    return sign | 0x7c00;
  if (magnitude < 0x1p-14f) // subnormal: multiples of 2^-24; nearbyint rounds to even
    return sign | static_cast<std::uint16_t>(std::nearbyint(magnitude * 0x1p24f));
  const std::uint32_t rounded = (bits & 0x7fffffff) + 0xfff + ((bits >> 13) & 1);
  return sign | static_cast<std::uint16_t>((rounded >> 13) - ((127 - 15) << 10));
}

float fromF16(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 0x3ff;
  float magnitude = 0;
  if (exponent == 31)
    magnitude = fraction ? NAN : INFINITY;
  else if (exponent == 0)
    magnitude = std::ldexp(static_cast<float>(fraction), -24);
  else
    magnitude = std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

HostTensor::HostTensor(DType dtype, std::vector<std::int64_t> sizes)
    : elementType(dtype), extents(std::move(sizes)), steps(extents.size(), 1) {
  for (std::size_t i = extents.size(); i-- > 1;)
    steps[i - 1] = steps[i] * extents[i];
  data.resize(static_cast<std::size_t>(elementCount() * dtypeBytes(dtype)));
}

HostTensor HostTensor::strided(DType dtype, std::vector<std::int64_t> sizes,
                               std::vector<std::int64_t> strides, std::int64_t storageElements,
                               std::int64_t offset) {
  assert(sizes.size() == strides.size() && "one stride for each size");
  HostTensor tensor;
  tensor.elementType = dtype;
  tensor.extents = std::move(sizes);
  tensor.steps = std::move(strides);
  tensor.first = offset;
  tensor.data.resize(static_cast<std::size_t>(storageElements * dtypeBytes(dtype)));
  assert((tensor.elementCount() == 0 ||
          tensor.storageIndex(tensor.elementCount() - 1) < storageElements) &&
         "the last element lies in the storage");
  return tensor;
}

HostTensor HostTensor::integers(DType dtype, std::span<const std::int64_t> values) {
  HostTensor tensor(dtype, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i)
    tensor.set(static_cast<std::int64_t>(i), static_cast<double>(values[i]));
  return tensor;
}

std::int64_t HostTensor::elementCount() const {
  std::int64_t count = 1;
  for (std::int64_t extent : extents)
    count *= extent;
  return count;
}

std::int64_t HostTensor::storageIndex(std::int64_t index) const {
  std::int64_t position = first;
  for (std::size_t i = extents.size(); i-- > 0;) {
    position += index % extents[i] * steps[i];
    index /= extents[i];
  }
  return position;
}

double HostTensor::load(std::int64_t position) const {
  const std::byte *at = data.data() + position * dtypeBytes(elementType);
  auto as = [at]<class T>(T value) {
    std::memcpy(&value, at, sizeof(T));
    return value;
  };
  switch (elementType) {
  case DType::BF16:
    return fromBf16(as(std::uint16_t{}));
  case DType::F16:
    return fromF16(as(std::uint16_t{}));
  case DType::F32:
    return as(float{});
  case DType::I32:
    return as(std::int32_t{});
  case DType::I64:
    return static_cast<double>(as(std::int64_t{}));
  case DType::Bool:
    return as(std::uint8_t{});
  case DType::F64:
    return as(double{});
  }
  return 0;
}

void HostTensor::store(std::int64_t position, double value) {
  std::byte *at = data.data() + position * dtypeBytes(elementType);
  auto put = [at](auto element) { std::memcpy(at, &element, sizeof(element)); };
  switch (elementType) {
  case DType::BF16:
    return put(toBf16(static_cast<float>(value)));
  case DType::F16:
    return put(toF16(static_cast<float>(value)));
  case DType::F32:
    return put(static_cast<float>(value));
  case DType::I32:
    return put(static_cast<std::int32_t>(value));
  case DType::I64:
    return put(static_cast<std::int64_t>(value));
  case DType::Bool:
    return put(static_cast<std::uint8_t>(value != 0));
  case DType::F64:
    return put(value);
  }
}

std::vector<double> HostTensor::values() const {
  std::vector<double> result(static_cast<std::size_t>(elementCount()));
  parallelFor(elementCount(), grainElements, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      result[static_cast<std::size_t>(i)] = get(i);
  });
  return result;
}

void HostTensor::setValues(std::span<const double> values) {
  assert(static_cast<std::int64_t>(values.size()) == elementCount() && "one value per element");
  parallelFor(elementCount(), grainElements, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      set(i, values[static_cast<std::size_t>(i)]);
  });
}

void HostTensor::fillStorage(double value) {
  const auto elements = static_cast<std::int64_t>(data.size()) / dtypeBytes(elementType);
  parallelFor(elements, grainElements, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      store(i, value);
  });
}

TensorRef HostTensor::ref(void *storage) const {
  TensorRef tensor =
      TensorRef::packed(storage, elementType, extents.data(), static_cast<int>(extents.size()));
  if (storage)
    tensor.data = static_cast<std::byte *>(storage) + first * dtypeBytes(elementType);
  for (int i = 0; i < tensor.rank; ++i)
    tensor.strides[i] = steps[static_cast<std::size_t>(i)];
  return tensor;
}

std::uint64_t randomBits(std::uint64_t seed, std::uint64_t index) {
  // Steele, Lea and Flood, "Fast splittable pseudorandom number generators", the finalizer; twice,
  // so that neighbouring seeds share nothing.
  auto mix = [](std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  };
  return mix(mix(seed * 0x9e3779b97f4a7c15 + 1) + index * 0x9e3779b97f4a7c15);
}

double randomUniform(std::uint64_t seed, std::uint64_t index) {
  return static_cast<double>(randomBits(seed, index) >> 11) * 0x1p-53;
}

double randomNormal(std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t bits = randomBits(seed, index); // Box–Muller with two halves of 32 bits
  const double radius = (static_cast<double>(bits >> 32) + 0.5) * 0x1p-32;
  const double angle = static_cast<double>(bits & 0xffffffff) * 0x1p-32;
  return std::sqrt(-2 * std::log(radius)) * std::cos(2 * std::numbers::pi * angle);
}

void fillNormal(HostTensor &tensor, std::uint64_t seed) {
  parallelFor(tensor.elementCount(), grainElements, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      tensor.set(i, randomNormal(seed, static_cast<std::uint64_t>(i)));
  });
}

void fillUniform(HostTensor &tensor, std::uint64_t seed, double low, double high) {
  parallelFor(tensor.elementCount(), grainElements, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      tensor.set(i, low + (high - low) * randomUniform(seed, static_cast<std::uint64_t>(i)));
  });
}

void normalizeRows(HostTensor &tensor) {
  const std::int64_t width = tensor.rowElements();
  if (tensor.elementCount() == 0)
    return;
  parallelFor(tensor.elementCount() / width, 128, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      double squares = 0;
      for (std::int64_t i = row * width; i < (row + 1) * width; ++i)
        squares += tensor.get(i) * tensor.get(i);
      const double factor = squares > 0 ? 1 / std::sqrt(squares) : 0;
      for (std::int64_t i = row * width; i < (row + 1) * width; ++i)
        tensor.set(i, factor * tensor.get(i));
    }
  });
}

double relativeError(std::span<const double> got, std::span<const double> want) {
  assert(got.size() == want.size() && "equally many values");
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    difference += (got[i] - want[i]) * (got[i] - want[i]);
    norm += want[i] * want[i];
  }
  return std::sqrt(norm > 0 ? difference / norm : difference);
}

} // namespace flashqla
