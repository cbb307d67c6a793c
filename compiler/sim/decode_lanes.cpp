/// Decoding of scalars and of the bodies of maps, reductions and scans.
#include "compiler/sim/decoder.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace flashqla::tile;

namespace flashqla::sim {
namespace {

bool isDivision(LaneOp op) {
  return op == LaneOp::DivI || op == LaneOp::FloorDivI || op == LaneOp::CeilDivI || op == LaneOp::RemI;
}

std::optional<LaneOp> laneOp(Operation &op) {
  return llvm::TypeSwitch<Operation *, std::optional<LaneOp>>(&op)
      .Case<arith::AddIOp>([](auto) { return LaneOp::AddI; })
      .Case<arith::SubIOp>([](auto) { return LaneOp::SubI; })
      .Case<arith::MulIOp>([](auto) { return LaneOp::MulI; })
      .Case<arith::DivSIOp, arith::DivUIOp>([](auto) { return LaneOp::DivI; })
      .Case<arith::FloorDivSIOp>([](auto) { return LaneOp::FloorDivI; })
      .Case<arith::CeilDivSIOp, arith::CeilDivUIOp>([](auto) { return LaneOp::CeilDivI; })
      .Case<arith::RemSIOp, arith::RemUIOp>([](auto) { return LaneOp::RemI; })
      .Case<arith::MinSIOp>([](auto) { return LaneOp::MinI; })
      .Case<arith::MaxSIOp>([](auto) { return LaneOp::MaxI; })
      .Case<arith::AndIOp>([](auto) { return LaneOp::And; })
      .Case<arith::OrIOp>([](auto) { return LaneOp::Or; })
      .Case<arith::XOrIOp>([](auto) { return LaneOp::Xor; })
      .Case<arith::ShLIOp>([](auto) { return LaneOp::ShiftLeft; })
      .Case<arith::ShRSIOp, arith::ShRUIOp>([](auto) { return LaneOp::ShiftRight; })
      .Case<math::AbsIOp>([](auto) { return LaneOp::AbsI; })
      .Case<arith::AddFOp>([](auto) { return LaneOp::AddF; })
      .Case<arith::SubFOp>([](auto) { return LaneOp::SubF; })
      .Case<arith::MulFOp>([](auto) { return LaneOp::MulF; })
      .Case<arith::DivFOp>([](auto) { return LaneOp::DivF; })
      .Case<arith::MinimumFOp, arith::MinNumFOp>([](auto) { return LaneOp::MinF; })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>([](auto) { return LaneOp::MaxF; })
      .Case<arith::NegFOp>([](auto) { return LaneOp::NegF; })
      .Case<math::AbsFOp>([](auto) { return LaneOp::AbsF; })
      .Case<math::ExpOp>([](auto) { return LaneOp::Exp; })
      .Case<math::Exp2Op>([](auto) { return LaneOp::Exp2; })
      .Case<math::LogOp>([](auto) { return LaneOp::Log; })
      .Case<math::Log2Op>([](auto) { return LaneOp::Log2; })
      .Case<math::RsqrtOp>([](auto) { return LaneOp::Rsqrt; })
      .Case<math::SqrtOp>([](auto) { return LaneOp::Sqrt; })
      .Case<math::TanhOp>([](auto) { return LaneOp::Tanh; })
      .Case<arith::SelectOp>([](auto) { return LaneOp::Select; })
      .Case<arith::SIToFPOp, arith::UIToFPOp>([](auto) { return LaneOp::ToFloat; })
      .Case<arith::FPToSIOp>([](auto) { return LaneOp::ToInt; })
      .Case<arith::ExtFOp, arith::ExtUIOp>([](auto) { return LaneOp::Copy; })
      .Case<arith::ExtSIOp>([](arith::ExtSIOp extend) { // of a truth value: all ones
        return extend.getIn().getType().isInteger(1) ? LaneOp::NegI : LaneOp::Copy;
      })
      .Case<arith::TruncIOp>([](arith::TruncIOp truncate) {
        return truncate.getType().isInteger(1) ? LaneOp::LowBit : LaneOp::Narrow32;
      })
      .Case<arith::TruncFOp>([](arith::TruncFOp truncate) {
        return truncate.getType().isBF16() ? LaneOp::RoundBF16 : LaneOp::RoundF16;
      })
      .Case<arith::CmpIOp>([](arith::CmpIOp compare) {
        switch (compare.getPredicate()) {
        case arith::CmpIPredicate::eq: return LaneOp::Equal;
        case arith::CmpIPredicate::ne: return LaneOp::NotEqual;
        case arith::CmpIPredicate::slt:
        case arith::CmpIPredicate::ult: return LaneOp::Less;
        case arith::CmpIPredicate::sle:
        case arith::CmpIPredicate::ule: return LaneOp::LessEqual;
        case arith::CmpIPredicate::sgt:
        case arith::CmpIPredicate::ugt: return LaneOp::Greater;
        case arith::CmpIPredicate::sge:
        case arith::CmpIPredicate::uge: return LaneOp::GreaterEqual;
        }
        return LaneOp::Equal;
      })
      .Case<arith::CmpFOp>([](arith::CmpFOp compare) {
        switch (compare.getPredicate()) {
        case arith::CmpFPredicate::ONE:
        case arith::CmpFPredicate::UNE: return LaneOp::NotEqualF;
        case arith::CmpFPredicate::OLT:
        case arith::CmpFPredicate::ULT: return LaneOp::LessF;
        case arith::CmpFPredicate::OLE:
        case arith::CmpFPredicate::ULE: return LaneOp::LessEqualF;
        case arith::CmpFPredicate::OGT:
        case arith::CmpFPredicate::UGT: return LaneOp::GreaterF;
        case arith::CmpFPredicate::OGE:
        case arith::CmpFPredicate::UGE: return LaneOp::GreaterEqualF;
        default: return LaneOp::EqualF;
        }
      })
      .Default([](auto) { return std::nullopt; });
}

} // namespace

bool Decoder::decodeScalar(Operation &op, std::vector<LaneInstr> &out) {
  const bool lane = map != nullptr;
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    define(constant.getResult(), lane);
    LaneInstr made{LaneOp::Constant, reg(constant.getResult()), {}, {}, {}, 0, 0};
    if (auto number = dyn_cast<FloatAttr>(constant.getValue()))
      made.real = static_cast<float>(number.getValueAsDouble());
    else if (auto integer = cast<IntegerAttr>(constant.getValue()); integer.getType().isInteger(1))
      made.integer = integer.getValue().isZero() ? 0 : 1;
    else
      made.integer = integer.getInt();
    out.push_back(made);
    return true;
  }
  std::optional<LaneOp> kind = laneOp(op);
  if (!kind)
    return false;
  define(op.getResult(0), lane);
  LaneInstr made{*kind, reg(op.getResult(0)), {}, {}, {}, 0, 0};
  Reg *operands[] = {&made.a, &made.b, &made.c};
  for (auto [index, operand] : llvm::enumerate(op.getOperands()))
    *operands[index] = reg(operand);
  if (isDivision(*kind))
    made.integer = place(&op);
  out.push_back(made);
  return true;
}

