#include "compiler/driver/sim_tensors.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace flashqla::driver {
namespace {

/// Elements in memory as values of the simulator: one struct for each element type.
struct BF16 {
  using Bits = uint16_t;
  static float load(Bits bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }
  static Bits store(float x) { return std::isnan(x) ? 0x7fff : Bits(std::bit_cast<uint32_t>(x) >> 16); }
};
struct F16 {
  using Bits = uint16_t;
  static float load(Bits bits) { return static_cast<float>(std::bit_cast<_Float16>(bits)); }
  static Bits store(float x) { return std::bit_cast<Bits>(static_cast<_Float16>(x)); }
};
struct F32 {
  using Bits = uint32_t;
  static float load(Bits bits) { return std::bit_cast<float>(bits); }
  static Bits store(float x) { return std::bit_cast<Bits>(x); }
};
template <class T> struct Integer {
  using Bits = T;
  static int64_t load(Bits bits) { return static_cast<int64_t>(bits); }
  static Bits store(int64_t x) { return static_cast<Bits>(x); }
};

/// Calls `row` with the number of each row's first element, and its address.
template <class Row> void forRows(const TensorRef &tensor, Row row) {
  const int64_t columns = tensor.rank ? tensor.sizes[tensor.rank - 1] : 1;
  const int64_t count = columns ? tensor.elementCount() / columns : 0;
  for (int64_t index = 0; index < count; ++index) {
    int64_t rest = index, offset = 0;
    for (int dim = tensor.rank - 1; dim-- > 0; rest /= tensor.sizes[dim])
      offset += rest % tensor.sizes[dim] * tensor.strides[dim];
    row(index * columns, static_cast<char *>(tensor.data) + offset * dtypeBytes(tensor.dtype));
  }
}

/// Calls `visit` with an address and a value of `values` for each element.
template <class Type, class Values, class Visit>
void forElements(const TensorRef &tensor, Values &values, Visit visit) {
  const int64_t columns = tensor.rank ? tensor.sizes[tensor.rank - 1] : 1;
  const int64_t step = (tensor.rank ? tensor.strides[tensor.rank - 1] : 1) * dtypeBytes(tensor.dtype);
  forRows(tensor, [&](int64_t first, char *address) {
    for (int64_t column = 0; column < columns; ++column)
      visit(address + column * step, values[first + column]);
  });
}

template <class Type, class Values> void read(const TensorRef &tensor, Values &values) {
  values.resize(tensor.elementCount());
  forElements<Type>(tensor, values, [](const char *address, auto &value) {
    typename Type::Bits bits;
    std::memcpy(&bits, address, sizeof bits);
    value = Type::load(bits);
  });
}

template <class Type, class Values> void write(const TensorRef &tensor, const Values &values) {
  forElements<Type>(tensor, values, [](char *address, auto value) {
    typename Type::Bits bits;
    std::memcpy(&bits, address, sizeof bits);
    const auto before = Type::load(bits);
    if (std::memcmp(&before, &value, sizeof value) == 0)
      return;
    bits = Type::store(value);
    std::memcpy(address, &bits, sizeof bits);
  });
}

/// Calls `visit` with the struct of the element type and the array of its values.
template <class Values, class Visit> void dispatch(DType dtype, Values &values, Visit visit) {
  switch (dtype) {
  case DType::BF16: return visit(BF16(), values.reals);
  case DType::F16: return visit(F16(), values.reals);
  case DType::F32: return visit(F32(), values.reals);
  case DType::I32: return visit(Integer<int32_t>(), values.ints);
  case DType::I64: return visit(Integer<int64_t>(), values.ints);
  case DType::Bool: return visit(Integer<uint8_t>(), values.ints);
  case DType::F64: return; // no kernel takes it
  }
}

} // namespace

sim::TensorValues readTensor(const TensorRef &tensor) {
  sim::TensorValues values;
  values.extents.assign(tensor.sizes, tensor.sizes + tensor.rank);
  dispatch(tensor.dtype, values, [&](auto type, auto &elements) { read<decltype(type)>(tensor, elements); });
  return values;
}

void writeTensor(const sim::TensorValues &values, const TensorRef &tensor) {
  dispatch(tensor.dtype, values, [&](auto type, auto &elements) { write<decltype(type)>(tensor, elements); });
}

} // namespace flashqla::driver
