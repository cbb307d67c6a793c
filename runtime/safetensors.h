// Tensors in files: the safetensors format, for inputs and reference results of kernels.
//
//     Safetensors file;
//     file.add("q", TensorRef::packed(q.data(), DType::BF16, {t, h, d}));
//     Expected<void> written = file.write("case.safetensors");
//     Expected<Safetensors> again = Safetensors::read("case.safetensors");
//     const NamedTensor *k = again->find("k");
//
// The format: u64 bytes of a JSON header, the header, then the data. The header gives for each name
// the dtype, the shape and the range of bytes; the ranges cover the data without gaps and overlaps.
// Supported dtypes: BF16, F16, F32, F64, I32, I64, BOOL.
#pragma once

#include "flashqla/error.h"
#include "flashqla/tensor.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flashqla {

/// A packed tensor in host memory that owns its data.
struct NamedTensor {
  std::string name;
  DType dtype = DType::F32;
  std::vector<std::int64_t> shape; // at most six dimensions
  std::vector<std::byte> data;

  /// A view of the data, valid as long as this object is.
  TensorRef ref() {
    return TensorRef::packed(data.data(), dtype, shape.data(), static_cast<int>(shape.size()));
  }
};

class Safetensors {
public:
  std::vector<NamedTensor> tensors;                          // in the order of their data
  std::vector<std::pair<std::string, std::string>> metadata; // by key; may be empty

  /// Copies a packed tensor of host memory.
  void add(std::string name, const TensorRef &tensor);
  /// The tensor of that name, or null.
  const NamedTensor *find(std::string_view name) const;

  /// The bytes of a file; equal contents give equal bytes. Error: safetensors-format (two equal
  /// names).
  Expected<std::string> serialize() const;
  /// `name` stands in messages. Error: safetensors-format, with the tensor and the numbers that do
  /// not fit.
  static Expected<Safetensors> deserialize(std::string_view bytes, std::string_view name);

  /// Errors: file-read, safetensors-format.
  static Expected<Safetensors> read(const std::string &path);
  /// Errors: file-write, safetensors-format.
  Expected<void> write(const std::string &path) const;
};

} // namespace flashqla