bool Decoder::dependsOnData(Value value) {
  if (!value)
    return false;
  if (auto found = onData.find(value); found != onData.end())
    return found->second;
  onData[value] = false; // loops of iteration arguments end here
  bool depends = false;
  Operation *op = value.getDefiningOp();
  if (auto load = dyn_cast_or_null<LoadOp>(op)) {
    bool table = space(load.getSource()) == tile::Space::Global && isa<IntegerType>(elementType(load.getSource()));
    depends = !table;
  } else if (isa_and_nonnull<scf::IfOp, scf::ForOp>(op)) {
    unsigned index = cast<OpResult>(value).getResultNumber();
    for (Region &region : op->getRegions())
      if (!region.empty() && region.front().mightHaveTerminator())
        depends |= dependsOnData(region.front().getTerminator()->getOperand(index));
    for (Value operand : op->getOperands())
      depends |= dependsOnData(operand);
  } else if (op) {
    for (Value operand : op->getOperands())
      depends |= dependsOnData(operand);
    for (Region &region : op->getRegions())
      region.walk([&](YieldOp yield) { depends |= dependsOnData(yield.getValue()); });
  } else if (auto loop = dyn_cast<scf::ForOp>(cast<BlockArgument>(value).getOwner()->getParentOp())) {
    unsigned number = cast<BlockArgument>(value).getArgNumber();
    if (number > 0)
      depends = dependsOnData(loop.getInitArgs()[number - 1]) ||
                dependsOnData(loop.getBody()->getTerminator()->getOperand(number - 1));
    else
      depends = dependsOnData(loop.getLowerBound()) || dependsOnData(loop.getStep());
  }
  return onData[value] = depends;
}

