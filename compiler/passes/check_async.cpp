/// Products in flight, and what awaits mean.
///
/// A product's target belongs to the tensor cores until it is awaited, and so do the registers of a
/// register operand. An operand `E(x)` is a copy, so that x itself is free at once; the copy's
/// registers are not. A shared operand that is written too early is found by check_sync.cpp, a tile
/// that is handed back too early by check_release.cpp.
#include "compiler/passes/accesses.h"
#include "compiler/passes/in_flight.h"
#include "compiler/passes/linear.h"

using namespace mlir;
using namespace flashqla::tile;

namespace flashqla::passes {
namespace {

class AsyncCheck {
public:
  AsyncCheck(RoleOp role, Context &context) : role(role), context(context), flight(role) {}
  bool run();

private:
  WgmmaOp inFlightInto(Operation *at, FragOp frag);
  WgmmaOp anyInFlight(Operation *at);
  void checkAccesses(Operation *statement);
  bool checkTarget(Operation *statement, const FragmentAccess &access);
  void checkHazard(Operation *statement, const FragmentAccess &access);
  void checkOperand(Operation *statement, const FragmentAccess &access);
  void checkPack(WgmmaOp product);
  void checkWindow(WgmmaOp product);
  void checkAwait(AwaitOp await);
  void checkStoreAwait(AwaitOp await);
  void checkEnd(Operation *end, Block *block, const InFlight::State &state);
  bool isTarget(FragOp frag);
  bool isCarried(FragOp frag, Operation *statement) const;
  bool startsAnew(FragOp frag);
  SourceRange place(Operation *statement, const FragmentAccess &access) const;

