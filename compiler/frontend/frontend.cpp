#include "compiler/frontend/frontend.h"

#include "compiler/frontend/bindings.h"
#include "compiler/frontend/lower.h"

using namespace mlir;

namespace flashqla::frontend {

void loadDialects(MLIRContext &context) {
  context.loadDialect<tile::TileDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect>();
}

const ast::Kernel *findKernel(const ast::Module &module, std::string_view name) {
  for (const ast::TopLevel &item : module.items)
    if (const auto *kernel = std::get_if<ast::Kernel>(&item.node);
        kernel && kernel->name.text == name)
      return kernel;
  return nullptr;
}

/// The kernel of that name; an unknown one is reported.
static const ast::Kernel *requireKernel(const ast::Module &module, std::string_view name,
                                        Reporter &reporter) {
  if (const ast::Kernel *kernel = findKernel(module, name))
    return kernel;
  std::vector<std::string> names;
  for (const ast::TopLevel &item : module.items)
    if (const auto *kernel = std::get_if<ast::Kernel>(&item.node))
      names.push_back(kernel->name.text);
  auto report =
      reporter.error(DiagnosticKind::UnknownName, {}, fmt::format("there is no kernel `{}`", name));
  if (std::string close = closestName(name, names); !close.empty())
    report.help(fmt::format("did you mean `{}`?", close));
  return nullptr;
}

OwningOpRef<ModuleOp> instantiate(const ast::Module &module, std::string_view name,
                                  const Bindings &bindings, MLIRContext &context,
                                  Diagnostics &diags, SourceRange checkCase) {
  Reporter reporter(diags);
  size_t errorsBefore = diags.errorCount();
  const ast::Kernel *kernel = requireKernel(module, name, reporter);
  if (!kernel)
    return {};
  Scope scope = moduleScope(module, *kernel, reporter);
  if (diags.errorCount() != errorsBefore)
    return {};
  return KernelLowering(*kernel, std::move(scope), bindings, checkCase, context, diags).run();
}

namespace {

/// Reads the `check` clauses of one kernel.
class CheckReader {
public:
  CheckReader(const ast::Kernel &kernel, const Scope &moduleScope, Reporter &reporter)
      : kernel(kernel), moduleScope(moduleScope), reporter(reporter) {}

  std::optional<CheckCase> read(const ast::CheckCase &written) {
    result = {};
    result.range = written.range;
    good = true;
    for (const ast::CheckBinding &binding : written.bindings)
      bind(binding);
    for (const ast::Dim &dim : kernel.dims)
      if (!result.dims.contains(dim.name.text))
        problem(written.range, fmt::format("the dim `{}` has no value", dim.name.text))
            .label(dim.range, "declared here");
    if (good)
      checkArguments(written);
    return good ? std::optional(result) : std::nullopt;
  }

private:
  const ast::Kernel &kernel;
  const Scope &moduleScope;
  Reporter &reporter;
  CheckCase result;
  std::map<std::string, SourceRange> tableRanges;
  bool good = true;

  DiagnosticBuilder problem(SourceRange range, std::string message) {
    good = false;
    return reporter.error(DiagnosticKind::CheckBinding, range, std::move(message));
  }

  template <typename T> static const T *named(const std::vector<T> &list, std::string_view name) {
    for (const T &item : list)
      if (item.name.text == name)
        return &item;
    return nullptr;
  }

  void bind(const ast::CheckBinding &binding) {
    const std::string &name = binding.name.text;
    if (result.bindings.contains(name) || result.dims.contains(name) ||
        result.scalars.contains(name) || result.tables.contains(name)) {
      problem(binding.name.range, fmt::format("`{}` is bound twice", name));
      return;
    }
    if (binding.isList)
      return bindTable(binding);
    auto value = evaluateConstant(*binding.value, moduleScope, reporter, "a value of a `check`");
    good = good && value;
    if (!value)
      return;
    const ast::Arg *arg = named(kernel.args, name);
    if (const ast::Dim *dim = named(kernel.dims, name)) {
      const int64_t *extent = std::get_if<int64_t>(&*value);
      if (!extent || *extent < 0 || *extent > INT32_MAX) {
        problem(binding.value->range, fmt::format("`{}` is a dim: an extent", name));
        result.dims[name] = 0; // it is bound, if badly
        return;
      }
      result.dims[name] = *extent;
      if (dim->isStatic)
        result.bindings[name] = *value;
    } else if (named(kernel.params, name)) {
      result.bindings[name] = *value;
    } else if (arg && !arg->isTensor()) {
      result.scalars[name] = *value;
    } else {
      unknown(binding, arg != nullptr);
    }
  }