void Decoder::decodeMap(MapOp op) {
  MapBody body;
  map = &body;
  body.domain.assign(op.getDomain().begin(), op.getDomain().end());
  for (BlockArgument index : op.getBody().front().getArguments()) {
    define(index, true);
    body.indices.push_back(reg(index));
  }
  body.body = decodeCode(op.getBody().front());
  map = nullptr;
  step(StepKind::Map, *op).map = static_cast<uint32_t>(program.maps.size());
  program.maps.push_back(std::move(body));
}

/// A reduction or an element outside maps: a map of one point whose value becomes a scalar of the role.
void Decoder::decodeUniform(Operation &op) {
  MapBody body;
  map = &body;
  Code code;
  decodeLaneOp(op, code);
  body.value = reg(op.getResult(0));
  body.body = static_cast<uint32_t>(program.codes.size());
  program.codes.push_back(std::move(code));
  map = nullptr;
  define(op.getResult(0), false);
  body.result = reg(op.getResult(0));
  step(StepKind::Map, op).map = static_cast<uint32_t>(program.maps.size());
  program.maps.push_back(std::move(body));
}

uint32_t Decoder::decodeCode(Block &block) {
  Code code;
  for (Operation &op : block)
    if (!isa<YieldOp, scf::YieldOp>(op))
      decodeLaneOp(op, code);
  program.codes.push_back(std::move(code));
  return static_cast<uint32_t>(program.codes.size() - 1);
}

void Decoder::decodeLaneOp(Operation &op, Code &code) {
  if (isa<ViewOp, SlotOp>(op))
    return; // of values of the role
  if (decodeScalar(op, code.instrs)) {
    ++map->operations;
    map->divides |= isDivision(code.instrs.back().op) && !matchPattern(op.getOperand(1), m_Constant());
    return;
  }
  auto access = [&](Value target, OperandRange indices) {
    ElementAccess made{reference(target), {}, place(&op)};
    for (Value index : indices) {
      made.indices.push_back(reg(index));
      program.steeredByData |= dependsOnData(index);
    }
    program.accesses.push_back(std::move(made));
    return static_cast<uint32_t>(program.accesses.size() - 1);
  };
  if (auto load = dyn_cast<LoadOp>(op)) {
    uint32_t index = access(load.getSource(), load.getIndices());
    noteAccess(load.getSource(), index, false);
    define(load.getResult(), true);
    code.instrs.push_back({LaneOp::Load, reg(load.getResult()), {}, {}, {}, index, 0});
  } else if (auto store = dyn_cast<StoreOp>(op)) {
    uint32_t index = access(store.getTarget(), store.getIndices());
    noteAccess(store.getTarget(), index, true);
    code.instrs.push_back({LaneOp::Store, {}, reg(store.getValue()), {}, {}, index, 0});
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    decodeLaneIf(branch, code);
  } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
    Reduction made{};
    made.kind = reduce.getKind() == tile::ReduceKind::Sum   ? ReduceKind::Sum
                : reduce.getKind() == tile::ReduceKind::Max ? ReduceKind::Max
                                                            : ReduceKind::Min;
    made.lower = reg(reduce.getLower());
    made.upper = reg(reduce.getUpper());
    made.whole = map->domain.empty() && reductions.empty();
    BlockArgument counter = reduce.getBody().front().getArgument(0);
    define(counter, true);
    made.index = reg(counter);
    reductions.push_back({counter, &made});
    made.body = decodeCode(reduce.getBody().front());
    reductions.pop_back();
    made.value = reg(cast<YieldOp>(reduce.getBody().front().getTerminator()).getValue());
    define(reduce.getResult(), true);
    code.instrs.push_back({LaneOp::Reduce, reg(reduce.getResult()), {}, {}, {},
                           static_cast<int64_t>(program.reductions.size()), 0});
    program.reductions.push_back(made);
  } else if (auto scan = dyn_cast<ScanOp>(op)) {
    ScanBody made{};
    made.reverse = scan.getReverse();
    made.mask = reg(scan.getMask());
    made.onData = dependsOnData(scan.getMask());
    conditional += scan.getMask() ? 1 : 0;
    made.body = decodeCode(scan.getBody().front());
    conditional -= scan.getMask() ? 1 : 0;
    made.value = reg(cast<YieldOp>(scan.getBody().front().getTerminator()).getValue());
    define(scan.getResult(), true);
    code.instrs.push_back({LaneOp::Scan, reg(scan.getResult()), {}, {}, {},
                           static_cast<int64_t>(program.scans.size()), 0});
    program.scans.push_back(made);
  } else {
    llvm_unreachable("an op of a map without a meaning in the simulator");
  }
}

