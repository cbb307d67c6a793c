/// The body of a kernel: shared tiles, barriers, roles.
///
/// Bodies of roles are lowered after everything else in the kernel, each in the scope that it stood
/// in, because a barrier names roles that the text declares later.
#include "compiler/frontend/lower.h"

using namespace mlir;

namespace flashqla::frontend {

void KernelLowering::lowerKernelBody(const ast::Block &block) {
  for (const ast::Stmt &stmt : block.statements)
    lowerKernelItem(stmt);
  if (warpgroupRegs.size() > 8)
    error(DiagnosticKind::RoleGeometry, kernel.header, "a CTA has at most 8 warpgroups")
        .primary(fmt::format("{} here", warpgroupRegs.size()));
  if (instances.empty() && !failed)
    error(DiagnosticKind::RoleGeometry, kernel.header,
          fmt::format("`{}` has no role that runs", kernel.name.text));
  checkBudgets();
  resolveBarriers();
  for (RoleInstance &instance : instances)
    lowerRole(instance);
  if (!failed)
    checkBarrierUses();
}

void KernelLowering::lowerKernelItem(const ast::Stmt &stmt) {
  if (const auto *let = std::get_if<ast::Let>(&stmt.node))
    lowerLet(*let);
  else if (const auto *shared = std::get_if<ast::Shared>(&stmt.node))
    lowerShared(*shared);
  else if (const auto *barrier = std::get_if<ast::Barrier>(&stmt.node))
    declareBarrier(*barrier);
  else if (const auto *warpgroup = std::get_if<ast::Role>(&stmt.node))
    declareWarpgroup(*warpgroup);
  else if (const auto *branch = std::get_if<ast::If>(&stmt.node))
    lowerKernelIf(*branch);
}

/// An `if` around declarations is decided now.
void KernelLowering::lowerKernelIf(const ast::If &branch) {
  for (const ast::IfArm &arm : branch.arms) {
    if (arm.condition) {
      Scalar condition;
      if (!lowerCondition(*arm.condition, condition))
        return;
      if (!condition.isConstant()) {
        error(DiagnosticKind::NotConstant, arm.condition->range,
              "an `if` around declarations is decided when compiling")
            .primary("not known when compiling");
        return;
      }
      if (condition.asBool() == false)
        continue;
    }
    scope.push();
    for (const ast::Stmt &stmt : arm.body.statements)
      lowerKernelItem(stmt);
    scope.pop();
    return;
  }
}

void KernelLowering::lowerShared(const ast::Shared &shared) {
  for (const ast::SharedDecl &decl : shared.decls) {
    auto type = elementType(decl.elem);
    auto shape = evaluateShape(decl.shape, "the extent of a shared tile");
    int64_t slots = 1;
    bool good = type && shape;
    if (decl.ring) {
      auto ring = evaluateShape(*decl.ring, "the number of tiles of a ring");
      if (ring && ring->size() != 1)
        error(DiagnosticKind::IndexCount, decl.ring->range, "a ring has one extent");
      good = good && ring && ring->size() == 1;
      slots = ring ? ring->front() : 1;
    }
    if (!good) {
      declareFailed(decl.name);
      continue;
    }
    Symbol symbol{decl.name.text, SymbolKind::Shared, decl.name.range};
    symbol.type = *type;
    symbol.shape = *shape;
    symbol.ring = decl.ring.has_value();
    auto sharedType = tile::SharedType::get(&context, slots, *shape, mlirElementType(*type));
    symbol.handle =
        tile::SharedOp::create(builder, loc(decl.name.range, decl.name.text), sharedType,
                               builder.getStringAttr(decl.name.text), nullptr, nullptr);
    declare(std::move(symbol));
  }
}

void KernelLowering::declareBarrier(const ast::Barrier &barrier) {
  auto slots = barrier.slots ? evaluateInteger(*barrier.slots, "the number of slots of a barrier")
                             : std::optional<int64_t>(1);
  constexpr int64_t most = 1 << 16; // what shared memory has room for is less
  if (slots && (*slots < 1 || *slots > most)) {
    error(DiagnosticKind::ExtentRange, barrier.slots->range,
          fmt::format("a barrier has from 1 to {} slots", most))
        .primary(fmt::format("{}", *slots));
    slots.reset();
  }
  if (!slots)
    return declareFailed(barrier.name);
  auto op = tile::BarrierOp::create(builder, loc(barrier.name.range, barrier.name.text),
                                    tile::BarrierType::get(&context, *slots),
                                    builder.getStringAttr(barrier.name.text),
                                    builder.getArrayAttr({}), builder.getArrayAttr({}), nullptr);
  Symbol symbol{barrier.name.text, SymbolKind::Barrier, barrier.name.range};
  symbol.barrier = static_cast<int>(barriers.size());
  symbol.handle = op.getResult();
  declare(std::move(symbol));
  BarrierInfo info;
  info.barrier = &barrier;
  info.op = op;
  info.slots = *slots;
  barriers.push_back(std::move(info));
  barrierScopes.push_back(scope);
}

std::optional<int64_t> KernelLowering::budgetOf(const ast::Role &role) {
  auto regs = evaluateInteger(*role.regs, "a register budget");
  if (!regs || (*regs % 8 == 0 && *regs >= 24 && *regs <= 256))
    return regs;
  error(DiagnosticKind::RegisterBudget, role.regs->range,
        "a register budget is a multiple of 8 from 24 to 256")
      .primary(fmt::format("{}", *regs));
  return std::nullopt;
}

/// Budgets share out the registers with which the warpgroups of the resident CTAs enter the kernel.
void KernelLowering::checkBudgets() {
  int64_t warpgroups = static_cast<int64_t>(warpgroupRegs.size()), sum = 0;
  if (warpgroups == 0)
    return;
  int64_t cap = std::min<int64_t>(512 / (warpgroups * resident) / 8 * 8, 248);
  auto largest = llvm::max_element(
      budgets, [](const Budget &a, const Budget &b) { return a.registers < b.registers; });
  bool equal = llvm::all_equal(warpgroupRegs);
  for (int64_t registers : warpgroupRegs)
    sum += registers;
  if (equal ? largest->registers <= cap : sum <= warpgroups * cap)
    return;
  auto text = [](const Budget &budget) {
    return budget.warpgroups == 1 ? fmt::format("{}", budget.registers)
                                  : fmt::format("{} × {}", budget.warpgroups, budget.registers);
  };
  auto report = error(DiagnosticKind::RegisterBudget, largest->range,
                      fmt::format("register budget {} exceeds {}", equal ? largest->registers : sum,
                                  equal ? cap : warpgroups * cap));
  report.primary(text(*largest));
  for (const Budget &budget : budgets)
    if (&budget != &*largest)
      report.label(budget.range, text(budget));
  std::string where = resident == 1 ? "" : fmt::format(" in each of {} CTAs", resident);
  report.note(fmt::format("{} warpgroup{}{} enter{} with {} registers{}: {}", warpgroups,
                          warpgroups == 1 ? "" : "s", where, warpgroups == 1 ? "s" : "", cap,
                          warpgroups == 1 ? "" : " each",
                          equal ? "equal budgets are not re-allocated"
                                : fmt::format("{} to share out", warpgroups * cap)));
}

std::optional<KernelLowering::Instances> KernelLowering::instancesOf(const ast::Role &role) {
  Instances result;
  if (role.each) {
    auto lower = evaluateInteger(*role.lower, "a bound of `each`");
    auto upper = evaluateInteger(*role.upper, "a bound of `each`");
    if (!lower || !upper)
      return std::nullopt;
    result = {true, *lower, *upper, 1};
    if (*upper > *lower && *upper - *lower <= 32)
      return result;
    error(DiagnosticKind::ExtentRange, role.lower->range.to(role.upper->range),
          "`each` makes 1 to 32 roles")
        .primary(fmt::format("{}", *upper - *lower));
    return std::nullopt;
  }
  if (!role.count)
    return result;
  auto count = evaluateInteger(*role.count, "the number of warpgroups of a role");
  if (!count)
    return std::nullopt;
  result.together = *count;
  bool isWarp = role.kind == ast::RoleKind::Warp;
  if (*count >= 1 && *count <= (isWarp ? 1 : 8))
    return result;
  auto report = error(DiagnosticKind::RoleGeometry, role.count->range,
                      isWarp ? "a warp role is one warp" : "a role has 1 to 8 warpgroups");
  report.primary(fmt::format("{}", *count));
  if (isWarp)
    report.help(
        fmt::format("`{} each w in 0 .. {}` declares {} roles", role.name.text, *count, *count));
  return std::nullopt;
}

void KernelLowering::addInstances(const ast::Role &role, Instances range, int64_t firstWarp,
                                  int64_t warps) {
  for (int64_t number = range.lower; number < range.upper; ++number) {
    RoleInstance instance;
    instance.role = &role;
    instance.name = role.name.text;
    instance.firstWarp = firstWarp;
    instance.lastWarp = firstWarp + warps;
    firstWarp += warps;
    Scope outer = scope;
    scope.push();
    if (range.each) {
      instance.number = number;
      instance.name += fmt::format("[{}]", number);
      Symbol index{role.each->text, SymbolKind::Value, role.each->range};
      index.scalar = Scalar::of(number);
      declare(std::move(index));
    }
    instance.scope = std::exchange(scope, std::move(outer));
    instances.push_back(std::move(instance));
  }
}

void KernelLowering::declareWarpgroup(const ast::Role &role) {
  auto regs = budgetOf(role);
  auto range = instancesOf(role);
  declare(Symbol{role.name.text, SymbolKind::Role, role.name.range});
  if (!regs || !range) {
    brokenRoles.push_back(role.name.text);
    if (role.holdsWarps())
      for (const ast::Stmt &warp : role.body.statements)
        brokenRoles.push_back(std::get<ast::Role>(warp.node).name.text);
    return;
  }
  int64_t firstWarp = 4 * static_cast<int64_t>(warpgroupRegs.size());
  int64_t count = (range->upper - range->lower) * range->together;
  warpgroupRegs.insert(warpgroupRegs.end(), count, *regs);
  budgets.push_back({role.regs->range, *regs, count});
  if (!role.holdsWarps()) {
    addInstances(role, *range, firstWarp, 4 * range->together);
    return;
  }
  if (!range->each && range->together == 1)
    return declareWarps(role);
  error(DiagnosticKind::RoleGeometry, role.header, "a warpgroup that holds warps is one");
}

void KernelLowering::declareWarps(const ast::Role &warpgroup) {
  int64_t firstWarp = 4 * (static_cast<int64_t>(warpgroupRegs.size()) - 1), used = 0;
  for (const ast::Stmt &stmt : warpgroup.body.statements) {
    const auto &warp = std::get<ast::Role>(stmt.node);
    auto range = instancesOf(warp);
    declare(Symbol{warp.name.text, SymbolKind::Role, warp.name.range});
    if (!range) {
      brokenRoles.push_back(warp.name.text);
      continue;
    }
    int64_t count = range->upper - range->lower;
    if (used + count > 4) {
      error(DiagnosticKind::RoleGeometry, warp.header, "a warpgroup holds four warps")
          .primary(fmt::format("{} with this one", used + count))
          .label(warpgroup.header, "in this warpgroup");
      return;
    }
    addInstances(warp, *range, firstWarp + used, 1);
    used += count;
  }
}

/// Names of the instances that a barrier's list means. Roles that are not found make it incomplete.
std::vector<std::string> KernelLowering::resolveWho(const std::vector<ast::Who> &list, Scope &at,
                                                    bool &incomplete) {
  std::vector<std::string> names;
  std::swap(scope, at);
  for (const ast::Who &who : list) {
    std::optional<int64_t> number;
    if (who.instance && !(number = evaluateInteger(*who.instance, "the number of an instance")))
      continue;
    size_t before = names.size();
    std::vector<std::string> known;
    for (const RoleInstance &instance : instances) {
      known.push_back(instance.role->name.text);
      if (known.back() != who.name.text || (who.instance && instance.number != number))
        continue;
      if (!llvm::is_contained(names, instance.name)) {
        names.push_back(instance.name);
        continue;
      }
      error(DiagnosticKind::DuplicateName, who.range,
            fmt::format("`{}` is named twice", instance.name));
      before = 0;
    }
    if (names.size() != before)
      continue;
    incomplete = true;
    bool exists = llvm::is_contained(known, who.name.text);
    if (!exists && llvm::is_contained(brokenRoles, who.name.text))
      continue;
    auto report =
        error(DiagnosticKind::UnknownName, who.range,
              exists ? fmt::format("`{}` has no instance {}", who.name.text, number.value_or(0))
                     : fmt::format("there is no role `{}`", who.name.text));
    if (std::string close = closestName(who.name.text, known); !exists && !close.empty())
      report.help(fmt::format("did you mean `{}`?", close));
  }
  std::swap(scope, at);
  return names;
}

void KernelLowering::resolveBarriers() {
  for (auto [info, at] : llvm::zip_equal(barriers, barrierScopes)) {
    info.arrivers = resolveWho(info.barrier->arrivers, at, info.incomplete);
    info.waiters = resolveWho(info.barrier->waiters, at, info.incomplete);
    SmallVector<StringRef> arrivers(info.arrivers.begin(), info.arrivers.end());
    SmallVector<StringRef> waiters(info.waiters.begin(), info.waiters.end());
    info.op.setArriversAttr(builder.getStrArrayAttr(arrivers));
    info.op.setWaitersAttr(builder.getStrArrayAttr(waiters));
  }
}

void KernelLowering::lowerRole(RoleInstance &instance) {
  OpBuilder::InsertionGuard guard(builder);
  auto op = tile::RoleOp::create(
      builder, loc(instance.role->header, instance.name), builder.getStringAttr(instance.name),
      builder.getI64IntegerAttr(instance.firstWarp), builder.getI64IntegerAttr(instance.lastWarp));
  builder.setInsertionPointToEnd(&op.getBody().emplaceBlock());
  role = &instance;
  std::swap(scope, instance.scope);
  lowerBlock(instance.role->body);
  std::swap(scope, instance.scope);
  role = nullptr;
}

void KernelLowering::reportNoArrival(const BarrierInfo &info, const std::string &arriver) {
  const std::string &name = info.barrier->name.text;
  auto instance = llvm::find_if(
      instances, [&](const RoleInstance &candidate) { return candidate.name == arriver; });
  error(DiagnosticKind::BarrierNoArrive, info.firstWait ? info.firstWait : info.barrier->name.range,
        fmt::format("`{}` never arrives at `{}`", arriver, name))
      .primary(info.firstWait ? "waits for ever" : "")
      .label(info.barrier->arrivers.front().range.to(info.barrier->arrivers.back().range),
             "declared to arrive once per generation")
      .label(instance->role->header, fmt::format("no `arrive {}` in this role", name));
}

void KernelLowering::checkBarrierUses() {
  for (const BarrierInfo &info : barriers) {
    if (info.incomplete)
      continue;
    for (const std::string &arriver : info.arrivers)
      if (!llvm::is_contained(info.arrived, arriver))
        reportNoArrival(info, arriver);
    if (!info.waited.empty())
      continue;
    auto report = error(DiagnosticKind::BarrierNoWait, info.barrier->name.range,
                        fmt::format("nobody waits for `{}`", info.barrier->name.text));
    report.label(info.barrier->waiters.front().range.to(info.barrier->waiters.back().range),
                 "declared to wait");
    SourceRange last; // instances of one role share its text
    for (const RoleInstance &instance : instances)
      if (llvm::is_contained(info.waiters, instance.name) && !(instance.role->header == last)) {
        last = instance.role->header;
        report.label(last, fmt::format("no `wait {}` in this role", info.barrier->name.text));
      }
  }
}

} // namespace flashqla::frontend