  void unknown(const ast::CheckBinding &binding, bool tensor) {
    const std::string &name = binding.name.text;
    if (tensor) {
      problem(binding.range, fmt::format("`{}` is a tensor: its contents are a list", name));
      return;
    }
    std::vector<std::string> names;
    for (const ast::Dim &dim : kernel.dims)
      names.push_back(dim.name.text);
    for (const ast::Param &param : kernel.params)
      names.push_back(param.name.text);
    for (const ast::Arg &arg : kernel.args)
      names.push_back(arg.name.text);
    auto report = problem(binding.name.range, fmt::format("`{}` has no dim, parameter or argument "
                                                          "`{}`",
                                                          kernel.name.text, name));
    if (std::string close = closestName(name, names); !close.empty())
      report.help(fmt::format("did you mean `{}`?", close));
  }

  void bindTable(const ast::CheckBinding &binding) {
    const ast::Arg *arg = named(kernel.args, binding.name.text);
    if (!arg || !arg->isTensor()) {
      if (arg || named(kernel.dims, binding.name.text))
        problem(binding.range, fmt::format("`{}` is no tensor", binding.name.text));
      else
        unknown(binding, false);
      return;
    }
    std::vector<int64_t> &table = result.tables[binding.name.text];
    tableRanges[binding.name.text] = binding.range;
    for (const ast::ExprPtr &expr : binding.list) {
      auto value = evaluateConstant(*expr, moduleScope, reporter, "an element of a table");
      const int64_t *integer = value ? std::get_if<int64_t>(&*value) : nullptr;
      if (value && !integer)
        problem(expr->range, "a table holds integers");
      good = good && integer;
      table.push_back(integer ? *integer : 0);
    }
  }

  /// A value that its type cannot hold.
  void checkFits(const ast::Arg &arg, ScalarType type, const Constant &value, SourceRange range) {
    const int64_t *integer = std::get_if<int64_t>(&value);
    if (type == ScalarType::I32 && integer && (*integer < INT32_MIN || *integer > INT32_MAX))
      problem(range, fmt::format("{} does not fit in an i32", *integer)).label(arg.range, "declared here");
  }

  /// Arguments that exist in this case: integer scalars have values, integer tables the right
  /// number of elements.
  void checkArguments(const ast::CheckCase &written) {
    Scope scope = moduleScope;
    scope.push();
    if (!declareBindings(kernel, result.bindings, scope, reporter)) {
      good = false;
      return;
    }
    auto declare = [&](const ast::Name &name, const Constant &value) {
      Symbol symbol{name.text, SymbolKind::Value, name.range};
      symbol.scalar = Scalar::of(value);
      scope.declare(std::move(symbol));
    };
    for (const ast::Dim &dim : kernel.dims)
      if (!dim.isStatic)
        declare(dim.name, result.dims[dim.name.text]);
    for (const ast::Arg &arg : kernel.args)
      checkArgument(arg, written, scope);
  }

  void checkArgument(const ast::Arg &arg, const ast::CheckCase &written, Scope &scope) {
    const std::string &name = arg.name.text;
    auto exists = arg.condition ? evaluateConstant(*arg.condition, scope, reporter,
                                                   "whether an argument exists")
                                : std::optional<Constant>(true);
    auto type = resolveElementType(arg.elem, scope, reporter);
    good = good && exists && type;
    if (!good)
      return;
    bool bound = result.tables.contains(name) || result.scalars.contains(name);
    if (exists == Constant(false)) {
      if (bound)
        problem(tableRanges.contains(name) ? tableRanges[name] : written.range,
                fmt::format("`{}` does not exist in this case", name))
            .label(arg.condition->range, "this is false");
      return;
    }
    if (auto scalar = result.scalars.find(name); scalar != result.scalars.end())
      checkFits(arg, *type, scalar->second, written.range);
    if (auto table = result.tables.find(name); table != result.tables.end())
      for (int64_t entry : table->second)
        checkFits(arg, *type, entry, tableRanges[name]);
    if (!arg.isTensor()) {
      if (!bound && !isFloat(*type))
        problem(written.range, fmt::format("the argument `{}` has no value", name))
            .label(arg.range, "declared here");
      return;
    }
    if (bound && !isInteger(*type)) {
      problem(tableRanges[name], "only the contents of integer tensors are listed")
          .label(arg.range, "declared here");
      return;
    }
    if (isInteger(*type) && arg.direction != ast::Direction::Out)
      checkTable(arg, written, scope);
  }

