#include "compiler/driver/case_launch.h"

#include <fmt/format.h>

namespace flashqla::driver {

namespace {

/// Dims and integers, by name.
struct Values {
  explicit Values(const frontend::CheckCase &test) {
    for (const auto &[name, value] : test.dims)
      add(name, value);
    for (const auto &[name, value] : test.scalars)
      if (const auto *integer = std::get_if<int64_t>(&value))
        add(name, *integer);
  }
  void add(const std::string &name, int64_t value) {
    names.push_back(name);
    values.push_back(value);
  }
  std::vector<std::string> names;
  std::vector<int64_t> values;
};

} // namespace

CaseRules::CaseRules(tile::KernelOp kernel) {
  for (auto clause : kernel.getWhere().getAsRange<mlir::DictionaryAttr>()) {
    Expected<DimExpr> condition = DimExpr::parse(clause.getAs<mlir::StringAttr>("condition").str());
    if (!condition)
      continue;
    conditions.push_back(*condition);
    const std::string text = condition->text(), &name = condition->names().empty() ? text : condition->names().front();
    if (!text.starts_with(name + " == "))
      continue;
    Expected<DimExpr> value = DimExpr::parse(text.substr(name.size() + 4));
    if (value && DimExpr::binary(DimExpr::Op::Equal, DimExpr::name(name), *value).text() == text)
      computed.push_back({name, *value});
  }
}

std::string CaseRules::refusal(const frontend::CheckCase &test) {
  const Values values(test);
  for (DimExpr &condition : conditions) {
    if (!condition.bind(values.names))
      continue; // of other arguments
    Expected<int64_t> holds = condition.evaluate(values.values);
    if (!holds)
      return fmt::format("a `where` clause of the kernel has no value in this case: {}", holds.error().message);
    if (*holds == 0)
      return fmt::format("`{}`, of a `where` clause, does not hold in this case", condition.text());
  }
  return {};
}

void CaseRules::follow(frontend::CheckCase &test, const std::string &set) {
  for (auto &[name, rule] : computed) {
    const Values values(test);
    auto dim = test.dims.find(name);
    if (dim == test.dims.end() || name == set || !rule.bind(values.names))
      continue;
    if (Expected<int64_t> result = rule.evaluate(values.values))
      dim->second = *result;
  }
}

sim::SimLaunch launchOf(const frontend::CheckCase &test, const sim::Program &program) {
  sim::SimLaunch launch;
  launch.dims = {test.dims.begin(), test.dims.end()};
  launch.values = program.steeredByData;
  for (const auto &[name, value] : test.scalars) {
    sim::SimScalar &scalar = launch.scalars[name];
    if (const auto *integer = std::get_if<int64_t>(&value))
      scalar = {*integer, static_cast<float>(*integer)};
    else if (const auto *real = std::get_if<double>(&value))
      scalar.real = static_cast<float>(*real);
    else if (const auto *truth = std::get_if<bool>(&value))
      scalar.integer = *truth;
  }
  for (const auto &[name, table] : test.tables)
    launch.tensors[name].ints = table;
  if (launch.values)
    for (const sim::LaunchValue &value : program.launchValues)
      if (value.kind == sim::LaunchValue::Scalar)
        launch.scalars.try_emplace(value.name, sim::SimScalar{1, 1.0f});
  return launch;
}

std::string shapeText(const frontend::CheckCase &test) {
  std::string text;
  for (const auto &[name, value] : test.dims)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value);
  for (const auto &[name, table] : test.tables)
    text += fmt::format("{}{} = [{}]", text.empty() ? "" : ", ", name, fmt::join(table, ", "));
  return text.empty() ? "its only shape" : text;
}

} // namespace flashqla::driver
