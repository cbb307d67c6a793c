#include "compiler/frontend/bindings.h"

#include <algorithm>

namespace flashqla::frontend {

bool declareIn(Scope &scope, Symbol symbol, Reporter &reporter) {
  std::string name = symbol.name;
  SourceRange range = symbol.declared;
  if (findBuiltin(name) || name == "unit_lower_inverse") {
    reporter.error(DiagnosticKind::ShadowedName, range,
                   fmt::format("`{}` is a built-in function", name));
    return false;
  }
  bool sameLevel = scope.isInnermost(name);
  const Symbol *taken = scope.declare(std::move(symbol));
  if (!taken)
    return true;
  reporter
      .error(sameLevel ? DiagnosticKind::DuplicateName : DiagnosticKind::ShadowedName, range,
             sameLevel
                 ? fmt::format("`{}` is declared twice", name)
                 : fmt::format("`{}` would hide {} of that name", name, describe(taken->kind)))
      .label(taken->declared, sameLevel ? "first here" : "declared here");
  return false;
}

std::optional<ScalarType> resolveElementType(const ast::ElemType &elem, const Scope &scope,
                                             Reporter &reporter) {
  if (elem.builtin)
    return elem.builtin;
  const Symbol *symbol = lookup(elem.name, scope, reporter);
  if (!symbol)
    return std::nullopt;
  if (symbol->kind == SymbolKind::Type)
    return symbol->type;
  reporter
      .error(DiagnosticKind::WrongKind, elem.name.range,
             fmt::format("`{}` is {}, not a type", elem.name.text, describe(symbol->kind)))
      .label(symbol->declared, "declared here");
  return std::nullopt;
}

Scope moduleScope(const ast::Module &module, const ast::Kernel &kernel, Reporter &reporter) {
  Scope scope;
  for (size_t order = 0; order < module.items.size(); ++order) {
    const auto &node = module.items[order].node;
    if (std::get_if<ast::Kernel>(&node) == &kernel)
      break;
    if (const auto *fn = std::get_if<ast::Fn>(&node)) {
      Symbol symbol{fn->name.text, SymbolKind::Fn, fn->name.range, order};
      symbol.fn = fn;
      declareIn(scope, std::move(symbol), reporter);
    } else if (const auto *constant = std::get_if<ast::Const>(&node)) {
      auto value = evaluateConstant(*constant->value, scope, reporter, "a `const`");
      Symbol symbol{constant->name.text, SymbolKind::Failed, constant->name.range, order};
      if (value && std::holds_alternative<ScalarType>(*value)) {
        symbol.kind = SymbolKind::Type;
        symbol.type = std::get<ScalarType>(*value);
      } else if (value) {
        symbol.kind = SymbolKind::Value;
        symbol.scalar = Scalar::of(*value);
      }
      declareIn(scope, std::move(symbol), reporter);
    }
  }
  return scope;
}

bool checkBindingNames(const ast::Kernel &kernel, const Bindings &bindings, Reporter &reporter) {
  bool good = true;
  std::vector<std::string> names;
  for (const ast::Param &param : kernel.params)
    names.push_back(param.name.text);
  for (const ast::Dim &dim : kernel.dims)
    if (dim.isStatic)
      names.push_back(dim.name.text);
  for (const auto &[name, value] : bindings) {
    if (std::ranges::find(names, name) != names.end())
      continue;
    good = false;
    auto dim = std::ranges::find_if(
        kernel.dims, [&](const ast::Dim &candidate) { return candidate.name.text == name; });
    if (dim != kernel.dims.end()) {
      reporter
          .error(DiagnosticKind::UnknownBinding, dim->range,
                 fmt::format("the dim `{}` is known at launch and takes no value here", name))
          .help(fmt::format("`{}: static` is known when compiling", name));
      continue;
    }
    auto report = reporter.error(
        DiagnosticKind::UnknownBinding, kernel.name.range,
        fmt::format("`{}` has no parameter and no static dim `{}`", kernel.name.text, name));
    if (std::string close = closestName(name, names); !close.empty())
      report.help(fmt::format("did you mean `{}`?", close));
  }
  return good;
}

namespace {

bool declareStaticDim(const ast::Dim &dim, const ast::Kernel &kernel, const Bindings &bindings,
                      Scope &scope, Reporter &reporter) {
  Symbol symbol{dim.name.text, SymbolKind::Failed, dim.name.range};
  auto bound = bindings.find(dim.name.text);
  const int64_t *value = bound == bindings.end() ? nullptr : std::get_if<int64_t>(&bound->second);
  bool good = value && *value >= 0 && *value <= INT32_MAX;
  if (good) {
    symbol.kind = SymbolKind::Value;
    symbol.scalar = Scalar::of(*value);
  } else {
    bool missing = bound == bindings.end();
    auto report = reporter.error(DiagnosticKind::UnknownBinding, dim.name.range,
                                 missing ? fmt::format("the static dim `{}` of `{}` has no value",
                                                       dim.name.text, kernel.name.text)
                                         : fmt::format("`{}` is no extent: `{}` is a static dim",
                                                       constantText(bound->second), dim.name.text));
    if (missing)
      report.help(fmt::format("`-D {}=VALUE` gives it one", dim.name.text));
  }
  return declareIn(scope, std::move(symbol), reporter) && good;
}

/// A value of the kind that the default has; an integer serves as a float.
std::optional<Constant> likeDefault(const Constant &value, const Constant &byDefault) {
  if (value.index() == byDefault.index())
    return value;
  if (std::holds_alternative<double>(byDefault) && std::holds_alternative<int64_t>(value))
    return asDouble(value);
  return std::nullopt;
}

bool declareParam(const ast::Param &param, const Bindings &bindings, Scope &scope,
                  Reporter &reporter) {
  Symbol symbol{param.name.text, SymbolKind::Failed, param.name.range};
  auto value = evaluateConstant(*param.value, scope, reporter, "the default of a parameter");
  auto bound = bindings.find(param.name.text);
  if (value && bound != bindings.end()) {
    auto replaced = likeDefault(bound->second, *value);
    if (!replaced)
      reporter
          .error(DiagnosticKind::UnknownBinding, param.range,
                 fmt::format("`{}` cannot be {}: it is of another kind than the default",
                             param.name.text, constantText(bound->second)))
          .primary(fmt::format("the default is {}", constantText(*value)));
    value = replaced;
  }
  if (value && std::holds_alternative<ScalarType>(*value)) {
    symbol.kind = SymbolKind::Type;
    symbol.type = std::get<ScalarType>(*value);
  } else if (value) {
    symbol.kind = SymbolKind::Value;
    symbol.scalar = Scalar::of(*value);
  }
  return declareIn(scope, std::move(symbol), reporter) && value.has_value();
}

} // namespace

bool declareBindings(const ast::Kernel &kernel, const Bindings &bindings, Scope &scope,
                     Reporter &reporter) {
  bool good = true;
  for (const ast::Dim &dim : kernel.dims)
    if (dim.isStatic)
      good = declareStaticDim(dim, kernel, bindings, scope, reporter) && good;
  for (const ast::Param &param : kernel.params)
    good = declareParam(param, bindings, scope, reporter) && good;
  return good;
}

} // namespace flashqla::frontend