  void checkTable(const ast::Arg &arg, const ast::CheckCase &written, Scope &scope) {
    const std::string &name = arg.name.text;
    int64_t elements = 1;
    for (const ast::ExprPtr &expr : arg.shape.extents) {
      auto extent = evaluateConstant(*expr, scope, reporter, "an extent");
      const int64_t *integer = extent ? std::get_if<int64_t>(&*extent) : nullptr;
      good = good && integer;
      if (!integer || __builtin_mul_overflow(elements, *integer, &elements))
        return;
    }
    auto table = result.tables.find(name);
    if (table == result.tables.end())
      problem(written.range, fmt::format("the integer tensor `{}` has no contents", name))
          .label(arg.range, "declared here");
    else if (static_cast<int64_t>(table->second.size()) != elements)
      problem(tableRanges[name], fmt::format("`{}` has {} elements in this case", name, elements))
          .primary(fmt::format("{} here", table->second.size()))
          .label(arg.shape.range, "its shape");
  }
};

} // namespace

/// Whether a kernel without `check` clauses has a single case, in which there is nothing to choose.
static bool hasOneShape(const ast::Kernel &kernel) {
  auto isChosen = [](const ast::Arg &arg) {
    bool real = arg.elem.builtin && isFloat(*arg.elem.builtin);
    return arg.condition || (!real && (!arg.isTensor() || arg.direction != ast::Direction::Out));
  };
  return kernel.dims.empty() && std::ranges::none_of(kernel.args, isChosen) &&
         std::ranges::none_of(kernel.clauses, [](const ast::Clause &clause) {
           return std::holds_alternative<ast::Check>(clause.node);
         });
}

std::vector<CheckCase> checkCases(const ast::Module &module, std::string_view name,
                                  Diagnostics &diags) {
  Reporter reporter(diags);
  std::vector<CheckCase> cases;
  const ast::Kernel *kernel = requireKernel(module, name, reporter);
  if (!kernel)
    return cases;
  size_t errorsBefore = diags.errorCount();
  Scope scope = moduleScope(module, *kernel, reporter);
  if (diags.errorCount() != errorsBefore)
    return cases;
  CheckReader reader(*kernel, scope, reporter);
  for (const ast::Clause &clause : kernel->clauses)
    if (const auto *check = std::get_if<ast::Check>(&clause.node))
      for (const ast::CheckCase &written : check->cases)
        if (auto read = reader.read(written))
          cases.push_back(std::move(*read));
  if (hasOneShape(*kernel))
    cases.push_back({kernel->name.range, {}, {}, {}, {}});
  return cases;
}

static void checkDuplicates(const ast::Module &module, Reporter &reporter) {
  std::map<std::string, SourceRange> names;
  for (const ast::TopLevel &item : module.items) {
    const ast::Name &name =
        std::visit([](const auto &node) -> const ast::Name & { return node.name; }, item.node);
    auto [first, added] = names.try_emplace(name.text, name.range);
    if (!added)
      reporter
          .error(DiagnosticKind::DuplicateName, name.range,
                 fmt::format("`{}` is declared twice", name.text))
          .label(first->second, "first here");
  }
}

bool checkModule(const ast::Module &module, MLIRContext &context, Diagnostics &diags) {
  size_t errorsBefore = diags.errorCount();
  Reporter reporter(diags);
  checkDuplicates(module, reporter);
  if (diags.errorCount() != errorsBefore)
    return false;
  for (const ast::TopLevel &item : module.items) {
    const auto *kernel = std::get_if<ast::Kernel>(&item.node);
    if (!kernel)
      continue;
    size_t before = diags.errorCount();
    std::vector<CheckCase> instantiations;
    for (CheckCase &read : checkCases(module, kernel->name.text, diags))
      if (std::ranges::find(instantiations, read.bindings, &CheckCase::bindings) ==
          instantiations.end())
        instantiations.push_back(std::move(read));
    bool hasDefaults = std::ranges::none_of(kernel->dims, &ast::Dim::isStatic);
    if (instantiations.empty() && diags.errorCount() == before && hasDefaults)
      instantiations.emplace_back();
    for (const CheckCase &read : instantiations)
      instantiate(module, kernel->name.text, read.bindings, context, diags, read.range);
  }
  return diags.errorCount() == errorsBefore;
}

} // namespace flashqla::frontend
