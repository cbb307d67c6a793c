#include "compiler/sim/cost_model.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flashqla::sim {
namespace {

struct Field {
  std::string_view name;
  double Costs::*member;
};

constexpr Field fields[] = {
#define FQ_FIELD(name, value, meaning) {#name, &Costs::name},
    FQ_COSTS(FQ_FIELD)
#undef FQ_FIELD
};

Error fieldError(std::string text) { return {"costs-field", std::move(text), {}}; }

} // namespace

Expected<void> readCosts(std::string_view json, Costs &costs) {
  const nlohmann::json read = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!read.is_object())
    return Error{"costs-syntax", "the costs are no JSON object", {}};
  for (const auto &[name, value] : read.items()) {
    auto field = std::find_if(std::begin(fields), std::end(fields), [&](const Field &each) { return each.name == name; });
    if (field == std::end(fields))
      return fieldError(fmt::format("there is no cost `{}`", name));
    if (!value.is_number() || value.get<double>() <= 0)
      return fieldError(fmt::format("the cost `{}` is no number above zero", name));
    costs.*field->member = value.get<double>();
  }
  return {};
}

std::string writeCosts(const Costs &costs) {
  nlohmann::ordered_json object;
  for (const Field &field : fields)
    object[field.name] = costs.*field.member;
  return object.dump(2) + "\n";
}

} // namespace flashqla::sim
