#include "runtime/safetensors.h"
#include "runtime/files.h"
#include "runtime/json_fields.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>

namespace flashqla {

namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

constexpr std::size_t lengthBytes = 8;
constexpr std::uint64_t maxHeaderBytes = 100'000'000; // the limit of the reference implementation
constexpr std::int64_t maxInt = std::numeric_limits<std::int64_t>::max();
constexpr std::string_view metadataKey = "__metadata__";

struct DTypeText {
  DType dtype;
  std::string_view text;
};
constexpr DTypeText dtypeTexts[] = {{DType::BF16, "BF16"}, {DType::F16, "F16"}, {DType::F32, "F32"},
                                    {DType::F64, "F64"},   {DType::I32, "I32"}, {DType::I64, "I64"},
                                    {DType::Bool, "BOOL"}};

/// Where the data of a tensor lies, in bytes from the end of the header.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

Error formatError(std::string_view name, std::string_view what) {
  return Error{"safetensors-format", fmt::format("{}: {}", name, what), {}};
}

/// One entry of the header without its data; `failure` is set when it does not hold together.
std::pair<NamedTensor, Range> readEntry(const std::string &name, const nlohmann::json &json,
                                        std::optional<Error> &failure) {
  detail::FieldReader reader(json, name, "safetensors-format", failure);
  NamedTensor tensor;
  tensor.name = name;
  const std::string dtype = reader.text("dtype");
  const auto known = std::find_if(std::begin(dtypeTexts), std::end(dtypeTexts),
                                  [&](const DTypeText &entry) { return entry.text == dtype; });
  if (known == std::end(dtypeTexts)) {
    reader.fail("dtype",
                fmt::format("is \"{}\"; known are BF16, F16, F32, F64, I32, I64, BOOL", dtype));
    return {std::move(tensor), Range()};
  }
  tensor.dtype = known->dtype;
  tensor.shape = reader.integers("shape", 0, maxInt);
  if (tensor.shape.size() > TensorRef::maxRank)
    reader.fail("shape", fmt::format("has {} dimensions; at most {} are supported",
                                     tensor.shape.size(), TensorRef::maxRank));
  const std::vector<std::int64_t> offsets = reader.integers("data_offsets", 0, maxInt);
  if (!failure && (offsets.size() != 2 || offsets[0] > offsets[1]))
    reader.fail("data_offsets", "is not a begin and an end");
  reader.finish();
  if (failure)
    return {std::move(tensor), Range()};

  std::int64_t bytes = dtypeBytes(tensor.dtype);
  bool overflow = false;
  for (const std::int64_t extent : tensor.shape)
    overflow = __builtin_mul_overflow(bytes, extent, &bytes) || overflow;
  const Range range{offsets[0], offsets[1]};
  if (overflow || range.end - range.begin != bytes)
    reader.fail("data_offsets",
                fmt::format("spans {} bytes; the shape needs {}", range.end - range.begin,
                            overflow ? "more than 2^63" : fmt::to_string(bytes)));
  return {std::move(tensor), range};
}

} // namespace

void Safetensors::add(std::string name, const TensorRef &tensor) {
  assert(tensor.isPacked() && "files hold packed tensors");
  NamedTensor &copy = tensors.emplace_back();
  copy.name = std::move(name);
  copy.dtype = tensor.dtype;
  copy.shape.assign(tensor.sizes, tensor.sizes + tensor.rank);
  const auto *bytes = static_cast<const std::byte *>(tensor.data);
  copy.data.assign(bytes, bytes + tensor.packedBytes());
}

const NamedTensor *Safetensors::find(std::string_view name) const {
  for (const NamedTensor &tensor : tensors)
    if (tensor.name == name)
      return &tensor;
  return nullptr;
}

