/// Statements of a role: declarations, assignments to scalars, control flow.
///
/// A `var` is an SSA value at each point of the program. A loop or a conditional that assigns to
/// one carries it: as a loop argument, as a result of the `scf.if`.
#include "compiler/frontend/lower.h"

using namespace mlir;

namespace flashqla::frontend {

using ast::Expr;

template <typename... Cases> struct Overloaded : Cases... {
  using Cases::operator()...;
};

void KernelLowering::lowerBlock(const ast::Block &block) {
  scope.push();
  for (const ast::Stmt &stmt : block.statements)
    lowerStatement(stmt);
  scope.pop();
}

void KernelLowering::lowerStatement(const ast::Stmt &stmt) {
  std::visit(
      Overloaded{
          [&](const ast::Let &let) { lowerLet(let); },
          [&](const ast::Var &var) { lowerVar(var); },
          [&](const ast::Frag &frag) { lowerFrag(frag); },
          [&](const ast::For &loop) { lowerFor(loop); },
          [&](const ast::If &branch) { lowerIf(branch, 0); },
          [&](const ast::Wait &wait) { lowerBarrierUse(wait.barrier, stmt.range, true); },
          [&](const ast::Arrive &arrive) { lowerBarrierUse(arrive.barrier, stmt.range, false); },
          [&](const ast::Await &await) { lowerAwait(await, stmt.range); },
          [&](const ast::Copy &copy) { lowerCopy(copy, stmt.range); },
          [&](const ast::Wgmma &wgmma) { lowerWgmma(wgmma, stmt.range); },
          [&](const ast::Map &statement) { lowerMap(statement, stmt.range); },
          [&](const ast::Assign &assign) { lowerAssign(assign, stmt.range); },
          [&](const ast::Sync &) { tile::SyncOp::create(builder, loc(stmt.range)); },
          [&](const ast::Assert &assertion) { lowerAssert(assertion); },
          // The parser keeps these out of roles.
          [](const ast::Shared &) {},
          [](const ast::Barrier &) {},
          [](const ast::Role &) {},
      },
      stmt.node);
}

void KernelLowering::lowerLet(const ast::Let &let) {
  for (const ast::Binding &binding : let.bindings) {
    auto value = evaluate(*binding.value);
    if (!value) {
      declareFailed(binding.name);
      continue;
    }
    if (!value->constant) {
      value->whole = materialize(*value, binding.value->range);
      nameValue(*value, binding.name.text);
    }
    Symbol symbol{binding.name.text, SymbolKind::Value, binding.name.range};
    symbol.scalar = *value;
    declare(std::move(symbol));
  }
}

void KernelLowering::lowerVar(const ast::Var &var) {
  for (const ast::Binding &binding : var.bindings) {
    auto value = evaluate(*binding.value);
    if (!value) {
      declareFailed(binding.name);
      continue;
    }
    Symbol symbol{binding.name.text, SymbolKind::Var, binding.name.range};
    symbol.scalar = *value;
    nameValue(*value, binding.name.text);
    declare(std::move(symbol));
  }
}

void KernelLowering::assignVar(Symbol &symbol, const ast::Assign &assign) {
  if (assign.scratch)
    error(DiagnosticKind::WrongKind, assign.scratch->range,
          "only `unit_lower_inverse` takes scratch");
  auto value = evaluate(*assign.value);
  if (!value)
    return;
  ScalarType type = symbol.scalar.type;
  auto combined =
      combine(assign.op, assign.opRange, symbol.scalar, *value, *assign.target, *assign.value);
  if (!combined)
    return;
  auto result = assignable(*combined, type, *assign.value, assign.target->range);
  if (!result)
    return;
  if (!result->constant) {
    result->whole = materialize(*result, assign.value->range);
    nameValue(*result, symbol.name);
  }
  symbol.scalar = *result;
}

void KernelLowering::lowerFrag(const ast::Frag &frag) {
  for (const ast::FragDecl &decl : frag.decls) {
    auto type = elementType(decl.elem);
    auto shape = evaluateShape(decl.shape, "the extent of a fragment");
    if (!type || !shape) {
      declareFailed(decl.name);
      continue;
    }
    if (shape->size() > 2) {
      error(DiagnosticKind::ExtentRange, decl.shape.range, "a fragment has one or two dimensions")
          .primary(fmt::format("{} here", shape->size()));
      declareFailed(decl.name);
      continue;
    }
    auto op = tile::FragOp::create(builder, loc(decl.name.range, decl.name.text),
                                   tile::FragType::get(&context, *shape, mlirElementType(*type)),
                                   builder.getStringAttr(decl.name.text), nullptr);
    Symbol symbol{decl.name.text, SymbolKind::Frag, decl.name.range};
    symbol.handle = op.getResult();
    symbol.type = *type;
    symbol.shape = *shape;
    if (decl.init) {
      Expr name;
      name.kind = ast::ExprKind::Reference;
      name.range = decl.name.range;
      name.name = decl.name;
      TileRef target{&name, symbol, symbol.handle, *shape};
      fillTile(target, *decl.init, ast::AssignOp::Set, {}, decl.range);
    }
    declare(std::move(symbol));
  }
}

namespace {

void collectAssigned(const ast::Block &block, std::vector<std::string> &names) {
  for (const ast::Stmt &stmt : block.statements) {
    if (const auto *assign = std::get_if<ast::Assign>(&stmt.node)) {
      if (assign->target->isBareName() && !llvm::is_contained(names, assign->target->name.text))
        names.push_back(assign->target->name.text);
    } else if (const auto *loop = std::get_if<ast::For>(&stmt.node)) {
      collectAssigned(loop->body, names);
    } else if (const auto *branch = std::get_if<ast::If>(&stmt.node)) {
      for (const ast::IfArm &arm : branch->arms)
        collectAssigned(arm.body, names);
    }
  }
}

} // namespace

/// Names of the `var`s visible here that a block assigns to.
std::vector<std::string> KernelLowering::varsAssignedIn(const ast::Block &block) {
  std::vector<std::string> names;
  collectAssigned(block, names);
  std::erase_if(names, [&](const std::string &name) {
    const Symbol *symbol = scope.find(name);
    return !symbol || symbol->kind != SymbolKind::Var;
  });
  return names;
}

void KernelLowering::lowerUnrolled(const ast::For &loop, int64_t lower, int64_t upper,
                                   int64_t step) {
  // Unsigned, as the distance of the bounds and the value behind the last may not fit in 63 bits.
  constexpr uint64_t limit = 1024;
  const uint64_t first = static_cast<uint64_t>(lower), stride = static_cast<uint64_t>(step);
  const uint64_t steps = upper > lower ? (static_cast<uint64_t>(upper) - first - 1) / stride + 1 : 0;
  if (steps > limit) {
    error(DiagnosticKind::LoopBounds, loop.header, fmt::format("{} steps are too many to write out", steps));
    return;
  }
  constexpr uint64_t limitOfKernel = 1 << 16; // loops in loops
  const bool reported = unrolledSteps > limitOfKernel;
  unrolledSteps += steps;
  if (unrolledSteps > limitOfKernel) {
    if (!reported)
      error(DiagnosticKind::LoopBounds, loop.header,
            fmt::format("with this loop more than {} steps of the kernel are written out", limitOfKernel));
    return;
  }
  for (uint64_t i = 0; i < steps; ++i) {
    scope.push();
    Symbol symbol{loop.index.text, SymbolKind::Value, loop.index.range};
    symbol.scalar = Scalar::of(static_cast<int64_t>(first + i * stride));
    declare(std::move(symbol));
    lowerBlock(loop.body);
    scope.pop();
  }
}

void KernelLowering::lowerFor(const ast::For &loop) {
  if (loop.unroll) {
    auto lower = evaluateInteger(*loop.lower, "a bound of an `unroll` loop");
    auto upper = evaluateInteger(*loop.upper, "a bound of an `unroll` loop");
    auto step = loop.step ? evaluateInteger(*loop.step, "the step of an `unroll` loop") : 1;
    if (step && *step < 1)
      error(DiagnosticKind::LoopBounds, loop.step->range, "a loop's step is positive")
          .primary(fmt::format("{}", *step));
    else if (lower && upper && step)
      lowerUnrolled(loop, *lower, *upper, *step);
    return;
  }
  auto lower = evaluateIndex(*loop.lower), upper = evaluateIndex(*loop.upper);
  auto step = loop.step ? evaluateIndex(*loop.step) : std::optional(Scalar::of(int64_t(1)));
  if (!lower || !upper || !step)
    return;
  if (step->bounds.highest < 1) {
    error(DiagnosticKind::LoopBounds, loop.step->range, "a loop's step is positive")
        .primary(fmt::format("at most {}", step->bounds.highest));
    return;
  }
  std::vector<std::string> vars = varsAssignedIn(loop.body);
  SmallVector<Value> initial;
  for (const std::string &name : vars) {
    Symbol *symbol = scope.find(name);
    initial.push_back(materialize(symbol->scalar, symbol->declared));
  }
  auto op = scf::ForOp::create(builder, loc(loop.header), materialize(*lower, loop.lower->range),
                               materialize(*upper, loop.upper->range),
                               materialize(*step, loop.header), initial);
  op.getInductionVar().setLoc(loc(loop.index.range, loop.index.text));
  scope.push();
  Symbol index{loop.index.text, SymbolKind::Value, loop.index.range};
  index.scalar = Scalar::of(op.getInductionVar(), ScalarType::I64);
  index.scalar.bounds = {lower->bounds.lowest,
                         boundsOf(ast::BinaryOp::Sub, upper->bounds, Interval::exactly(1)).highest};
  index.scalar.loopBound = lower->isConstant();
  index.scalar.divisor = std::gcd(lower->divisor, step->divisor);
  declare(std::move(index));
  auto setVar = [&](const std::string &name, Value value) {
    Symbol *symbol = scope.find(name);
    symbol->scalar = Scalar::of(value, symbol->scalar.type);
  };
  for (auto [name, argument] : llvm::zip_equal(vars, op.getRegionIterArgs())) {
    argument.setLoc(loc(scope.find(name)->declared, name));
    setVar(name, argument);
  }
  lowerArmBlock(loop.body, vars, op.getBody(), loc(loop.header));
  for (auto [name, result] : llvm::zip_equal(vars, op.getResults()))
    setVar(name, result);
  scope.pop();
}

/// Lowers a block into the end of `into` and yields the values of the `var`s.
void KernelLowering::lowerArmBlock(const ast::Block &block, const std::vector<std::string> &vars,
                                   Block *into, Location location) {
  OpBuilder::InsertionGuard guard(builder);
  if (vars.empty()) // the yield is there already
    builder.setInsertionPoint(into->getTerminator());
  else
    builder.setInsertionPointToEnd(into);
  lowerBlock(block);
  if (vars.empty())
    return;
  SmallVector<Value> values;
  for (const std::string &name : vars) {
    Symbol *symbol = scope.find(name);
    values.push_back(materialize(symbol->scalar, symbol->declared));
  }
  scf::YieldOp::create(builder, location, values);
}

bool KernelLowering::lowerCondition(const Expr &expr, Scalar &condition) {
  auto value = evaluate(expr);
  if (!value)
    return false;
  if (value->type != ScalarType::Bool) {
    error(DiagnosticKind::TypeMismatch, expr.range,
          fmt::format("a condition is a truth value, not {}", ast::scalarTypeName(value->type)));
    return false;
  }
  condition = *value;
  return true;
}

/// Arms from number `number` on: `else if` is an `if` in the `else`.
void KernelLowering::lowerIf(const ast::If &branch, size_t number) {
  if (number == branch.arms.size())
    return;
  const ast::IfArm &arm = branch.arms[number];
  if (!arm.condition)
    return lowerBlock(arm.body);
  Scalar condition;
  if (!lowerCondition(*arm.condition, condition))
    return;
  if (auto decided = condition.asBool())
    return *decided ? lowerBlock(arm.body) : lowerIf(branch, number + 1);
  std::vector<std::string> vars;
  for (size_t i = number; i < branch.arms.size(); ++i)
    for (const std::string &name : varsAssignedIn(branch.arms[i].body))
      if (!llvm::is_contained(vars, name))
        vars.push_back(name);
  SmallVector<Type> types;
  std::vector<Scalar> before;
  for (const std::string &name : vars) {
    before.push_back(scope.find(name)->scalar);
    types.push_back(mlirType(before.back().type));
  }
  bool hasElse = number + 1 < branch.arms.size() || !vars.empty();
  Location location = loc(arm.header);
  auto op = scf::IfOp::create(builder, location, types, condition.base, hasElse);
  lowerArmBlock(arm.body, vars, op.thenBlock(), location);
  for (auto [name, scalar] : llvm::zip_equal(vars, before))
    scope.find(name)->scalar = scalar;
  if (hasElse) {
    OpBuilder::InsertionGuard guard(builder);
    Block *otherwise = op.elseBlock();
    if (vars.empty())
      builder.setInsertionPoint(otherwise->getTerminator());
    else
      builder.setInsertionPointToEnd(otherwise);
    lowerIf(branch, number + 1);
    SmallVector<Value> values;
    for (const std::string &name : vars)
      values.push_back(materialize(scope.find(name)->scalar, arm.header));
    if (!vars.empty())
      scf::YieldOp::create(builder, location, values);
  }
  for (auto [name, result] : llvm::zip_equal(vars, op.getResults())) {
    Symbol *symbol = scope.find(name);
    symbol->scalar = Scalar::of(result, symbol->scalar.type);
  }
}

void KernelLowering::lowerAssert(const ast::Assert &assertion) {
  Scalar condition;
  const Expr &expr = *assertion.condition;
  if (!lowerCondition(expr, condition))
    return;
  if (condition.asBool() == true)
    return;
  tile::AssertOp::create(builder, loc(expr.range), materialize(condition, expr.range),
                         builder.getStringAttr(expr.range.text()));
}

} // namespace flashqla::frontend