  RoleOp role;
  Context &context;
  InFlight flight;
  DenseSet<Operation *> reported;
};

std::string name(FragOp frag) { return frag.getName().str(); }

FragOp targetOf(WgmmaOp product) { return cast<FragOp>(declaration(product.getTarget())); }

/// The products of a state in the order of the text.
SmallVector<WgmmaOp> products(RoleOp role, const InFlight::State &state) {
  SmallVector<WgmmaOp> result;
  role.walk([&](WgmmaOp product) {
    if (llvm::any_of(state, [&](auto &entry) { return entry.first.product == product; }))
      result.push_back(product);
  });
  return result;
}

WgmmaOp AsyncCheck::inFlightInto(Operation *at, FragOp frag) {
  for (WgmmaOp product : products(role, flight.before(at)))
    if (targetOf(product) == frag)
      return product;
  return {};
}

WgmmaOp AsyncCheck::anyInFlight(Operation *at) {
  SmallVector<WgmmaOp> all = products(role, flight.before(at));
  return all.empty() ? WgmmaOp() : all.front();
}

SourceRange AsyncCheck::place(Operation *statement, const FragmentAccess &access) const {
  SourceRange at = context.files.range(access.place);
  if (isa<LoadOp, StoreOp>(access.place) && at != context.files.range(statement))
    return at;
  return operandRange(context, statement, FragOp(access.frag).getResult());
}

bool AsyncCheck::isTarget(FragOp frag) {
  bool found = false;
  role.walk([&](WgmmaOp product) { found |= targetOf(product) == frag; });
  return found;
}

/// Whether products of a loop around the statement accumulate in a fragment that the loop carries
/// round.
bool AsyncCheck::isCarried(FragOp frag, Operation *statement) const {
  for (auto loop = statement->getParentOfType<scf::ForOp>(); loop;
       loop = loop->getParentOfType<scf::ForOp>()) {
    if (loop->isAncestor(frag))
      return false;
    bool accumulates = false;
    loop.walk([&](WgmmaOp product) { accumulates |= targetOf(product) == frag; });
    if (accumulates)
      return true;
  }
  return false;
}

/// Whether a loop sets a fragment of a block around it, so that nothing may have to be carried.
bool AsyncCheck::startsAnew(FragOp frag) {
  bool found = false;
  role.walk([&](WgmmaOp product) {
    auto loop = product->getParentOfType<scf::ForOp>();
    found |= targetOf(product) == frag && product.getMode() == ProductMode::Set && loop &&
             !loop->isAncestor(frag);
  });
  return found;
}

bool AsyncCheck::checkTarget(Operation *statement, const FragmentAccess &access) {
  WgmmaOp product = inFlightInto(statement, access.frag);
  if (!product)
    return true;
  SourceRange at = place(statement, access);
  context.diags
      .report(
          DiagnosticKind::AccumulatorInFlight, at,
          fmt::format("`{}` is used while a product into it may be in flight", name(access.frag)))
      .label(context.files.range(product.getOperation()), "this product")
      .help(fmt::format("add `await {}` before line {}", name(access.frag),
                        firstLine(context.files.range(statement))));
  return false;
}

/// The copy `E(x)` of an earlier product serves this one too, so that x is not read again.
bool sharesCopy(WgmmaOp product) {
  for (Operation *op = product->getPrevNode(); op; op = op->getPrevNode()) {
    if (auto other = dyn_cast<WgmmaOp>(op);
        other && declaration(other.getA()) == declaration(product.getA()) &&
        other.getCastA() == product.getCastA())
      return true;
    if (op->getNumRegions() != 0 && !isa<MapOp, ReduceOp>(op))
      return false;
    for (const FragmentAccess &access : fragmentAccesses(op))
      if (access.write && access.frag == declaration(product.getA()))
        return false;
  }
  return false;
}

/// ptxas gives up on asynchronous products that run while such an accumulator is touched (advisory
/// C7517).
void AsyncCheck::checkHazard(Operation *statement, const FragmentAccess &access) {
  WgmmaOp product = anyInFlight(statement);
  auto self = dyn_cast<WgmmaOp>(statement);
  if (!product || !isTarget(access.frag) || !isCarried(access.frag, statement) ||
      (self && sharesCopy(self)))
    return;
  FragOp frag = access.frag;
  context.diags
      .report(
          DiagnosticKind::AccumulatorHazard, place(statement, access),
          fmt::format("`{}` is carried round the loop and used while another product is in flight",
                      name(frag)))
      .label(context.files.range(product.getOperation()),
             fmt::format("this product into `{}`", name(targetOf(product))))
      .label(context.files.range(frag.getOperation()),
             "declared outside the loop that accumulates in it")
      .help(fmt::format("{}add `await wgmma` before line {}",
                        startsAnew(frag) ? fmt::format("declare `{}` in the loop, or ", name(frag))
                                         : "",
                        firstLine(context.files.range(statement))));
}

/// 16-bit fragments are read in place by the products that they are operands of.
void AsyncCheck::checkOperand(Operation *statement, const FragmentAccess &access) {
  if (!access.write)
    return;
  for (WgmmaOp product : products(role, flight.before(statement))) {
    if (declaration(product.getA()) != access.frag || product.getCastA())
      continue;
    context.diags
        .report(DiagnosticKind::OperandInFlight, place(statement, access),
                fmt::format("`{}` is overwritten while a product may still be reading it",
                            name(access.frag)))
        .label(context.files.range(product.getOperation()), "read by this product")
        .help(fmt::format("add `await {}` before line {}", name(targetOf(product)),
                          firstLine(context.files.range(statement))));
    return;
  }
}

/// The copy `E(x)` lives in registers of its own, which the next iteration writes again.
void AsyncCheck::checkPack(WgmmaOp product) {
  if (space(product.getA()) != Space::Register || !product.getCastA())
    return;
  for (auto [instance, distance] : flight.before(product))
    if (instance.product == product) {
      context.diags
          .report(DiagnosticKind::OperandInFlight, operandRange(context, product, product.getA()),
                  fmt::format("the 16-bit copy of `{}` is made again while the product of the "
                              "previous iteration may "
                              "still be reading it",
                              name(cast<FragOp>(declaration(product.getA())))))
          .help(fmt::format("add `await {}` before line {}", name(targetOf(product)),
                            firstLine(context.files.range(product))));
      return;
    }
}

/// First column and number of columns that a product writes.
std::pair<int64_t, int64_t> columnsOf(WgmmaOp product) {
  auto view = product.getTarget().getDefiningOp<ViewOp>();
  return {view ? linearOf(view.getOffsets().back()).constant : 0, extents(product.getTarget())[1]};
}

/// Products into the same registers are done in order only if they write all of the same ones.
void AsyncCheck::checkWindow(WgmmaOp product) {
  auto [first, count] = columnsOf(product);
  for (WgmmaOp other : products(role, flight.before(product))) {
    auto [start, length] = columnsOf(other);
    if (targetOf(other) != targetOf(product) || std::pair(start, length) == std::pair(first, count) ||
        start + length <= first || first + count <= start)
      continue;
    std::string frag = name(targetOf(product));
    context.diags
        .report(DiagnosticKind::AccumulatorInFlight, context.files.range(product.getOperation()),
                fmt::format("a product into other columns of `{}` may be in flight, some of them these",
                            frag))
        .label(context.files.range(other.getOperation()),
               fmt::format("this product, into columns {} to {}", start, start + length - 1))
        .note("products in flight add up in order only in the same columns")
        .help(fmt::format("add `await {}` before line {}", frag,
                          firstLine(context.files.range(product.getOperation()))));
    return;
  }
}

void AsyncCheck::checkAccesses(Operation *statement) {
  for (const FragmentAccess &access : fragmentAccesses(statement)) {
    if (reported.contains(statement))
      return;
    size_t before = context.diags.all().size();
    if (checkTarget(statement, access))
      checkHazard(statement, access);
    checkOperand(statement, access);
    if (context.diags.all().size() != before)
      reported.insert(statement);
  }
  if (auto product = dyn_cast<WgmmaOp>(statement); product && !reported.contains(statement)) {
    checkWindow(product);
    checkPack(product);
  }
}

void AsyncCheck::checkAwait(AwaitOp await) {
  bool byName = await.getKind() == AwaitKind::Fragment;
  if (!byName && await.getKind() != AwaitKind::Wgmma)
    return checkStoreAwait(await);
  SourceRange at = context.files.range(await);
  if (byName) {
    auto frag = cast<FragOp>(declaration(await.getTarget()));
    if (!isTarget(frag)) {
      context.diags
          .error(DiagnosticKind::AwaitNothing, at,
                 fmt::format("no product writes `{}`", name(frag)))
          .label(context.files.range(frag.getOperation()), "declared here");
      return;
    }
    if (!inFlightInto(await, frag))
      context.diags.warning(DiagnosticKind::AwaitNothing, at,
                            fmt::format("no product into `{}` can be in flight here", name(frag)));
  } else if (flight.before(await).empty()) {
    context.diags.warning(DiagnosticKind::AwaitNothing, at, "no product can be in flight here");
  }
}

/// Stores are counted by the hardware; it is enough that the role has some that the await may mean.
void AsyncCheck::checkStoreAwait(AwaitOp await) {
  bool found = false;
  role.walk([&](CopyOp copy) {
    if (await.getKind() == AwaitKind::CopyAsync) {
      found |= copy.getKind() == CopyKind::Async;
      return;
    }
    if (copy.getKind() != CopyKind::Tma || space(copy.getSource()) != Space::Shared)
      return;
    found |= await.getKind() == AwaitKind::CopyTma ||
             (await.getKind() == AwaitKind::Tile &&
              declaration(copy.getSource()) == declaration(await.getTarget())) ||
             (await.getKind() == AwaitKind::Tensor &&
              declaration(copy.getTarget()) == declaration(await.getTarget()));
  });
  if (!found)
    context.diags.error(
        DiagnosticKind::AwaitNothing, context.files.range(await),
        fmt::format("`{}` starts nothing that this could wait for", role.getName().str()));
}

/// At the end of a block the fragments that it declares are gone.
void AsyncCheck::checkEnd(Operation *end, Block *block, const InFlight::State &state) {
  for (WgmmaOp product : products(role, state)) {
    FragOp frag = targetOf(product);
    if (frag->getBlock() != block || !reported.insert(product).second)
      continue;
    bool isLoop = isa<scf::ForOp>(end);
    context.diags
        .report(DiagnosticKind::NeverAwaited, context.files.range(product),
                fmt::format("nothing awaits this product into `{}`", name(frag)))
        .label(context.files.range(frag.getOperation()),
               isLoop ? "gone at the end of each iteration" : "gone at the end of its block")
        .help(fmt::format("add `await {}`", name(frag)));
  }
}

bool AsyncCheck::run() {
  size_t before = context.diags.errorCount();
  role.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto await = dyn_cast<AwaitOp>(op))
      checkAwait(await);
    else if (isa<scf::YieldOp>(op))
      checkEnd(op->getParentOp(), op->getBlock(), flight.before(op));
    else
      checkAccesses(op);
    // The ops inside have been looked at as a whole.
    return isa<MapOp, ReduceOp>(op) ? WalkResult::skip() : WalkResult::advance();
  });
  checkEnd(role, &role.getBody().front(), flight.atEnd());
  return context.diags.errorCount() == before;
}

} // namespace

bool checkAsync(KernelOp kernel, Context &context) {
  bool ok = true;
  for (auto role : kernel.getBody().front().getOps<RoleOp>())
    ok &= AsyncCheck(role, context).run();
  return ok;
}

} // namespace flashqla::passes
