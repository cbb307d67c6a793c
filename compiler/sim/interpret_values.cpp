/// Products, the inverse, maps and fragments.
#include "compiler/sim/interpret.h"
#include "compiler/sim/numerics.h"

#include <fmt/format.h>

#include <limits>

namespace flashqla::sim {
namespace {

std::vector<float> transposed(const std::vector<float> &matrix, int64_t rows, int64_t columns) {
  std::vector<float> result(matrix.size());
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      result[column * rows + row] = matrix[row * columns + column];
  return result;
}

int64_t rowsOf(const Window &window) { return window.size[window.dimension[0]]; }
int64_t columnsOf(const Window &window) { return window.size[window.dimension[1]]; }

} // namespace

void Interpreter::declareFragment(const Step &step) {
  fragments[step.to.object] = {};
  storage.poisonFragment(step.to.object);
}

/// By ordinary code: no product may be writing the fragment, or reading it if it is written.
void Interpreter::touchFragment(Role &role, uint32_t fragment, bool write, Where where) {
  Fragment &state = fragments[fragment];
  const std::string &name = program.fragments[fragment].name;
  const int64_t done = checker.productsAwaited(role.id);
  if (state.writes > done)
    checker.report({FindingKind::AccumulatorInFlight, where,
                    fmt::format("`{}` is {} while a product may still be writing it", name, write ? "written" : "read"),
                    {}, {{state.writtenAt, "the product"}}, {}});
  if (write && state.reads > done)
    checker.report({FindingKind::OperandInFlight, where,
                    fmt::format("`{}` is written while a product may still be reading it", name), {},
                    {{state.readAt, "the product"}}, {}});
  if (!write && !state.written)
    checker.report({FindingKind::Unwritten, where, fmt::format("`{}` is read, and nothing has written it", name), {}, {}, {}});
  state.written |= write;
}

void Interpreter::product(Role &role, const Step &step) {
  const Window target = resolve(step.to, step), a = resolve(step.from, step), b = resolve(step.other, step);
  std::vector<Machine::Window> operands;
  for (const auto &[window, reference] : {std::pair(&a, &step.from), std::pair(&b, &step.other)})
    if (reference->space == Space::Shared)
      operands.push_back(shared(*window, reference->where));
  checker.product(role.id, operands, step.where);
  const int64_t group = checker.productsIssued(role.id), done = checker.productsAwaited(role.id);
  if (step.from.space == Space::Fragment) {
    Fragment &operand = fragments[step.from.object];
    if (operand.writes > done)
      touchFragment(role, step.from.object, false, step.where);
    else if (!operand.written)
      touchFragment(role, step.from.object, false, step.where);
    if (!step.casts || program.fragments[step.from.object].element == step.cast) { // `E(x)` is a copy
      operand.reads = group;
      operand.readAt = step.where;
    }
  }
  Fragment &accumulator = fragments[step.to.object];
  if (step.mode != ProductMode::Set && !accumulator.written)
    checker.report({FindingKind::Unwritten, step.where,
                    fmt::format("a product adds to `{}`, and nothing has written it", program.fragments[step.to.object].name),
                    {}, {}, {"`wgmma … = …` sets its target"}});
  accumulator.written = true;
  accumulator.writes = group;
  accumulator.writtenAt = step.where;
  if (!storage.hasValues())
    return;
  std::vector<float> left = storage.gather(a), right = storage.gather(b), sums = storage.gather(target);
  if (step.casts)
    for (float &element : left)
      element = roundTo(step.cast, element);
  if (step.transposeA)
    left = transposed(left, rowsOf(a), columnsOf(a));
  if (step.transposeB)
    right = transposed(right, rowsOf(b), columnsOf(b));
  const int64_t m = rowsOf(target), n = columnsOf(target);
  multiply(step.mode, left, right, sums, m, n, static_cast<int64_t>(left.size()) / m);
  storage.scatter(target, sums);
}

void Interpreter::inverse(Role &role, const Step &step) {
  const Window scratch = resolve(step.other, step);
  touchFragment(role, step.from.object, false, step.where);
  touchFragment(role, step.to.object, true, step.where);
  checker.write(role.id, shared(scratch), step.where);
  if (!storage.hasValues())
    return;
  const Window from = resolve(step.from, step), to = resolve(step.to, step);
  std::vector<float> lower = storage.gather(from), result(lower.size());
  unitLowerInverse(lower, result, program.shared[scratch.object].element);
  storage.scatter(to, result);
  // What the solve leaves in its scratch means nothing.
  storage.scatter(scratch, std::vector<float>(scratch.volume(), std::numeric_limits<float>::quiet_NaN()));
}

/// The elements of a dense access: its window moved by what its indices range over.
Region Interpreter::region(const MapAccess &access, const MapBody &body, const Window &window) const {
  auto sides = window.box();
  for (unsigned w = 0; w < window.windowRank; ++w) {
    const IndexForm &form = access.forms[w];
    int64_t begin = form.constant + (form.uniform ? launch.registers.integer(form.uniform) : 0), extent = 1;
    if (form.mapDim >= 0) {
      extent = body.domain[form.mapDim];
    } else if (form.reduced) {
      const int64_t lower = launch.registers.integer(form.lower), upper = launch.registers.integer(form.upper);
      begin += lower;
      extent = std::max<int64_t>(upper - lower, 0);
    }
    const unsigned dim = window.dimension[w];
    sides[dim] = {window.offset[dim] + begin, window.offset[dim] + begin + extent};
  }
  return Region::box({sides.data(), window.rank});
}

bool Interpreter::inside(const Region &touched, const Window &window, const ElementAccess &element) {
  bool all = true;
  for (unsigned dim = 0; dim < window.rank && !touched.empty(); ++dim) {
    const Interval &side = touched.sides()[dim];
    if (side.begin >= 0 && side.end <= window.extent[dim])
      continue;
    all = false;
    checker.report({FindingKind::OutOfBounds, element.where,
                    fmt::format("{} of dimension {} of `{}`, which has {}",
                                side.size() == 1 ? fmt::format("index {}", side.begin)
                                                 : fmt::format("indices {} .. {}", side.begin, side.end),
                                dim, name(element.target), window.extent[dim]), {}, {}, {}});
  }
  return all;
}

void Interpreter::map(Role &role, const Step &step) {
  const MapBody &body = program.maps[step.map];
  const bool inRole = role.steps != &program.prologue;
  for (const auto &[fragment, write] : body.fragments)
    if (!write)
      touchFragment(role, fragment, false, step.where);
  for (const auto &[fragment, write] : body.fragments)
    if (write)
      touchFragment(role, fragment, true, step.where);
  bool evaluate = storage.hasValues() || body.result || body.divides;
  for (const MapAccess &access : body.accesses)
    evaluate |= !access.dense;
  Lanes::Outcome outcome;
  if (evaluate)
    outcome = lanes.map(body, [&](uint32_t tensor, int64_t offset, bool write) {
      touchElement(tensor, offset, write, step.where);
    });
  checkDivision();
  if (lanes.exhausted())
    return giveUp(role, FindingKind::Unbounded, step, "its reductions go through more indices than can be followed");
  for (bool writes : {false, true}) // a point makes its reads first
    for (size_t i = 0; i < body.accesses.size(); ++i) {
      const MapAccess &access = body.accesses[i];
      if (access.write != writes)
        continue;
      const ElementAccess &element = program.accesses[access.access];
      Window window = storage.resolve(element.target, launch.registers);
      const bool tile = window.space == Space::Shared;
      if (tile)
        checkPlace(step, element.target.slot, {}, window.generation, program.shared[window.object].slots);
      Region touched = access.dense ? region(access, body, window) : outcome.touched[i];
      if (access.dense && !inside(touched, window, element))
        continue;
      if (access.dense && !evaluate && !tile) {
        Window here = window;
        for (unsigned dim = 0; dim < window.rank; ++dim) {
          here.offset[dim] = touched.sides()[dim].begin;
          here.size[dim] = touched.sides()[dim].size();
        }
        touchTensor(window.object, here, writes, element.where);
      }
      if (!tile && tensorTiles[window.object] < 0)
        continue;
      Machine::Window place{tile ? window.object : static_cast<uint32_t>(tensorTiles[window.object]), window.generation,
                            std::move(touched)};
      if (writes)
        checker.write(role.id, place, element.where);
      else
        for (const Role &reader : roles) // what is computed for all roles, each of them computes
          if (!inRole || reader.id == role.id)
            checker.read(reader.id, place, element.where);
    }
  for (const Lanes::Outcome::Outside &outside : outcome.outside) {
    const ElementAccess &element = program.accesses[outside.access];
    checker.report({FindingKind::OutOfBounds, element.where,
                    fmt::format("index {} of `{}`, which has {} there", outside.coordinate, name(element.target),
                                outside.extent), {}, {}, {}});
  }
}

} // namespace flashqla::sim
