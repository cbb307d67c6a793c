// Tensors as the runtime sees them: a pointer, an element type, sizes and strides. They own
// nothing.
//
//     TensorRef a = TensorRef::packed(pointer, DType::BF16, {m, k});
//     TensorRef q = TensorRef::strided(qkv, DType::BF16, {b, t, h, d}, {t * row, row, d, 1});
//
// Strides count elements, not bytes, and belong to the same dimension as the size of that index.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace flashqla {

/// Element types. F64 exists for reference data in files; no kernel takes it.
enum class DType : std::uint8_t { BF16, F16, F32, I32, I64, Bool, F64 };

/// The name in the language: "bf16", "f16", "f32", "i32", "i64", "bool"; "f64".
constexpr std::string_view dtypeName(DType dtype) {
  switch (dtype) {
  case DType::BF16:
    return "bf16";
  case DType::F16:
    return "f16";
  case DType::F32:
    return "f32";
  case DType::I32:
    return "i32";
  case DType::I64:
    return "i64";
  case DType::Bool:
    return "bool";
  case DType::F64:
    return "f64";
  }
  return "?";
}

/// Bytes of one element.
constexpr std::int64_t dtypeBytes(DType dtype) {
  switch (dtype) {
  case DType::Bool:
    return 1;
  case DType::BF16:
  case DType::F16:
    return 2;
  case DType::F32:
  case DType::I32:
    return 4;
  case DType::I64:
  case DType::F64:
    return 8;
  }
  return 0;
}

/// The type with that name in the language, if there is one.
constexpr std::optional<DType> dtypeFromName(std::string_view name) {
  for (DType dtype :
       {DType::BF16, DType::F16, DType::F32, DType::I32, DType::I64, DType::Bool, DType::F64})
    if (dtypeName(dtype) == name)
      return dtype;
  return std::nullopt;
}

/// A view of device (or host) memory: element (i0, i1, …) is at data + sum(i * strides) elements.
struct TensorRef {
  static constexpr int maxRank = 6;

  void *data = nullptr;
  DType dtype = DType::F32;
  int rank = 0;
  std::int64_t sizes[maxRank] = {};   // elements
  std::int64_t strides[maxRank] = {}; // elements

  /// Row-major without gaps. At most six sizes.
  static TensorRef packed(void *data, DType dtype, const std::int64_t *sizes, int rank) {
    assert(rank >= 0 && rank <= maxRank && "a tensor has at most six dimensions");
    TensorRef tensor;
    tensor.data = data;
    tensor.dtype = dtype;
    tensor.rank = rank;
    std::int64_t stride = 1;
    for (int i = rank - 1; i >= 0; --i) {
      tensor.sizes[i] = sizes[i];
      tensor.strides[i] = stride;
      stride *= sizes[i];
    }
    return tensor;
  }
  static TensorRef packed(void *data, DType dtype, std::initializer_list<std::int64_t> sizes) {
    return packed(data, dtype, sizes.begin(), static_cast<int>(sizes.size()));
  }

  /// Any strides, in elements; as many as there are sizes.
  static TensorRef strided(void *data, DType dtype, std::initializer_list<std::int64_t> sizes,
                           std::initializer_list<std::int64_t> strides) {
    assert(sizes.size() == strides.size() && "one stride for each size");
    TensorRef tensor = packed(data, dtype, sizes);
    for (int i = 0; i < tensor.rank; ++i)
      tensor.strides[i] = strides.begin()[i];
    return tensor;
  }

  std::int64_t elementCount() const {
    std::int64_t count = 1;
    for (int i = 0; i < rank; ++i)
      count *= sizes[i];
    return count;
  }
  /// Bytes of a packed tensor of these sizes.
  std::int64_t packedBytes() const { return elementCount() * dtypeBytes(dtype); }

  /// Row-major without gaps; the stride of a dimension of extent one does not matter.
  bool isPacked() const {
    std::int64_t stride = 1;
    for (int i = rank - 1; i >= 0; --i) {
      if (sizes[i] > 1 && strides[i] != stride)
        return elementCount() == 0;
      stride *= sizes[i];
    }
    return true;
  }
};

} // namespace flashqla