Expected<std::string> Safetensors::serialize() const {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) {
    nlohmann::ordered_json &entries = header[std::string(metadataKey)];
    for (const auto &[key, value] : metadata)
      entries[key] = value;
  }
  std::size_t offset = 0;
  for (const NamedTensor &tensor : tensors) {
    if (header.contains(tensor.name))
      return formatError(tensor.name, "two tensors have this name");
    const auto text =
        std::find_if(std::begin(dtypeTexts), std::end(dtypeTexts),
                     [&](const DTypeText &entry) { return entry.dtype == tensor.dtype; });
    header[tensor.name] = {{"dtype", text->text},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + tensor.data.size()}}};
    offset += tensor.data.size();
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.append((lengthBytes - text.size() % lengthBytes) % lengthBytes, ' '); // the data is aligned

  const std::uint64_t length = text.size();
  std::string bytes(reinterpret_cast<const char *>(&length), sizeof length);
  bytes += text;
  for (const NamedTensor &tensor : tensors)
    bytes.append(reinterpret_cast<const char *>(tensor.data.data()), tensor.data.size());
  return bytes;
}

Expected<Safetensors> Safetensors::deserialize(std::string_view bytes, std::string_view name) {
  std::uint64_t length = 0;
  if (bytes.size() < lengthBytes)
    return formatError(name, fmt::format("{} bytes are no safetensors file", bytes.size()));
  std::memcpy(&length, bytes.data(), lengthBytes);
  const std::uint64_t available = bytes.size() - lengthBytes;
  if (length > maxHeaderBytes || length > available)
    return formatError(
        name, fmt::format("the header should have {} bytes; the file has {} and the limit is {}",
                          length, available, maxHeaderBytes));
  const std::string_view data = bytes.substr(lengthBytes + length);
  const nlohmann::json header = nlohmann::json::parse(bytes.substr(lengthBytes, length), nullptr,
                                                      /*allow_exceptions=*/false);
  if (!header.is_object())
    return formatError(name, "the header is not a JSON object");

  Safetensors file;
  std::vector<std::pair<NamedTensor, Range>> entries;
  std::optional<Error> failure;
  for (auto item = header.begin(); item != header.end() && !failure; ++item) {
    if (item.key() != metadataKey) {
      entries.push_back(readEntry(item.key(), item.value(), failure));
      continue;
    }
    detail::FieldReader reader(item.value(), item.key(), "safetensors-format", failure);
    for (const std::string &key : reader.keys())
      file.metadata.emplace_back(key, reader.text(key));
  }
  if (failure)
    return formatError(name, failure->message);

  std::sort(entries.begin(), entries.end(), [](const auto &a, const auto &b) {
    return std::pair(a.second.begin, a.second.end) < std::pair(b.second.begin, b.second.end);
  });
  std::int64_t covered = 0;
  for (auto &[tensor, range] : entries) {
    if (range.begin != covered)
      return formatError(
          name,
          fmt::format("the data of `{}` begins at byte {}, {} byte {}", tensor.name, range.begin,
                      range.begin < covered ? "overlapping what ends at" : "leaving a gap after",
                      covered));
    if (range.end > static_cast<std::int64_t>(data.size()))
      return formatError(name, fmt::format("the data of `{}` ends at byte {} of {}", tensor.name,
                                           range.end, data.size()));
    const auto *begin = reinterpret_cast<const std::byte *>(data.data());
    tensor.data.assign(begin + range.begin, begin + range.end);
    covered = range.end;
    file.tensors.push_back(std::move(tensor));
  }
  if (covered != static_cast<std::int64_t>(data.size()))
    return formatError(name,
                       fmt::format("{} bytes of data belong to no tensor", data.size() - covered));
  return file;
}

Expected<Safetensors> Safetensors::read(const std::string &path) {
  Expected<std::string> bytes = readFile(path);
  if (!bytes)
    return std::move(bytes).error();
  return deserialize(*bytes, path);
}

Expected<void> Safetensors::write(const std::string &path) const {
  Expected<std::string> bytes = serialize();
  if (!bytes)
    return std::move(bytes).error();
  return writeFile(path, *bytes);
}

} // namespace flashqla
