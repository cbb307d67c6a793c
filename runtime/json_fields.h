// Reads JSON objects field by field without exceptions and remembers the first thing that is wrong.
//
//     std::optional<Error> failure;
//     FieldReader reader(json, "tensorMaps[1]", "manifest-field", failure);
//     recipe.ragged = reader.flag("ragged");
//     recipe.box = reader.integer("box", 1, 256);
//     reader.finish();                                  // fields that nobody asked for are errors
//
// After a failure every read returns an empty value, so that a caller checks once, at the end.
#pragma once

#include "flashqla/error.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flashqla::detail {

class FieldReader {
public:
  using Json = nlohmann::json;

  /// `path` names the object in messages; empty for the outermost.
  FieldReader(const Json &object, std::string path, std::string_view code,
              std::optional<Error> &failure);

  bool has(std::string_view key) const;
  std::string text(std::string_view key);
  std::int64_t integer(std::string_view key, std::int64_t minimum, std::int64_t maximum);
  double real(std::string_view key);
  bool flag(std::string_view key);
  std::vector<std::string> texts(std::string_view key);
  std::vector<std::int64_t> integers(std::string_view key, std::int64_t minimum,
                                     std::int64_t maximum);
  /// The keys of the object, sorted; none after a failure.
  std::vector<std::string> keys() const;

  /// Calls `read(FieldReader &)` for each object of the list.
  template <class Read> void objects(std::string_view key, Read read) {
    const Json *list = find(key, Json::value_t::array, "a list");
    for (std::size_t i = 0; list && i < list->size(); ++i) {
      FieldReader element((*list)[i], elementPath(key, i), code, failure);
      read(element);
      element.finish();
    }
  }

  /// Calls `read(FieldReader &)` for the object.
  template <class Read> void object(std::string_view key, Read read) {
    if (const Json *value = find(key, Json::value_t::object, "an object")) {
      FieldReader element(*value, fieldPath(key), code, failure);
      read(element);
      element.finish();
    }
  }

  void finish();

  /// Records "field `path.key` what" unless something else failed before.
  void fail(std::string_view key, std::string_view what);
  bool failed() const { return failure.has_value(); }

private:
  const Json *find(std::string_view key, std::optional<Json::value_t> type,
                   std::string_view wanted);
  std::int64_t integerOf(const Json &value, std::string_view key, std::int64_t minimum,
                         std::int64_t maximum);
  std::string fieldPath(std::string_view key) const;
  std::string elementPath(std::string_view key, std::size_t index) const;

  const Json &json;
  std::string path;
  std::string_view code;
  std::optional<Error> &failure;
  std::vector<std::string> known;
};

} // namespace flashqla::detail
