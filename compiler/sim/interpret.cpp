#include "compiler/sim/interpret.h"

#include <fmt/format.h>

#include <ranges>

namespace flashqla::sim {

Interpreter::Interpreter(Launch given)
    : launch(std::move(given)), program(launch.program), checker({.fences = program.lowered}),
      storage(program, launch.tensors, launch.values), lanes(program, storage, launch.registers) {
  if (launch.stepLimit > 0)
    lanes.limitReductions(launch.stepLimit / 16); // a unit takes longer than a step
  build();
}

/// The machine's roles, tiles and barriers have the numbers of the program's; tensors that are written come behind tiles.
void Interpreter::build() {
  for (const RoleProgram &role : program.roles) {
    uint32_t id = checker.addRole(role.name, role.warps == 1);
    roles.push_back({id, &role.steps, 0, false, {}});
  }
  for (const SharedObject &tile : program.shared)
    checker.addTile(tile.name, tile.slots, tile.slots > 1);
  for (const TensorObject &tensor : program.tensors)
    tensorTiles.push_back(tensor.written ? int64_t(checker.addTensor(tensor.name)) : -1);
  for (const BarrierObject &barrier : program.barriers)
    checker.addBarrier(barrier.name, barrier.slots, barrier.arrivers);
  checker.start();
  fragments.resize(program.fragments.size());
}

void Interpreter::start() {
  Role all{0, &program.prologue, 0, false, {}};
  while (!all.done)
    execute(all, (*all.steps)[all.next]);
}

const Step *Interpreter::next(uint32_t role) const {
  const Role &asked = roles[role];
  return asked.done || checker.stopped() ? nullptr : &(*asked.steps)[asked.next];
}

bool Interpreter::step(uint32_t role) { return execute(roles[role], (*roles[role].steps)[roles[role].next]); }

void Interpreter::run() {
  start();
  for (bool moved = true; moved;) {
    moved = false;
    for (uint32_t role = 0; role < roles.size(); ++role)
      while (next(role) && step(role))
        moved = true;
  }
  finish();
}

void Interpreter::finish() {
  if (checker.stopped() || gaveUp)
    return; // what is in flight might have been awaited
  std::vector<Machine::Blocked> waiting;
  for (const Role &role : roles)
    if (!role.done)
      waiting.push_back(role.waiting);
  if (waiting.empty())
    checker.finish();
  else
    checker.deadlock(waiting);
}

void Interpreter::giveUp(Role &role, FindingKind kind, const Step &step, std::string message) {
  checker.report({kind, step.where, std::move(message), {}, {}, {}});
  for (Role &each : roles)
    each.done = true;
  role.done = true; // none of these, in the prologue
  gaveUp = true;
}

void Interpreter::checkDivision() {
  if (const Where where = lanes.takeDivisionByZero(); where != nowhere)
    checker.report({FindingKind::DivisionByZero, where, "an integer is divided by 0", {}, {}, {}});
}

bool Interpreter::control(Role &role, const Step &step) {
  Registers &registers = launch.registers;
  switch (step.kind) {
  case StepKind::Scalar:
    lanes.scalar(step.scalar);
    checkDivision();
    break;
  case StepKind::Move: {
    std::vector<int64_t> ints(step.moves.size());
    std::vector<float> reals(step.moves.size());
    for (size_t i = 0; i < step.moves.size(); ++i)
      if (Reg from = step.moves[i].second; from.real)
        reals[i] = registers.reals[from.index];
      else
        ints[i] = registers.ints[from.index];
    for (size_t i = 0; i < step.moves.size(); ++i)
      if (Reg to = step.moves[i].first; to.real)
        registers.reals[to.index] = reals[i];
      else
        registers.ints[to.index] = ints[i];
    if (role.next + 1 < role.steps->size() && (*role.steps)[role.next + 1].kind == StepKind::LoopTest)
      iterations[&(*role.steps)[role.next + 1]] = 0;
    break;
  }
  case StepKind::Jump:
    role.next = step.target;
    return true;
  case StepKind::JumpUnless:
    if (registers.integer(step.condition))
      break;
    role.next = step.target;
    return true;
  case StepKind::LoopTest:
    if (registers.integer(step.moves[0].first) >= registers.integer(step.moves[0].second)) {
      role.next = step.target;
      return true;
    }
    // The loop ends with its counter's addition and a jump: what is added must get nearer to the bound.
    if (int64_t by = registers.integer((*role.steps)[step.target - 2].scalar.b); by < 1) {
      giveUp(role, FindingKind::Endless, step, fmt::format("the step of this loop is {}: it has no end", by));
      return true;
    }
    if (int64_t &most = longest[step.where], count = ++iterations[&step]; count > most)
      most = count;
    break;
  case StepKind::End:
    role.done = true;
    if (role.steps != &program.prologue)
      checker.finishRole(role.id, step.where);
    return true;
  default:
    return false;
  }
  ++role.next;
  return true;
}

/// Slots and parities of the lowered form are those of the generation.
void Interpreter::checkPlace(const Step &step, Reg slot, Reg parity, int64_t generation, int64_t slots) {
  if (!slot)
    return;
  const int64_t wanted = (generation % slots + slots) % slots;
  const int64_t phase = generation >= 0 ? generation / slots : -((slots - 1 - generation) / slots);
  const int64_t got = launch.registers.integer(slot);
  if (got != wanted)
    checker.report({FindingKind::Lowering, step.where,
                    fmt::format("generation {} of a ring of {} was lowered to slot {}", generation, slots, got), {}, {}, {}});
  if (parity && launch.registers.integer(parity) != (phase & 1))
    checker.report({FindingKind::Lowering, step.where,
                    fmt::format("generation {} of a ring of {} was lowered to parity {}", generation, slots,
                                launch.registers.integer(parity)), {}, {}, {}});
}

bool Interpreter::synchronise(Role &role, const Step &step, bool &advanced) {
  advanced = true;
  const int64_t generation = launch.registers.value(step.generation);
  switch (step.kind) {
  case StepKind::Wait:
    checkPlace(step, step.slot, step.parity, generation, program.barriers[step.barrier].slots);
    if (!checker.wait(role.id, step.barrier, generation, step.where)) {
      role.waiting = {role.id, step.barrier, generation, step.where};
      advanced = false;
    }
    break;
  case StepKind::Arrive:
    if (step.guard && (launch.registers.integer(step.guard) != 0) != (generation >= 0))
      checker.report({FindingKind::Lowering, step.where,
                      fmt::format("the guard of the arrival at generation {} is wrong", generation), {}, {}, {}});
    if (generation < 0)
      break;
    checkPlace(step, step.slot, {}, generation, program.barriers[step.barrier].slots);
    if (step.bytes)
      checker.announce(step.barrier, generation, step.bytes);
    checker.arrive(role.id, step.barrier, generation, step.where);
    break;
  case StepKind::Announce:
    checkPlace(step, step.slot, {}, generation, program.barriers[step.barrier].slots);
    checker.announce(step.barrier, generation, step.bytes);
    break;
  case StepKind::Sync:
    checker.sync(role.id);
    break;
  case StepKind::Fence:
    checker.fence(role.id, step.tensors);
    break;
  case StepKind::AwaitFragment: {
    const int64_t last = fragments[step.to.object].writes;
    checker.awaitProducts(role.id, checker.productsIssued(role.id) - last);
    break;
  }
  case StepKind::AwaitTile:
    checker.awaitStoresOf(role.id, step.from.object, launch.registers.value(step.from.generation));
    break;
  case StepKind::AwaitProducts:
    checker.awaitProducts(role.id, step.keep);
    break;
  case StepKind::AwaitStores:
    checker.awaitStores(role.id, step.keep, step.read);
    break;
  case StepKind::AwaitCopies:
    checker.awaitCopies(role.id, step.keep);
    break;
  case StepKind::CommitStores:
    checker.commitStores(role.id);
    break;
  default:
    return false;
  }
  return true;
}

bool Interpreter::execute(Role &role, const Step &step) {
  if (++stepCount > launch.stepLimit && launch.stepLimit > 0) {
    giveUp(role, FindingKind::Unbounded, step, fmt::format("the roles of the CTA have made {} steps", launch.stepLimit));
    return true;
  }
  if (control(role, step))
    return true;
  bool advanced = true;
  if (!synchronise(role, step, advanced)) {
    checker.statement(role.id);
    switch (step.kind) {
    case StepKind::DeclareFragment: declareFragment(step); break;
    case StepKind::BulkCopy: bulkCopy(role, step); break;
    case StepKind::BoxLoad: boxLoad(role, step); break;
    case StepKind::BoxStore: boxStore(role, step); break;
    case StepKind::AsyncCopy:
    case StepKind::PlainCopy: threadCopy(role, step); break;
    case StepKind::Product: product(role, step); break;
    case StepKind::Map: map(role, step); break;
    case StepKind::Inverse: inverse(role, step); break;
    case StepKind::Assert:
      if (!launch.registers.integer(step.condition))
        checker.report({FindingKind::Assertion, step.where, fmt::format("the assertion `{}` does not hold", step.text),
                        {}, {}, {}});
      break;
    default: break;
    }
  }
  role.next += advanced ? 1 : 0;
  return advanced;
}

std::string Interpreter::name(const Reference &reference) const {
  switch (reference.space) {
  case Space::Tensor: return program.tensors[reference.object].name;
  case Space::Shared: return program.shared[reference.object].name;
  case Space::Fragment: return program.fragments[reference.object].name;
  }
  return {};
}

/// Windows of tiles lie inside; those of tensors may reach over an end.
Window Interpreter::resolve(const Reference &reference, const Step &step) {
  Window window = storage.resolve(reference, launch.registers);
  if (reference.space == Space::Shared)
    checkPlace(step, reference.slot, {}, window.generation, program.shared[reference.object].slots);
  const Where where = reference.where == nowhere ? step.where : reference.where;
  for (unsigned dim = 0; dim < window.rank; ++dim) {
    const int64_t begin = window.offset[dim], end = begin + window.size[dim];
    const bool point = !reference.offsets.empty() && reference.sizes[dim] == 0;
    if (reference.space == Space::Tensor && !point)
      continue;
    if (begin >= 0 && end <= window.extent[dim])
      continue;
    checker.report({FindingKind::OutOfBounds, where,
                    fmt::format("the window covers {} .. {} of dimension {} of `{}`, which has {}", begin, end, dim,
                                name(reference), window.extent[dim]), {}, {}, {}});
    window.offset[dim] = std::clamp<int64_t>(begin, 0, std::max<int64_t>(window.extent[dim] - window.size[dim], 0));
  }
  if (window.untilDim >= 0 && window.until > window.extent[window.untilDim])
    checker.report({FindingKind::OutOfBounds, where,
                    fmt::format("the window of `{}` ends at {}, and dimension {} has {}", name(reference), window.until,
                                window.untilDim, window.extent[window.untilDim]), {}, {}, {}});
  if (window.untilDim >= 0 && window.offset[window.untilDim] < 0)
    checker.report({FindingKind::OutOfBounds, where,
                    fmt::format("a window of `{}` with `until` starts at {}", name(reference),
                                window.offset[window.untilDim]), {}, {}, {}});
  return window;
}

Machine::Window Interpreter::shared(const Window &window, Where where) const {
  const auto box = window.box();
  return {window.object, window.generation, Region::box({box.data(), window.rank}), where};
}

Machine::Window Interpreter::global(const Window &window) const {
  const auto box = window.clipped();
  return {static_cast<uint32_t>(tensorTiles[window.object]), 0, Region::box({box.data(), window.rank})};
}

std::optional<Machine::Window> Interpreter::written(const Window &window) const {
  return tensorTiles[window.object] >= 0 ? std::optional(global(window)) : std::nullopt;
}

void Interpreter::touchTensor(uint32_t tensor, const Window &window, bool write, Where where) {
  if (!launch.tensors[tensor].writer)
    return;
  std::array<Interval, maxRank> object;
  for (unsigned dim = 0; dim < window.rank; ++dim)
    object[dim] = {0, std::max<int64_t>(window.extent[dim], 1)};
  const auto box = window.clipped();
  forEachElement({box.data(), window.rank}, {object.data(), window.rank},
                 [&](int64_t offset) { touchElement(tensor, offset, write, where); });
}

/// CTAs are not ordered: an element that one of them writes is no other's.
void Interpreter::touchElement(uint32_t tensor, int64_t offset, bool write, Where where) {
  GlobalTensor &global = launch.tensors[tensor];
  if (!global.writer)
    return;
  const int32_t mine = launch.block + 1;
  int32_t other = 0;
  bool otherWrote = true;
  if (write) {
    other = global.writer.take(offset, mine, launch.alone);
    if ((other == 0 || other == mine) && global.reader) {
      other = global.reader[offset].load(std::memory_order_relaxed);
      otherWrote = false;
    }
  } else {
    other = global.writer[offset].load(std::memory_order_relaxed);
    if (int32_t none = 0; global.reader && !global.reader[offset].compare_exchange_strong(none, mine) && none != mine)
      global.reader[offset].store(-1);
  }
  if (other == 0 || other == mine)
    return;
  std::string element;
  for (const std::vector<int64_t> &extents = global.values->extents; int64_t extent : std::views::reverse(extents)) {
    element = element.empty() ? fmt::to_string(offset % extent) : fmt::format("{}, {}", offset % extent, element);
    offset /= extent;
  }
  checker.report({FindingKind::BlockOverlap, where,
                  fmt::format("`{}[{}]` is {} by CTA {} and {}{}", program.tensors[tensor].name, element,
                              write ? "written" : "read", launch.block,
                              write && otherWrote ? "" : otherWrote ? "written by " : "read by ",
                              other < 0 ? "others" : fmt::format("CTA {}", other - 1)), {}, {},
                  {"no order holds between the CTAs of a launch"}});
}

} // namespace flashqla::sim
