/// Generations as slots and parities.
///
/// Generation h of a ring of S slots uses slot h mod S in phase ⌊h / S⌋, whose parity a wait names. For S a power of two
/// both are bits of h; otherwise a loop that counts generations carries slot and parity along, and anything else
/// divides. -S ≤ h < 0 gives the parity of "the phase before the first", which a fresh barrier passes by itself: a
/// wait needs no branch (PTX ISA, mbarrier.try_wait).
#include "compiler/passes/passes.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace flashqla::tile;

namespace flashqla::passes {
namespace {

struct Place {
  Value slot, parity;
};

class RingLowering {
public:
  explicit RingLowering(RoleOp role) : role(role) {}
  void run();

private:
  /// A use of a ring: its base, offset and number of slots.
  struct Use {
    Operation *op;
    Value base;
    int64_t offset, slots;
  };
  std::vector<Use> uses();
  static scf::ForOp countingLoop(Value base);
  static bool mayBeNegative(const Use &use);
  void addCounters();
  Place place(OpBuilder &at, Location loc, const Use &use);
  Place carriedPlace(OpBuilder &at, Location loc, const Use &use, scf::ForOp loop);
  void lower(const Use &use);

  RoleOp role;
  DenseMap<std::pair<Operation *, int64_t>, Place> counters;
  std::map<std::tuple<Block *, void *, int64_t, int64_t>, Place> known;
};

/// An attribute's value as the signed number that it is; ODS accessors are unsigned.
int64_t signedOf(uint64_t value) { return static_cast<int64_t>(value); }

std::vector<RingLowering::Use> RingLowering::uses() {
  std::vector<Use> result;
  role.walk([&](Operation *op) {
    if (auto wait = dyn_cast<WaitOp>(op))
      result.push_back({op, wait.getGeneration(), signedOf(wait.getOffset()), wait.getBarrier().getType().getSlots()});
    else if (auto arrive = dyn_cast<ArriveOp>(op))
      result.push_back({op, arrive.getGeneration(), signedOf(arrive.getOffset()), arrive.getBarrier().getType().getSlots()});
    else if (auto copy = dyn_cast<CopyOp>(op); copy && copy.getBarrier())
      result.push_back({op, copy.getGeneration(), signedOf(copy.getOffset()), copy.getBarrier().getType().getSlots()});
    else if (auto view = dyn_cast<ViewOp>(op))
      if (auto shared = dyn_cast<SharedType>(view.getBase().getType()))
        result.push_back({op, view.getGeneration(), signedOf(view.getGenerationOffset()), shared.getSlots()});
  });
  return result;
}

/// The loop that counts this value from 0 in steps of 1; null if it is not one.
scf::ForOp RingLowering::countingLoop(Value base) {
  auto argument = dyn_cast_or_null<BlockArgument>(base);
  if (!argument)
    return {};
  auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
  if (!loop || argument != loop.getInductionVar() || !matchPattern(loop.getLowerBound(), m_Zero()) ||
      !matchPattern(loop.getStep(), m_One()))
    return {};
  return loop;
}

void RingLowering::addCounters() {
  SmallVector<std::pair<scf::ForOp, SmallVector<int64_t>>> wanted;
  for (const Use &use : uses())
    if (scf::ForOp loop = countingLoop(use.base); loop && !llvm::isPowerOf2_64(use.slots)) {
      auto found = llvm::find_if(wanted, [&](auto &entry) { return entry.first == loop; });
      if (found == wanted.end())
        wanted.push_back({loop, {use.slots}});
      else if (!llvm::is_contained(found->second, use.slots))
        found->second.push_back(use.slots);
    }
  IRRewriter rewriter(role.getContext());
  for (auto &[loop, sizes] : wanted) {
    Location loc = loop.getLoc();
    rewriter.setInsertionPoint(loop);
    Value zero = arith::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(0));
    size_t first = loop.getNumRegionIterArgs();
    SmallVector<Value> inits(2 * sizes.size(), zero);
    auto next = [&](OpBuilder &at, Location loc, ArrayRef<BlockArgument> arguments) {
      SmallVector<Value> values;
      auto constant = [&](int64_t value) -> Value {
        return arith::ConstantOp::create(at, loc, at.getI32IntegerAttr(value));
      };
      for (auto [index, slots] : llvm::enumerate(sizes)) {
        Value slot = arguments[2 * index], parity = arguments[2 * index + 1];
        Value last = arith::CmpIOp::create(at, loc, arith::CmpIPredicate::eq, slot, constant(slots - 1));
        Value stepped = arith::AddIOp::create(at, loc, slot, constant(1));
        Value flipped = arith::XOrIOp::create(at, loc, parity, constant(1));
        values.push_back(arith::SelectOp::create(at, loc, last, constant(0), stepped));
        values.push_back(arith::SelectOp::create(at, loc, last, flipped, parity));
      }
      return values;
    };
    auto replaced = loop.replaceWithAdditionalYields(rewriter, inits, /*replaceInitOperandUsesInLoop=*/false, next);
    auto fresh = cast<scf::ForOp>(replaced->getOperation());
    for (auto [index, slots] : llvm::enumerate(sizes)) {
      BlockArgument slot = fresh.getRegionIterArg(first + 2 * index), parity = fresh.getRegionIterArg(first + 2 * index + 1);
      slot.setLoc(NameLoc::get(rewriter.getStringAttr(fmt::format("slot{}", slots)), loc));
      parity.setLoc(NameLoc::get(rewriter.getStringAttr(fmt::format("parity{}", slots)), loc));
      counters[{fresh, slots}] = {slot, parity};
    }
  }
}

Place RingLowering::carriedPlace(OpBuilder &at, Location loc, const Use &use, scf::ForOp loop) {
  auto constant = [&](int64_t value) -> Value { return arith::ConstantOp::create(at, loc, at.getI32IntegerAttr(value)); };
  Place here = counters[{loop, use.slots}];
  // h = k + offset: `steps` slots on from k's, a whole number of rings before or behind.
  int64_t steps = ((use.offset % use.slots) + use.slots) % use.slots, rings = (use.offset - steps) / use.slots;
  if (steps == 0) {
    Value parity = rings % 2 == 0 ? here.parity : arith::XOrIOp::create(at, loc, here.parity, constant(1)).getResult();
    return {here.slot, parity};
  }
  Value moved = arith::AddIOp::create(at, loc, here.slot, constant(steps));
  Value wraps = arith::CmpIOp::create(at, loc, arith::CmpIPredicate::sge, moved, constant(use.slots));
  Value wrapped = arith::SubIOp::create(at, loc, moved, constant(use.slots));
  Value flipped = arith::XOrIOp::create(at, loc, here.parity, constant(1));
  bool odd = rings % 2 != 0;
  return {arith::SelectOp::create(at, loc, wraps, wrapped, moved),
          arith::SelectOp::create(at, loc, wraps, odd ? here.parity : flipped, odd ? flipped : here.parity)};
}

Place RingLowering::place(OpBuilder &at, Location loc, const Use &use) {
  auto constant = [&](int64_t value) -> Value { return arith::ConstantOp::create(at, loc, at.getI64IntegerAttr(value)); };
  if (!use.base) {
    int64_t h = use.offset + 2 * use.slots;
    return {constant(h % use.slots), constant(h / use.slots % 2)};
  }
  if (scf::ForOp loop = countingLoop(use.base); loop && counters.count({loop, use.slots}))
    return carriedPlace(at, loc, use, loop);
  bool power = llvm::isPowerOf2_64(use.slots);
  // An even number of rings more changes neither slot nor parity, and keeps a division from going below zero.
  int64_t offset = power ? use.offset : use.offset + 2 * use.slots;
  Value h = offset ? arith::AddIOp::create(at, loc, use.base, constant(offset)).getResult() : use.base;
  if (!power) {
    Value phase = arith::DivSIOp::create(at, loc, h, constant(use.slots));
    return {arith::RemSIOp::create(at, loc, h, constant(use.slots)), arith::RemSIOp::create(at, loc, phase, constant(2))};
  }
  Value slot = use.slots == 1 ? constant(0) : arith::AndIOp::create(at, loc, h, constant(use.slots - 1)).getResult();
  Value phase = use.slots == 1 ? h : arith::ShRSIOp::create(at, loc, h, constant(llvm::Log2_64(use.slots))).getResult();
  return {slot, arith::AndIOp::create(at, loc, phase, constant(1))};
}

/// Whether generation base + offset may lie below zero: not if a loop counts the base from zero or more.
bool RingLowering::mayBeNegative(const Use &use) {
  auto argument = dyn_cast<BlockArgument>(use.base);
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  APInt lower;
  bool counts = loop && argument == loop.getInductionVar() && matchPattern(loop.getLowerBound(), m_ConstantInt(&lower));
  return !counts || lower.getSExtValue() + use.offset < 0;
}

void RingLowering::lower(const Use &use) {
  OpBuilder at(use.op);
  Location loc = use.op->getLoc();
  Place &here = known[{use.op->getBlock(), use.base.getAsOpaquePointer(), use.offset, use.slots}];
  if (!here.slot)
    here = place(at, loc, use);
  if (auto wait = dyn_cast<WaitOp>(use.op)) {
    WaitParityOp::create(at, loc, wait.getBarrier(), here.slot, here.parity, use.base, use.offset);
    wait.erase();
  } else if (auto arrive = dyn_cast<ArriveOp>(use.op)) {
    Value guard; // a generation below zero has no arrival
    if (use.base && mayBeNegative(use)) {
      Value first = arith::ConstantOp::create(at, loc, at.getI64IntegerAttr(-use.offset));
      guard = arith::CmpIOp::create(at, loc, arith::CmpIPredicate::sge, use.base, first);
    }
    if (use.base || use.offset >= 0)
      ArriveSlotOp::create(at, loc, arrive.getBarrier(), here.slot, use.base, guard, use.offset, 0);
    arrive.erase();
  } else if (auto copy = dyn_cast<CopyOp>(use.op)) {
    copy.getSlotMutable().assign(here.slot);
  } else {
    auto view = cast<ViewOp>(use.op);
    auto ring = cast<SharedType>(view.getBase().getType());
    auto one = SharedType::get(at.getContext(), 1, ring.getShape(), ring.getElementType());
    Value slot = SlotOp::create(at, loc, one, view.getBase(), here.slot, use.base, use.offset);
    view.getBaseMutable().assign(slot);
    view.getGenerationMutable().clear();
    view.setGenerationOffset(0);
  }
}

void RingLowering::run() {
  addCounters();
  for (const Use &use : uses())
    lower(use);
}

} // namespace

bool lowerRings(KernelOp kernel, Context &) {
  for (auto role : kernel.getBody().front().getOps<RoleOp>())
    RingLowering(role).run();
  return true;
}

} // namespace flashqla::passes
