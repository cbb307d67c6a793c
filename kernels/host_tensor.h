// Tensors in host memory, for references, tests and benchmarks: conversions between the 16-bit
// types and f64, reproducible random data, and the error measure.
//
//     HostTensor q(DType::BF16, {1, tokens, heads, 128});
//     fillNormal(q, 1);
//     normalizeRows(q);
//     std::vector<double> values = q.values();       // what a reference computes with
//
// A tensor may have gaps (`HostTensor::strided`): it then owns the gaps too, so that a test can
// fill them with NaN and upload the storage as it is.
#pragma once

#include "flashqla/tensor.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace flashqla {

/// Round to nearest even; NaN stays NaN, too large becomes infinite.
std::uint16_t toBf16(float value);
std::uint16_t toF16(float value);
float fromBf16(std::uint16_t bits);
float fromF16(std::uint16_t bits);

class HostTensor {
public:
  /// Row-major without gaps, filled with zeros.
  HostTensor(DType dtype, std::vector<std::int64_t> sizes);
  /// With strides in elements and a storage of `storageElements`, all zero; element (0, …, 0) lies
  /// at `offset`. The last element must lie inside.
  static HostTensor strided(DType dtype, std::vector<std::int64_t> sizes,
                            std::vector<std::int64_t> strides, std::int64_t storageElements,
                            std::int64_t offset = 0);
  /// i32 or i64 with these values.
  static HostTensor integers(DType dtype, std::span<const std::int64_t> values);

  DType dtype() const { return elementType; }
  std::span<const std::int64_t> sizes() const { return extents; }
  std::span<const std::int64_t> strides() const { return steps; }
  std::int64_t elementCount() const;
  /// Elements of the last dimension; one for a scalar.
  std::int64_t rowElements() const { return extents.empty() ? 1 : extents.back(); }

  /// The element with this row-major number, gaps not counted. `set` rounds to the element type.
  double get(std::int64_t index) const { return load(storageIndex(index)); }
  void set(std::int64_t index, double value) { store(storageIndex(index), value); }
  /// All elements in row-major order.
  std::vector<double> values() const;
  /// One value for each element, in row-major order.
  void setValues(std::span<const double> values);
  /// Sets the whole storage, gaps included.
  void fillStorage(double value);

  /// The storage, gaps included: what is copied to the device and back.
  std::span<std::byte> bytes() { return data; }
  std::span<const std::byte> bytes() const { return data; }
  /// A view of a copy of the storage that begins at `storage`.
  TensorRef ref(void *storage) const;

private:
  HostTensor() = default;
  std::int64_t storageIndex(std::int64_t index) const;
  double load(std::int64_t position) const;
  void store(std::int64_t position, double value);

  DType elementType = DType::F32;
  std::vector<std::int64_t> extents; // elements
  std::vector<std::int64_t> steps;   // elements
  std::int64_t first = 0;            // position of element (0, …, 0) in the storage
  std::vector<std::byte> data;
};

/// 64 random bits that depend on both numbers alone (splitmix64).
std::uint64_t randomBits(std::uint64_t seed, std::uint64_t index);
/// In [0, 1) and standard normal; functions of seed and index alone.
double randomUniform(std::uint64_t seed, std::uint64_t index);
double randomNormal(std::uint64_t seed, std::uint64_t index);

/// Fill every element with random values that depend on the seed and the element's number alone.
void fillNormal(HostTensor &tensor, std::uint64_t seed);
void fillUniform(HostTensor &tensor, std::uint64_t seed, double low, double high);
/// Divides each row (last dimension) by its Euclidean norm; a row of zeros stays.
void normalizeRows(HostTensor &tensor);

/// Relative Frobenius error |got - want| / |want|; |got| when `want` is zero. Not a number where
/// `got` has one, so that no bound holds. Equally many values.
double relativeError(std::span<const double> got, std::span<const double> want);

} // namespace flashqla
