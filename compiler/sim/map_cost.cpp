#include "compiler/sim/map_cost.h"

#include <algorithm>
#include <cmath>

namespace flashqla::sim {
namespace {

/// Iterations of a reduction whose bounds only its points know.
constexpr double unknownTrips = 16;
/// What a point adds to the traffic of shared memory by an element that it shares with others: threads load such an
/// element once for a row or column that they own.
constexpr double sharedElementBytes = 1;

double bytesOf(Element element) {
  switch (element) {
  case Element::BF16:
  case Element::F16: return 2;
  case Element::F32:
  case Element::I32: return 4;
  case Element::I64: return 8;
  case Element::Bool: return 1;
  }
  return 4;
}

struct Weight {
  double operations = 0, special = 0, integers = 0;
};

Weight weightOf(LaneOp op) {
  switch (op) {
  case LaneOp::Constant: case LaneOp::Load: case LaneOp::Store: case LaneOp::If: case LaneOp::Reduce: case LaneOp::Scan:
  case LaneOp::NegF: case LaneOp::AbsF:
    return {};
  case LaneOp::Exp: case LaneOp::Log:
    return {1, 1, 0};
  case LaneOp::DivF:
    return {3, 1, 0};
  case LaneOp::Exp2: case LaneOp::Log2: case LaneOp::Rsqrt: case LaneOp::Sqrt: case LaneOp::Tanh:
    return {0, 1, 0};
  case LaneOp::DivI: case LaneOp::RemI: case LaneOp::CeilDivI: case LaneOp::FloorDivI:
    return {0, 0, 8};
  case LaneOp::Copy: case LaneOp::AddF: case LaneOp::SubF: case LaneOp::MulF: case LaneOp::MinF: case LaneOp::MaxF:
  case LaneOp::EqualF: case LaneOp::NotEqualF: case LaneOp::LessF: case LaneOp::LessEqualF: case LaneOp::GreaterF:
  case LaneOp::GreaterEqualF: case LaneOp::Select: case LaneOp::ToFloat: case LaneOp::ToInt: case LaneOp::RoundBF16:
  case LaneOp::RoundF16:
    return {1, 0, 0};
  default:
    return {0, 0, 1};
  }
}

/// Adds up the codes of a map.
class Counter {
public:
  Counter(const Program &program, const MapBody &body, const Registers &registers)
      : program(program), body(body), registers(registers) {}

  MapWork count() {
    double points = 1;
    for (int64_t extent : body.domain)
      points *= static_cast<double>(extent);
    code(body.body, points);
    return work;
  }

private:
  void code(uint32_t index, double times);
  void access(const ElementAccess &element, uint32_t index, bool write, double times);
  double trips(const Reduction &reduction) const;
  bool acrossThreads(const Reduction &reduction) const;

