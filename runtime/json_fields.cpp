#include "runtime/json_fields.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace flashqla::detail {

FieldReader::FieldReader(const Json &object, std::string path, std::string_view code,
                         std::optional<Error> &failure)
    : json(object), path(std::move(path)), code(code), failure(failure) {
  if (!json.is_object() && !failure)
    failure = Error{std::string(code),
                    fmt::format("{} is not an object",
                                this->path.empty() ? "the text" : fmt::format("`{}`", this->path)),
                    {}};
}

bool FieldReader::has(std::string_view key) const {
  return !failure && json.is_object() && json.find(key) != json.end();
}

/// The value when it is there and of that type; else null, and the failure is recorded.
const FieldReader::Json *FieldReader::find(std::string_view key, std::optional<Json::value_t> type,
                                           std::string_view wanted) {
  known.emplace_back(key);
  if (failure)
    return nullptr;
  auto found = json.find(key);
  if (found == json.end()) {
    fail(key, "is missing");
    return nullptr;
  }
  if (type && found->type() != *type) {
    fail(key, fmt::format("is not {}", wanted));
    return nullptr;
  }
  return &*found;
}

std::string FieldReader::text(std::string_view key) {
  const Json *value = find(key, Json::value_t::string, "a text");
  return value ? *value->get_ptr<const std::string *>() : std::string();
}

std::int64_t FieldReader::integerOf(const Json &value, std::string_view key, std::int64_t minimum,
                                    std::int64_t maximum) {
  if (!value.is_number_integer()) {
    fail(key, "is not an integer");
    return minimum;
  }
  const bool tooLarge =
      value.is_number_unsigned() &&
      value.get<std::uint64_t>() > std::uint64_t(std::numeric_limits<std::int64_t>::max());
  const std::int64_t result = tooLarge ? 0 : value.get<std::int64_t>();
  if (tooLarge || result < minimum || result > maximum) {
    fail(key, fmt::format("is {}; it must lie in {} … {}", value.dump(), minimum, maximum));
    return minimum;
  }
  return result;
}

std::int64_t FieldReader::integer(std::string_view key, std::int64_t minimum,
                                  std::int64_t maximum) {
  const Json *value = find(key, std::nullopt, "");
  return value ? integerOf(*value, key, minimum, maximum) : minimum;
}

std::vector<std::int64_t> FieldReader::integers(std::string_view key, std::int64_t minimum,
                                                std::int64_t maximum) {
  std::vector<std::int64_t> result;
  const Json *list = find(key, Json::value_t::array, "a list");
  for (std::size_t i = 0; list && i < list->size() && !failure; ++i)
    result.push_back(integerOf((*list)[i], fmt::format("{}[{}]", key, i), minimum, maximum));
  return result;
}

double FieldReader::real(std::string_view key) {
  const Json *value = find(key, std::nullopt, "");
  if (value && !value->is_number())
    fail(key, "is not a number");
  return value && value->is_number() ? value->get<double>() : 0;
}

bool FieldReader::flag(std::string_view key) {
  const Json *value = find(key, Json::value_t::boolean, "true or false");
  return value && value->get<bool>();
}

std::vector<std::string> FieldReader::texts(std::string_view key) {
  std::vector<std::string> result;
  const Json *list = find(key, Json::value_t::array, "a list");
  for (std::size_t i = 0; list && i < list->size(); ++i) {
    if (!(*list)[i].is_string()) {
      fail(fmt::format("{}[{}]", key, i), "is not a text");
      return {};
    }
    result.push_back((*list)[i].get<std::string>());
  }
  return result;
}

std::vector<std::string> FieldReader::keys() const {
  std::vector<std::string> result;
  if (!failure)
    for (auto entry = json.begin(); entry != json.end(); ++entry)
      result.push_back(entry.key());
  return result;
}

void FieldReader::finish() {
  if (failure)
    return;
  for (auto entry = json.begin(); entry != json.end(); ++entry)
    if (std::find(known.begin(), known.end(), entry.key()) == known.end())
      fail(entry.key(), "is not known");
}

void FieldReader::fail(std::string_view key, std::string_view what) {
  if (!failure)
    failure = Error{std::string(code), fmt::format("field `{}` {}", fieldPath(key), what), {}};
}

std::string FieldReader::fieldPath(std::string_view key) const {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

std::string FieldReader::elementPath(std::string_view key, std::size_t index) const {
  return fmt::format("{}[{}]", fieldPath(key), index);
}

} // namespace flashqla::detail
