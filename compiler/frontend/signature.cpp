/// The signature of a kernel and its clauses; the lowering's frame.
#include "compiler/frontend/bindings.h"
#include "compiler/frontend/lower.h"

using namespace mlir;

namespace flashqla::frontend {

KernelLowering::KernelLowering(const ast::Kernel &kernel, Scope moduleScope,
                               const Bindings &bindings, SourceRange checkCase,
                               MLIRContext &context, Diagnostics &diags)
    : kernel(kernel), bindings(bindings), checkCase(checkCase), context(context), builder(&context),
      reporter(diags), scope(std::move(moduleScope)) {}

void KernelLowering::declare(Symbol symbol) {
  failed = !declareIn(scope, std::move(symbol), reporter) || failed;
}

void KernelLowering::declareFailed(const ast::Name &name) {
  failed = true;
  declare(Symbol{name.text, SymbolKind::Failed, name.range});
}

const Symbol *KernelLowering::lookupName(const ast::Name &name) {
  const Symbol *symbol = lookup(name, scope, reporter);
  failed = !symbol || failed;
  return symbol;
}

std::optional<ScalarType> KernelLowering::elementType(const ast::ElemType &elem) {
  auto type = resolveElementType(elem, scope, reporter);
  failed = !type || failed;
  return type;
}

/// Extents of a tile: known, at least one, at most six of them. More elements than the hardware has room for by
/// far are refused here, so that no count of elements, bytes or registers overflows later on.
std::optional<SmallVector<int64_t>> KernelLowering::evaluateShape(const ast::Shape &shape,
                                                                  std::string_view what) {
  SmallVector<int64_t> extents;
  bool good = true;
  for (const ast::ExprPtr &expr : shape.extents) {
    auto extent = evaluateInteger(*expr, what);
    if (extent && *extent < 1)
      error(DiagnosticKind::ExtentRange, expr->range, fmt::format("{} is at least 1", what))
          .primary(fmt::format("{}", *extent));
    good = good && extent && *extent >= 1;
    extents.push_back(extent.value_or(1));
  }
  if (good && extents.size() > 6) {
    error(DiagnosticKind::ExtentRange, shape.range, "a tile has at most six dimensions")
        .primary(fmt::format("{} here", extents.size()));
    good = false;
  }
  std::vector<SourceRange> ranges;
  for (const ast::ExprPtr &expr : shape.extents)
    ranges.push_back(expr->range);
  return good && checkElements(extents, ranges, what) ? std::optional(extents) : std::nullopt;
}

bool KernelLowering::checkElements(ArrayRef<int64_t> extents, ArrayRef<SourceRange> ranges,
                                   std::string_view what) {
  constexpr int64_t limit = 1 << 24;
  int64_t room = limit;
  for (auto [extent, range] : llvm::zip_equal(extents, ranges)) {
    room /= std::max<int64_t>(extent, 1); // a static dim may be 0
    if (room > 0)
      continue;
    error(DiagnosticKind::ExtentRange, range, fmt::format("{} is too large", what))
        .primary(fmt::format("{}", extent))
        .note(fmt::format("a tile, a window and the domain of a map have at most {} elements", limit));
    return false;
  }
  return true;
}

DictionaryAttr
KernelLowering::dictionary(std::initializer_list<std::pair<std::string_view, Attribute>> entries) {
  SmallVector<NamedAttribute> attributes;
  for (const auto &[name, attribute] : entries)
    if (attribute)
      attributes.push_back(builder.getNamedAttr(StringRef(name), attribute));
  return builder.getDictionaryAttr(attributes);
}

void KernelLowering::declareDims() {
  for (const ast::Dim &dim : kernel.dims) {
    if (dim.isStatic)
      continue;
    Symbol symbol{dim.name.text, SymbolKind::Value, dim.name.range};
    auto op = tile::DimOp::create(builder, loc(dim.name.range, dim.name.text), builder.getI64Type(),
                                  dim.name.text);
    symbol.scalar = Scalar::of(op.getResult(), ScalarType::I64);
    symbol.scalar.bounds = {0, INT32_MAX};
    symbol.launchText = dim.name.text;
    declare(std::move(symbol));
  }
}

static tile::Access accessOf(ast::Direction direction) {
  switch (direction) {
  case ast::Direction::In:
    return tile::Access::In;
  case ast::Direction::Out:
    return tile::Access::Out;
  case ast::Direction::InOut:
    return tile::Access::InOut;
  }
  llvm_unreachable("covered");
}

/// "packed", "strided" or "strided16"; empty after an error.
std::string KernelLowering::layoutOf(const ast::Arg &arg) {
  if (!arg.strided)
    return "packed";
  if (!arg.alignment)
    return "strided";
  auto alignment = evaluateInteger(*arg.alignment, "an alignment");
  if (alignment && *alignment != 16)
    error(DiagnosticKind::ExtentRange, arg.alignment->range,
          "`strided` promises 16 bytes or nothing")
        .help("`strided(16)`");
  return alignment == 16 ? "strided16" : "";
}

void KernelLowering::declareTensor(const ast::Arg &arg) {
  auto type = elementType(arg.elem);
  std::string layout = layoutOf(arg);
  Symbol symbol{arg.name.text, SymbolKind::Tensor, arg.name.range};
  symbol.argument = &arg;
  SmallVector<Attribute> texts;
  SmallVector<Value> extents;
  bool good = type && !layout.empty();
  for (const ast::ExprPtr &expr : arg.shape.extents) {
    auto text = evaluateAtLaunch(*expr, scope, reporter);
    if (text && !isInteger(text->type))
      error(DiagnosticKind::TypeMismatch, expr->range, "an extent is an integer");
    auto extent = text && isInteger(text->type) ? evaluateIndex(*expr) : std::nullopt;
    if (extent && extent->bounds.highest < 0)
      error(DiagnosticKind::ExtentRange, expr->range, "an extent is not negative");
    good = good && extent && extent->bounds.highest >= 0;
    if (!good)
      continue;
    texts.push_back(builder.getStringAttr(launchText(*text)));
    extents.push_back(materialize(*extent, expr->range));
    symbol.extents.push_back(*extent);
  }
  if (good && extents.size() > 6) {
    error(DiagnosticKind::ExtentRange, arg.shape.range, "a tensor has at most six dimensions")
        .primary(fmt::format("{} here", extents.size()));
    good = false;
  }
  if (!good)
    return declareFailed(arg.name);
  symbol.type = *type;
  auto tensor =
      tile::TensorType::get(&context, static_cast<int64_t>(extents.size()), mlirElementType(*type));
  symbol.handle = tile::ArgumentOp::create(builder, loc(arg.name.range, arg.name.text), tensor,
                                           builder.getStringAttr(arg.name.text),
                                           accessOf(*arg.direction), extents);
  argumentAttrs.push_back(
      dictionary({{"name", builder.getStringAttr(arg.name.text)},
                  {"kind", builder.getStringAttr("tensor")},
                  {"type", TypeAttr::get(mlirElementType(*type))},
                  {"access", builder.getStringAttr(ast::spelling(*arg.direction))},
                  {"shape", builder.getArrayAttr(texts)},
                  {"layout", builder.getStringAttr(layout)}}));
  declare(std::move(symbol));
}

void KernelLowering::declareScalarArgument(const ast::Arg &arg) {
  auto type = elementType(arg.elem);
  if (!type)
    return declareFailed(arg.name);
  Symbol symbol{arg.name.text, SymbolKind::Value, arg.name.range};
  auto op = tile::ScalarOp::create(builder, loc(arg.name.range, arg.name.text), mlirType(*type),
                                   builder.getStringAttr(arg.name.text));
  symbol.scalar = Scalar::of(op.getResult(), *type);
  if (!isFloat(*type))
    symbol.launchText = arg.name.text;
  argumentAttrs.push_back(dictionary({{"name", builder.getStringAttr(arg.name.text)},
                                      {"kind", builder.getStringAttr("scalar")},
                                      {"type", TypeAttr::get(mlirElementType(*type))}}));
  declare(std::move(symbol));
}

void KernelLowering::declareArguments() {
  for (const ast::Arg &arg : kernel.args) {
    if (arg.condition) {
      auto exists = evaluateConstant(*arg.condition, scope, reporter, "whether an argument exists");
      const bool *decided = exists ? std::get_if<bool>(&*exists) : nullptr;
      if (exists && !decided)
        error(DiagnosticKind::TypeMismatch, arg.condition->range, "a condition is a truth value");
      if (!decided) {
        declareFailed(arg.name);
        continue;
      }
      if (!*decided) {
        Symbol absent{arg.name.text, SymbolKind::Absent, arg.name.range};
        absent.argument = &arg;
        declare(std::move(absent));
        continue;
      }
    }
    if (arg.isTensor())
      declareTensor(arg);
    else
      declareScalarArgument(arg);
  }
}

void KernelLowering::lowerGrid(const ast::Grid &grid) {
  for (const ast::Axis &axis : grid.axes) {
    auto extent = evaluateAtLaunch(*axis.extent, scope, reporter);
    if (extent && !isInteger(extent->type))
      error(DiagnosticKind::TypeMismatch, axis.extent->range, "an axis has an integer extent");
    if (!extent || !isInteger(extent->type)) {
      declareFailed(axis.name);
      continue;
    }
    const auto *known = extent->constant ? std::get_if<int64_t>(&*extent->constant) : nullptr;
    if (known && (*known < 0 || *known > INT32_MAX))
      error(DiagnosticKind::ExtentRange, axis.extent->range, "an axis has from 0 to 2^31 - 1 CTAs")
          .primary(fmt::format("{}", *known));
    auto name = builder.getStringAttr(axis.name.text);
    gridAttrs.push_back(
        dictionary({{"name", name}, {"extent", builder.getStringAttr(launchText(*extent))}}));
    Symbol symbol{axis.name.text, SymbolKind::Value, axis.name.range};
    auto op = tile::AxisOp::create(builder, loc(axis.name.range, axis.name.text),
                                   builder.getI64Type(), name);
    symbol.scalar = Scalar::of(op.getResult(), ScalarType::I64);
    symbol.scalar.bounds = {0, INT32_MAX - 1};
    if (known)
      symbol.scalar.bounds.highest = std::max<int64_t>(*known - 1, 0);
    declare(std::move(symbol));
  }
}

static void collectNames(const ast::Expr &expr, std::vector<std::string> &names) {
  if (expr.isBareName() && !llvm::is_contained(names, expr.name.text))
    names.push_back(expr.name.text);
  for (const ast::ExprPtr &operand : expr.operands)
    collectNames(*operand, names);
}

void KernelLowering::lowerWhere(const ast::Where &where, const ast::Trivia &trivia) {
  std::string_view message = ast::trailingText(trivia);
  for (const ast::ExprPtr &condition : where.conditions) {
    auto value = evaluateAtLaunch(*condition, scope, reporter);
    failed = !value || failed;
    if (!value)
      continue;
    if (value->type != ScalarType::Bool) {
      error(DiagnosticKind::TypeMismatch, condition->range, "a `where` clause is a truth value");
      continue;
    }
    const bool *decided = value->constant ? std::get_if<bool>(&*value->constant) : nullptr;
    if (decided && *decided)
      continue;
    if (!decided) {
      Attribute comment;
      if (!message.empty())
        comment = builder.getStringAttr(message);
      whereAttrs.push_back(dictionary({{"condition", builder.getStringAttr(value->text)},
                                       {"source", builder.getStringAttr(condition->range.text())},
                                       {"message", comment}}));
      continue;
    }
    auto report = error(DiagnosticKind::WhereFailed, condition->range,
                        fmt::format("`{}` does not hold{}{}", condition->range.text(),
                                    message.empty() ? "" : ": ", message));
    std::vector<std::string> names, values;
    collectNames(*condition, names);
    for (const std::string &name : names)
      if (const Symbol *symbol = scope.find(name); symbol && symbol->scalar.constant)
        values.push_back(fmt::format("{} = {}", name, constantText(*symbol->scalar.constant)));
    report.primary(fmt::format("{}", fmt::join(values, ", ")));
    if (checkCase)
      report.label(checkCase, "in this case");
  }
}

void KernelLowering::lowerResident(const ast::Resident &clause) {
  auto count = evaluateInteger(*clause.count, "the number of resident CTAs");
  if (count && (*count < 1 || *count > 32))
    error(DiagnosticKind::ExtentRange, clause.count->range, "an SM holds 1 to 32 CTAs")
        .primary(fmt::format("{}", *count));
  resident = count.value_or(1);
}

void KernelLowering::lowerClauses() {
  const ast::Clause *once[3] = {}; // grid, cluster, resident
  for (const ast::Clause &clause : kernel.clauses) {
    int slot = std::holds_alternative<ast::Grid>(clause.node)       ? 0
               : std::holds_alternative<ast::Cluster>(clause.node)  ? 1
               : std::holds_alternative<ast::Resident>(clause.node) ? 2
                                                                    : -1;
    if (slot >= 0 && once[slot]) {
      error(DiagnosticKind::DuplicateClause, clause.wordRange,
            fmt::format("`{}` stands once in a kernel", clause.wordRange.text()))
          .label(once[slot]->wordRange, "first here");
      continue;
    }
    if (slot >= 0)
      once[slot] = &clause;
    if (const auto *where = std::get_if<ast::Where>(&clause.node))
      lowerWhere(*where, clause.trivia);
    else if (const auto *grid = std::get_if<ast::Grid>(&clause.node))
      lowerGrid(*grid);
    else if (const auto *count = std::get_if<ast::Resident>(&clause.node))
      lowerResident(*count);
    else if (slot == 1)
      error(DiagnosticKind::NotSupported, clause.wordRange, "clusters are not supported yet");
  }
  if (!once[0])
    error(DiagnosticKind::MissingClause, kernel.header,
          fmt::format("`{}` does not say on which grid it runs", kernel.name.text))
        .help("`grid (m: ceildiv(M, BM))`");
}

OwningOpRef<ModuleOp> KernelLowering::run() {
  size_t errorsBefore = reporter.errorCount();
  if (!checkBindingNames(kernel, bindings, reporter))
    return {};
  scope.push();
  if (!declareBindings(kernel, bindings, scope, reporter))
    return {};
  module = ModuleOp::create(loc(kernel.header));
  (*module)->setAttr("tile.stage", builder.getStringAttr("surface"));
  builder.setInsertionPointToEnd(module->getBody());
  SmallVector<StringRef> dims;
  SmallVector<NamedAttribute> staticDims, params;
  for (const ast::Dim &dim : kernel.dims) {
    dims.push_back(dim.name.text);
    if (dim.isStatic)
      staticDims.push_back(builder.getNamedAttr(
          dim.name.text,
          builder.getI64IntegerAttr(*scope.find(dim.name.text)->scalar.asInteger())));
  }
  for (const ast::Param &param : kernel.params) {
    const Symbol *symbol = scope.find(param.name.text);
    std::string text = constantText(symbol->kind == SymbolKind::Type ? Constant(symbol->type)
                                                                     : *symbol->scalar.constant);
    params.push_back(builder.getNamedAttr(param.name.text, builder.getStringAttr(text)));
  }
  ArrayAttr none = builder.getArrayAttr({});
  kernelOp = tile::KernelOp::create(
      builder, loc(kernel.header, kernel.name.text), builder.getStringAttr(kernel.name.text),
      builder.getStrArrayAttr(dims), builder.getDictionaryAttr(staticDims),
      builder.getDictionaryAttr(params), none, none, none, builder.getI64IntegerAttr(1),
      builder.getDenseI64ArrayAttr({}));
  builder.setInsertionPointToEnd(&kernelOp.getBody().emplaceBlock());
  declareDims();
  declareArguments();
  lowerClauses();
  if (!failed && reporter.errorCount() == errorsBefore)
    lowerKernelBody(kernel.body);
  if (failed || reporter.errorCount() != errorsBefore)
    return {};
  kernelOp.setArgumentsAttr(builder.getArrayAttr(argumentAttrs));
  kernelOp.setGridAttr(builder.getArrayAttr(gridAttrs));
  kernelOp.setWhereAttr(builder.getArrayAttr(whereAttrs));
  kernelOp.setResidentAttr(builder.getI64IntegerAttr(resident));
  kernelOp.setWarpgroupRegs(warpgroupRegs);
  eraseDead();
  return std::move(module);
}

} // namespace flashqla::frontend