  const Program &program;
  const MapBody &body;
  const Registers &registers;
  MapWork work;
};

double Counter::trips(const Reduction &reduction) const {
  if (!reduction.lower || !reduction.upper || reduction.lower.lane || reduction.upper.lane)
    return unknownTrips;
  return static_cast<double>(
      std::max<int64_t>(registers.integer(reduction.upper) - registers.integer(reduction.lower), 0));
}

/// One that reads no fragment is evaluated at each point by its thread.
bool Counter::acrossThreads(const Reduction &reduction) const {
  const std::vector<LaneInstr> &instrs = program.codes[reduction.body].instrs;
  return reduction.whole || std::any_of(instrs.begin(), instrs.end(), [&](const LaneInstr &instr) {
           return instr.op == LaneOp::Load && program.accesses[instr.integer].target.space == Space::Fragment;
         });
}

void Counter::access(const ElementAccess &element, uint32_t index, bool write, double times) {
  if (element.target.space == Space::Fragment)
    return;
  const bool shared = element.target.space == Space::Shared;
  double bytes = bytesOf(shared ? program.shared[element.target.object].element
                                : program.tensors[element.target.object].element);
  auto form = std::find_if(body.accesses.begin(), body.accesses.end(),
                           [&](const MapAccess &each) { return each.access == index; });
  size_t moving = 0, wanted = 0;
  for (const IndexForm &each : form->forms)
    moving += each.mapDim >= 0 || each.reduced ? 1 : 0;
  for (int64_t extent : body.domain)
    wanted += extent > 1 ? 1 : 0;
  const bool everywhere = moving >= wanted || !form->dense;
  if (!everywhere)
    bytes = moving == 0 ? 0 : sharedElementBytes;
  double &sum = shared ? work.sharedBytes : write ? work.storedBytes : work.loadedBytes;
  sum += times * bytes + (everywhere ? 0 : 1); // one load at least, whose latency counts
}

void Counter::code(uint32_t index, double times) {
  work.points = std::max(work.points, times);
  std::vector<int32_t> products; ///< registers of multiplications
  for (const LaneInstr &instr : program.codes[index].instrs) {
    Weight weight = weightOf(instr.op);
    if (instr.op == LaneOp::MulF)
      products.push_back(instr.result.index);
    if (instr.op == LaneOp::AddF || instr.op == LaneOp::SubF)
      for (Reg operand : {instr.a, instr.b})
        if (std::find(products.begin(), products.end(), operand.index) != products.end())
          weight.operations = 0;
    work.operations += times * weight.operations;
    work.special += times * weight.special;
    work.integers += times * weight.integers;
    switch (instr.op) {
    case LaneOp::Load:
    case LaneOp::Store:
      access(program.accesses[instr.integer], static_cast<uint32_t>(instr.integer), instr.op == LaneOp::Store, times);
      break;
    case LaneOp::If:
      code(program.branches[instr.integer].then, times);
      code(program.branches[instr.integer].otherwise, times);
      work.operations += times * static_cast<double>(program.branches[instr.integer].results.size());
      break;
    case LaneOp::Reduce: {
      const Reduction &reduction = program.reductions[instr.integer];
      const double inner = times * trips(reduction);
      code(reduction.body, inner);
      work.operations += inner;
      work.exchanges += acrossThreads(reduction) ? 1 : 0;
      break;
    }
    case LaneOp::Scan:
      code(program.scans[instr.integer].body, times);
      work.operations += times;
      ++work.exchanges;
      break;
    default:
      break;
    }
  }
}

} // namespace

MapWork workOf(const Program &program, const MapBody &body, const Registers &registers) {
  return Counter(program, body, registers).count();
}

Timing::Work costOf(const MapWork &work, int64_t warps, const Costs &costs) {
  // Four schedulers issue instructions of 32 threads each.
  const double all = static_cast<double>(warps), schedulers = std::min(all, 4.0);
  const double perScheduler = std::ceil(all / schedulers);
  const double instructions = (work.operations + work.special + work.integers * costs.indexWeight) / work.points *
                              std::ceil(work.points / (32 * all)); // of a warp
  const double special = work.special / costs.specialRate;
  const double shared = work.sharedBytes / costs.sharedRate;
  Timing::Work cost;
  cost.cycles = costs.mapStart + std::max({instructions * perScheduler * costs.instruction,
                                           special * 4 / schedulers, shared});
  cost.global = (work.loadedBytes + work.storedBytes) / costs.globalRate;
  cost.latency = work.loadedBytes > 0 ? costs.globalLatency : 0;
  constexpr double steps = 5; // 32 lanes
  cost.cycles += static_cast<double>(work.exchanges) * steps * costs.shuffle;
  cost.share = std::max(instructions * costs.instruction * all / 4, special);
  return cost;
}

Timing::Work costOfCopy(int64_t elements, int64_t bytes, bool load, int64_t warps, const Costs &costs) {
  MapWork work;
  work.points = std::max<double>(static_cast<double>(elements), 1);
  work.operations = static_cast<double>(bytes) / 16; // vectors of up to 16 bytes
  (load ? work.loadedBytes : work.storedBytes) = static_cast<double>(bytes);
  return costOf(work, warps, costs);
}

} // namespace flashqla::sim
