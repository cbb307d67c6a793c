/// Copies: bulk, asynchronous and plain; as the author wrote them and as boxes of tensor maps.
#include "compiler/sim/interpret.h"
#include "compiler/sim/numerics.h"

#include <fmt/format.h>

namespace flashqla::sim {
namespace {

/// A fragment's or tile's window narrowed to where the window of the tensor at the other end has elements.
Window narrowed(Window tile, const Window &tensor) {
  const auto box = tensor.box(), here = tensor.clipped();
  // Windows of equal shapes: dimension by dimension, plain indices left out.
  for (unsigned w = 0; w < tile.windowRank && w < tensor.windowRank; ++w) {
    const unsigned from = tensor.dimension[w], to = tile.dimension[w];
    tile.offset[to] += here[from].begin - box[from].begin;
    tile.size[to] = here[from].size();
  }
  for (unsigned dim = 0; dim < tensor.rank; ++dim) // a plain index outside: nothing is there
    if (here[dim].size() == 0)
      for (unsigned w = 0; w < tile.windowRank; ++w)
        tile.size[tile.dimension[w]] = 0;
  return tile;
}

} // namespace

/// Values of equal windows; what the source does not have is zero, what the target does not have is dropped.
void Interpreter::transfer(const Step &step, const Window &to, const Window &from) {
  if (from.reals && to.reals) {
    std::vector<float> elements = storage.gather(from);
    if (step.casts)
      for (float &element : elements)
        element = roundTo(step.cast, element);
    storage.scatter(to, elements);
  } else if (from.ints && to.ints) {
    storage.scatterInts(to, storage.gatherInts(from));
  }
}

void Interpreter::bulkCopy(Role &role, const Step &step) {
  const Window to = resolve(step.to, step), from = resolve(step.from, step);
  if (step.to.space == Space::Shared) {
    touchTensor(from.object, from, false, step.where);
    const std::optional<Machine::Window> source = written(from);
    checker.bulkLoad(role.id, shared(to, step.to.where), source ? &*source : nullptr, step.barrier,
                     launch.registers.value(step.generation), 0, step.where);
  } else {
    touchTensor(to.object, to, true, step.where);
    checker.bulkStore(role.id, shared(narrowed(from, to), step.from.where), global(to), step.where);
    checker.commitStores(role.id); // each is a group
  }
  transfer(step, to, from);
}

/// The window of a tensor that a box covers. A ragged map has two dimensions more, of 2^31, that move the base: its rows
/// are those below the limit that the coordinates name (runtime/manifest.h).
Window Interpreter::boxWindow(const Step &step, uint32_t tensor) {
  const TensorBox &box = program.boxes[step.map];
  Reference whole;
  whole.object = tensor;
  Window window = storage.resolve(whole, launch.registers);
  window.windowRank = 0;
  for (unsigned dim = 0; dim < window.rank; ++dim) {
    window.offset[dim] = 0;
    window.size[dim] = 1;
  }
  auto coordinate = [&](size_t index) { return launch.registers.integer(step.coordinates[index]); };
  const size_t plain = box.dims.size() - (box.ragged ? 1 : 0);
  for (size_t i = 0; i < plain; ++i) {
    window.offset[box.dims[i]] = coordinate(i);
    window.size[box.dims[i]] = box.boxes[i];
  }
  if (box.ragged) {
    constexpr int64_t base = int64_t(1) << 30;
    const int64_t dim = box.dims.back(), limit = coordinate(plain + 1);
    window.offset[dim] = coordinate(plain) - base + limit;
    window.size[dim] = box.boxes.back();
    window.untilDim = static_cast<int>(dim);
    window.until = limit;
    if (limit > window.extent[dim])
      checker.report({FindingKind::OutOfBounds, step.where,
                      fmt::format("a ragged box of `{}` reaches until {}, and the dimension has {}",
                                  program.tensors[tensor].name, limit, window.extent[dim]), {}, {}, {}});
  }
  return window;
}

/// The panel of a tile's window that a box fills: `byte` names it.
Window Interpreter::panelWindow(const Step &step, const Reference &tile, const TensorBox &box) {
  Window window = resolve(tile, step);
  const SharedObject &object = program.shared[window.object];
  const int64_t panel = object.panelBytes ? step.byte / object.panelBytes : 0;
  const unsigned last = window.rank - 1;
  window.offset[last] += panel * object.panelColumns;
  window.size[last] = box.boxes[0];
  int64_t elements = 1;
  for (int64_t side : box.boxes)
    elements *= side;
  if (elements != window.volume())
    checker.report({FindingKind::Lowering, step.where,
                    fmt::format("a box of {} elements for a window of {}", elements, window.volume()), {}, {}, {}});
  return window;
}

void Interpreter::boxLoad(Role &role, const Step &step) {
  const Window from = boxWindow(step, step.from.object);
  const Window to = panelWindow(step, step.to, program.boxes[step.map]);
  const int64_t generation = launch.registers.value(step.generation);
  checkPlace(step, step.slot, {}, generation, program.barriers[step.barrier].slots);
  touchTensor(from.object, from, false, step.where);
  const std::optional<Machine::Window> source = written(from);
  checker.bulkLoad(role.id, shared(to, step.to.where), source ? &*source : nullptr, step.barrier, generation, step.bytes, step.where);
  transfer(step, to, from);
}

void Interpreter::boxStore(Role &role, const Step &step) {
  const Window to = boxWindow(step, step.to.object);
  const Window from = panelWindow(step, step.from, program.boxes[step.map]);
  touchTensor(to.object, to, true, step.where);
  Window source = from;
  if (to.clipped() != to.box()) { // rows or columns that are not stored need not be there
    source.windowRank = from.rank;
    const auto whole = to.box(), here = to.clipped();
    const TensorBox &box = program.boxes[step.map];
    int64_t rows = 1, kept = 1;
    for (size_t i = 1; i < box.dims.size(); ++i) {
      rows *= whole[box.dims[i]].size();
      kept *= here[box.dims[i]].size();
    }
    source.size[from.rank - 1] = here[box.dims[0]].size();
    if (from.rank >= 2 && rows == from.size[from.rank - 2])
      source.size[from.rank - 2] = kept;
    else if (kept == 0)
      source.size[0] = 0;
  }
  checker.bulkStore(role.id, shared(source, step.from.where), global(to), step.where);
  transfer(step, to, from);
}

/// By the role's threads: complete when the statement ends, or when its group is awaited.
void Interpreter::threadCopy(Role &role, const Step &step) {
  const Window to = resolve(step.to, step), from = resolve(step.from, step);
  const Where place = step.from.where == nowhere ? step.where : step.from.where;
  std::optional<Machine::Window> source;
  if (step.from.space == Space::Tensor) {
    touchTensor(from.object, from, false, step.where);
    source = written(from);
    if (source && step.kind != StepKind::AsyncCopy)
      checker.read(role.id, *source, place);
  } else if (step.from.space == Space::Shared) {
    checker.read(role.id, shared(step.to.space == Space::Tensor ? narrowed(from, to) : from), place);
  } else {
    touchFragment(role, from.object, false, step.where);
  }
  if (step.to.space == Space::Tensor) {
    touchTensor(to.object, to, true, step.where);
    checker.write(role.id, global(to), step.where);
  } else if (step.to.space == Space::Shared) {
    if (step.kind == StepKind::AsyncCopy)
      checker.asyncCopy(role.id, shared(to, step.to.where), source ? &*source : nullptr, step.where);
    else
      checker.write(role.id, shared(to, step.to.where), step.where);
  } else {
    touchFragment(role, to.object, true, step.where);
  }
  transfer(step, to, from);
}

} // namespace flashqla::sim
