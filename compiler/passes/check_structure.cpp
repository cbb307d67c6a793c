/// Registers that are alive at once.
///
/// A fragment is alive from its first use to its last; one that is declared outside a loop and used
/// in it, all through that loop. The 16-bit copy of an operand `E(x)` is alive from behind its
/// product, where x may be dead, to the next await. What addresses, counters and indices take
/// besides is put at 32 registers: a rule of thumb, so that only fragments that exceed the budget
/// by themselves are worth a warning. Budgets themselves are checked by the frontend.
#include "compiler/passes/accesses.h"

using namespace mlir;
using namespace flashqla::tile;

namespace flashqla::passes {
namespace {

constexpr int64_t everythingElse = 32;

struct Interval {
  int64_t first, last, registers;
  std::string name;
  SourceRange range;
};

class Pressure {
public:
  Pressure(RoleOp role, Context &context) : role(role), context(context) {}
  void check(int64_t budget);

private:
  void number();
  Interval intervalOf(FragOp frag);
  void addCopy(WgmmaOp product);
  void extend(Interval &interval, Operation *declaredAt, Operation *use);

  RoleOp role;
  Context &context;
  DenseMap<Operation *, std::pair<int64_t, int64_t>>
      numbers; ///< op → its own number, that of the last op inside
  std::vector<Interval> intervals;
};

int64_t registersOf(FragOp frag, int64_t bytes) {
  return (layoutOf(frag).registers() * bytes + 3) / 4;
}

void Pressure::number() {
  int64_t next = 0;
  // In steps of two: a copy is made between its product and the next op.
  role.walk<WalkOrder::PreOrder>([&](Operation *op) { numbers[op].first = 2 * next++; });
  role.walk([&](Operation *op) {
    int64_t last = numbers[op].first;
    op->walk([&](Operation *inner) { last = std::max(last, numbers[inner].first); });
    numbers[op].second = last;
  });
}

/// Widens an interval by a use: to the op itself, or to the outermost loop around it that carries
/// the value.
void Pressure::extend(Interval &interval, Operation *declaredAt, Operation *use) {
  Operation *reach = use;
  for (auto loop = use->getParentOfType<scf::ForOp>(); loop && !loop->isAncestor(declaredAt);
       loop = loop->getParentOfType<scf::ForOp>())
    reach = loop;
  interval.first = std::min(interval.first, numbers[reach].first);
  interval.last = std::max(interval.last, numbers[reach].second);
}

Interval Pressure::intervalOf(FragOp frag) {
  Interval interval{INT64_MAX, -1, registersOf(frag, elementBytes(frag.getType().getElementType())),
                    frag.getName().str(), context.files.range(frag.getOperation())};
  role.walk([&](Operation *op) {
    bool uses = false;
    if (auto product = dyn_cast<WgmmaOp>(op))
      uses = declaration(product.getTarget()) == frag;
    for (const FragmentAccess &access : fragmentAccesses(op))
      uses |= access.frag == frag;
    auto await = dyn_cast<AwaitOp>(op);
    if (uses || (await && await.getTarget() && declaration(await.getTarget()) == frag))
      extend(interval, frag, op);
  });
  return interval;
}

void Pressure::addCopy(WgmmaOp product) {
  if (!product.getCastA() || space(product.getA()) != Space::Register)
    return;
  auto frag = cast<FragOp>(declaration(product.getA()));
  Operation *end = product;
  while (end->getNextNode() && !isa<AwaitOp>(end))
    end = end->getNextNode();
  Interval interval{numbers[product].first + 1,
                    std::max(numbers[end].first, numbers[product].first + 1), registersOf(frag, 2),
                    fmt::format("16-bit copy of {}", frag.getName().str()),
                    context.files.range(product.getOperation())};
  for (const Interval &other : intervals) // one copy serves several products
    if (other.name == interval.name && other.first < interval.first && other.last >= interval.first)
      return;
  intervals.push_back(std::move(interval));
}

void Pressure::check(int64_t budget) {
  number();
  role.walk([&](FragOp frag) { intervals.push_back(intervalOf(frag)); });
  role.walk([&](WgmmaOp product) { addCopy(product); });
  int64_t worst = 0, at = 0;
  for (const Interval &start : intervals) {
    int64_t sum = 0;
    for (const Interval &other : intervals)
      if (other.first <= start.first && start.first <= other.last)
        sum += other.registers;
    if (sum > worst) {
      worst = sum;
      at = start.first;
    }
  }
  if (worst == 0 || worst + everythingElse <= budget)
    return;
  std::string table;
  for (const Interval &interval : intervals)
    if (interval.first <= at && at <= interval.last)
      table += fmt::format("\n{:>6}  {}", interval.registers, interval.name);
  SourceRange where;
  for (auto [op, number] : numbers)
    if (number.first == at / 2 * 2)
      where = context.files.range(op);
  std::string message = fmt::format("`{}` needs about {} registers, its budget is {}",
                                    role.getName().str(), worst + everythingElse, budget);
  SourceRange header = context.files.range(role.getOperation());
  auto report = worst > budget
                    ? context.diags.warning(DiagnosticKind::RegisterPressure, header, message)
                    : context.diags.remark(DiagnosticKind::RegisterPressure, header, message);
  report.label(where, fmt::format("{} registers of fragments are alive here", worst))
      .note(fmt::format("registers of each thread:{}\n{:>6}  addresses, counters, indices", table,
                        everythingElse));
}

/// The assembler compiles for the registers with which all warpgroups enter, whatever `setmaxnreg` gives them later. An
/// instruction of a product names its accumulator at once; measured with ptxas 13.0 [docs/hopper.md, "Products"].
bool checkProduct(WgmmaOp product, KernelOp kernel, Context &context) {
  constexpr int64_t besides = 26, operand = 4;
  int64_t warpgroups = kernel.getWarpgroupRegs().size(), resident = kernel.getResident();
  int64_t entry = std::min<int64_t>(512 / (warpgroups * resident) / 8 * 8, 248);
  int64_t columns = extents(product.getTarget())[1];
  int64_t fixed = besides + (space(product.getA()) == Space::Register ? operand : 0);
  if (columns / 2 + fixed <= entry)
    return true;
  context.diags
      .report(DiagnosticKind::RegisterBudget, context.files.range(product.getOperation()),
              fmt::format("a product of {} columns needs {} registers, its warpgroup enters with {}", columns,
                          columns / 2 + fixed, entry))
      .note(fmt::format("{} warpgroup{} enter{} with {} registers each; `regs` does not count here", warpgroups * resident,
                        warpgroups * resident == 1 ? "" : "s", warpgroups * resident == 1 ? "s" : "", entry))
      .help(fmt::format("write it as products into windows of at most {} columns", (entry - fixed) / 4 * 8));
  return false;
}

} // namespace

bool checkStructure(KernelOp kernel, Context &context) {
  for (auto role : kernel.getBody().front().getOps<RoleOp>())
    Pressure(role, context).check(kernel.getWarpgroupRegs()[role.getFirstWarp() / 4]);
  bool ok = true;
  kernel.walk([&](WgmmaOp product) { ok = checkProduct(product, kernel, context) && ok; });
  return ok;
}

} // namespace flashqla::passes
