#include "runtime/safetensors.h"

#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

using namespace flashqla;

namespace {

std::string fileOf(std::string_view header, std::size_t dataBytes) {
  const std::uint64_t length = header.size();
  std::string bytes(reinterpret_cast<const char *>(&length), sizeof length);
  return bytes.append(header).append(dataBytes, '\1');
}

std::string messageOf(std::string_view header, std::size_t dataBytes) {
  const auto read = Safetensors::deserialize(fileOf(header, dataBytes), "f");
  return read ? "it reads" : read.error().message;
}

} // namespace

TEST(Safetensors, round_trip_is_exact_for_every_dtype) {
  std::vector<std::byte> values(6 * 8);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::byte(i * 37 + 200);
  Safetensors file;
  file.metadata = {{"kernel", "gdn"}, {"note", "größer \"x\"\n"}};
  const DType dtypes[] = {DType::BF16, DType::F16, DType::F32, DType::F64,
                          DType::I32,  DType::I64, DType::Bool};
  for (DType dtype : dtypes)
    file.add(std::string(dtypeName(dtype)), TensorRef::packed(values.data(), dtype, {2, 3}));
  file.add("scalar", TensorRef::packed(values.data(), DType::F32, {}));
  file.add("empty", TensorRef::packed(values.data(), DType::F32, {0, 5}));

  const auto bytes = file.serialize();
  ASSERT_TRUE(bool(bytes));
  const auto read = Safetensors::deserialize(*bytes, "f");
  ASSERT_TRUE(bool(read)) << read.error().text();
  EXPECT_EQ(read->metadata, file.metadata);
  ASSERT_EQ(read->tensors.size(), file.tensors.size());
  for (const NamedTensor &tensor : file.tensors) {
    const NamedTensor *found = read->find(tensor.name);
    ASSERT_TRUE(found) << tensor.name;
    EXPECT_EQ(found->dtype, tensor.dtype);
    EXPECT_EQ(found->shape, tensor.shape);
    EXPECT_EQ(found->data, tensor.data);
  }
  EXPECT_EQ(read->find("none"), nullptr);
}

TEST(Safetensors, data_begins_aligned) {
  Safetensors file;
  const float value = 1;
  file.add("x", TensorRef::packed(const_cast<float *>(&value), DType::F32, {1}));
  std::uint64_t length = 0;
  std::memcpy(&length, file.serialize()->data(), 8);
  EXPECT_EQ(length % 8, 0u);
}

TEST(Safetensors, files_on_disk) {
  const std::string path = ::testing::TempDir() + "flashqla_runtime_test.safetensors";
  Safetensors file;
  float values[] = {1, 2, 3};
  file.add("x", TensorRef::packed(values, DType::F32, {3}));
  ASSERT_TRUE(bool(file.write(path)));
  EXPECT_EQ(Safetensors::read(path)->find("x")->data, file.tensors[0].data);
  std::remove(path.c_str());
  EXPECT_EQ(Safetensors::read(path).error().code, "file-read");
}

TEST(Safetensors, two_tensors_of_one_name_are_not_written) {
  Safetensors file;
  float value = 1;
  file.add("x", TensorRef::packed(&value, DType::F32, {1}));
  file.add("x", TensorRef::packed(&value, DType::F32, {1}));
  EXPECT_EQ(file.serialize().error().code, "safetensors-format");
}

TEST(Safetensors, truncated_at_every_byte_is_an_error) {
  Safetensors file;
  float values[] = {1, 2, 3};
  file.add("x", TensorRef::packed(values, DType::F32, {3}));
  file.add("y", TensorRef::packed(values, DType::F32, {2}));
  const std::string bytes = *file.serialize();
  for (std::size_t count = 0; count < bytes.size(); ++count)
    EXPECT_FALSE(bool(Safetensors::deserialize(bytes.substr(0, count), "f"))) << count;
  EXPECT_FALSE(bool(Safetensors::deserialize(bytes + "x", "f")));
}

TEST(Safetensors, absurd_header_lengths) {
  for (std::uint64_t length : {std::uint64_t{100}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    std::string bytes = fileOf("{}", 0);
    std::memcpy(bytes.data(), &length, 8);
    const auto read = Safetensors::deserialize(bytes, "f");
    ASSERT_FALSE(bool(read));
    EXPECT_NE(read.error().message.find("the header should have"), std::string::npos);
  }
}

TEST(Safetensors, bad_headers_name_the_tensor) {
  EXPECT_EQ(messageOf("[]", 0), "f: the header is not a JSON object");
  EXPECT_EQ(messageOf("{\"x\": ", 0), "f: the header is not a JSON object");
  EXPECT_EQ(messageOf(R"({"x": 3})", 0), "f: `x` is not an object");
  EXPECT_EQ(messageOf(R"({"x":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", 1),
            "f: field `x.dtype` is \"F8_E4M3\"; known are BF16, F16, F32, F64, I32, I64, BOOL");
  EXPECT_EQ(messageOf(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4),
            "f: field `x.data_offsets` spans 4 bytes; the shape needs 8");
  EXPECT_EQ(messageOf(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 3),
            "f: the data of `x` ends at byte 4 of 3");
  EXPECT_EQ(messageOf(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 6),
            "f: 2 bytes of data belong to no tensor");
  EXPECT_EQ(messageOf(R"({"x":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4),
            "f: field `x.shape[0]` is -1; it must lie in 0 … 9223372036854775807");
  EXPECT_EQ(
      messageOf(R"({"x":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})", 4),
      "f: field `x.data_offsets` spans 4 bytes; the shape needs more than 2^63");
  EXPECT_EQ(messageOf(R"({"__metadata__":{"a":1}})", 0), "f: field `__metadata__.a` is not a text");
  EXPECT_EQ(messageOf(R"({"__metadata__":[]})", 0), "f: `__metadata__` is not an object");
}

TEST(Safetensors, overlaps_and_gaps_are_errors) {
  EXPECT_EQ(messageOf(R"({"x":{"dtype":"I32","shape":[2],"data_offsets":[0,8]},
                          "y":{"dtype":"I32","shape":[2],"data_offsets":[4,12]}})",
                      12),
            "f: the data of `y` begins at byte 4, overlapping what ends at byte 8");
  EXPECT_EQ(messageOf(R"({"x":{"dtype":"I32","shape":[1],"data_offsets":[4,8]}})", 8),
            "f: the data of `x` begins at byte 4, leaving a gap after byte 0");
}