void Decoder::decodeLaneIf(scf::IfOp branch, Code &code) {
  Branch made{};
  made.onData = dependsOnData(branch.getCondition());
  SmallVector<Value> parts{branch.getCondition()};
  while (made.onData && !parts.empty()) {
    Value part = parts.pop_back_val();
    if (!dependsOnData(part))
      made.needs.push_back(reg(part));
    else if (auto both = part.getDefiningOp<arith::AndIOp>())
      parts.append({both.getLhs(), both.getRhs()});
  }
  ++conditional;
  made.then = decodeCode(branch.getThenRegion().front());
  if (branch.getElseRegion().empty()) {
    made.otherwise = static_cast<uint32_t>(program.codes.size());
    program.codes.emplace_back();
  } else {
    made.otherwise = decodeCode(branch.getElseRegion().front());
  }
  --conditional;
  for (auto [index, value] : llvm::enumerate(branch.getResults())) {
    define(value, true);
    made.results.push_back(reg(value));
    made.thenValues.push_back(reg(branch.getThenRegion().front().getTerminator()->getOperand(index)));
    made.otherwiseValues.push_back(reg(branch.getElseRegion().front().getTerminator()->getOperand(index)));
  }
  code.instrs.push_back({LaneOp::If, {}, reg(branch.getCondition()), {}, {},
                         static_cast<int64_t>(program.branches.size()), 0});
  program.branches.push_back(std::move(made));
}

IndexForm Decoder::indexForm(Value index, bool &dense) {
  IndexForm form;
  APInt constant;
  if (auto add = index.getDefiningOp<arith::AddIOp>(); add && reg(index).lane) {
    IndexForm left = indexForm(add.getLhs(), dense), right = indexForm(add.getRhs(), dense);
    bool twoMoving = (left.mapDim >= 0 || left.reduced) && (right.mapDim >= 0 || right.reduced);
    if (twoMoving || (left.uniform && right.uniform))
      dense = false;
    form = left.mapDim >= 0 || left.reduced ? left : right;
    form.uniform = left.uniform ? left.uniform : right.uniform;
    form.constant = left.constant + right.constant;
    return form;
  }
  if (matchPattern(index, m_ConstantInt(&constant))) {
    form.constant = constant.getSExtValue();
    return form;
  }
  if (!reg(index).lane) {
    form.uniform = reg(index);
    return form;
  }
  for (const auto &[counter, reduction] : reductions)
    if (counter == index) {
      form.reduced = true;
      form.lower = reduction->lower;
      form.upper = reduction->upper;
      dense &= !(form.lower && form.lower.lane) && !(form.upper && form.upper.lane);
      return form;
    }
  auto argument = dyn_cast<BlockArgument>(index);
  if (argument && isa<MapOp>(argument.getOwner()->getParentOp()))
    form.mapDim = static_cast<int>(argument.getArgNumber());
  else
    dense = false;
  return form;
}

void Decoder::noteAccess(Value addressable, uint32_t access, bool write) {
  const ElementAccess &made = program.accesses[access];
  if (made.target.space == Space::Fragment) {
    std::pair entry{made.target.object, write};
    if (!llvm::is_contained(map->fragments, entry))
      map->fragments.push_back(entry);
    return;
  }
  MapAccess entry{access, write, conditional == 0, {}};
  Operation *op = result.places[made.where];
  OperandRange indices = write ? cast<StoreOp>(op).getIndices() : cast<LoadOp>(op).getIndices();
  for (Value index : indices)
    entry.forms.push_back(indexForm(index, entry.dense));
  for (size_t i = 0; i < entry.forms.size(); ++i) // a diagonal is no box
    for (size_t j = 0; j < i; ++j)
      if ((entry.forms[i].mapDim >= 0 && entry.forms[i].mapDim == entry.forms[j].mapDim) ||
          (entry.forms[i].reduced && entry.forms[j].reduced))
        entry.dense = false;
  map->accesses.push_back(std::move(entry));
}

} // namespace flashqla::sim
