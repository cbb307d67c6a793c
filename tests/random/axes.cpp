// Axes of the grid and of loops, the dims behind them, and the `check` cases.
#include "tests/random/kernel.h"

#include <fmt/format.h>

#include <algorithm>

namespace flashqla::random {

void Kernel::addDim(DimRange range, bool isStatic) {
  program.dims.push_back({range.name, isStatic});
  ranges.push_back(std::move(range));
}

void Kernel::requireMultiple(const std::string &dim, std::int64_t multiple) {
  for (DimRange &range : ranges)
    if (range.name == dim && range.multiple % multiple != 0) {
      range.multiple = multiple;
      program.wheres.push_back(fmt::format("{} % {} == 0", dim, multiple));
    }
}

std::string Kernel::blockText(std::int64_t block) {
  if (!random.chance(25))
    return std::to_string(block);
  const std::string name = fresh("B");
  program.params.push_back(fmt::format("{} = {}", name, block));
  feature("param.integer");
  return name;
}

Axis Kernel::tiledAxis(const std::string &prefix, std::int64_t block, std::int64_t most) {
  Axis axis{.name = fresh(prefix), .dim = fresh("M"), .block = block, .blockText = blockText(block), .most = most};
  axis.extent = fmt::format("ceildiv({}, {})", axis.dim, axis.blockText);
  addDim({axis.dim, 1, most * block});
  return axis;
}

Axis Kernel::plainAxis(const std::string &prefix, std::int64_t most) {
  Axis axis{.name = fresh(prefix), .extent = fresh("H"), .most = most};
  addDim({axis.extent, 1, most}, random.chance(20));
  return axis;
}

void Kernel::chooseGrid() {
  const std::int64_t count = random.pick({1, 1, 1, 2, 2, 3});
  std::int64_t ctas = 1;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t most = ctas >= 4 ? 1 : random.between(1, ctas >= 2 ? 2 : 3);
    grid.push_back(random.chance(60) ? tiledAxis("m", anyExtent(), most) : plainAxis("h", most));
    ctas *= most;
  }
  feature(fmt::format("grid.axes-{}", count));
}

void Kernel::packedLoop(std::int64_t block) {
  tokens = fresh("T");
  addDim({tokens, block, 5 * block});
  addDim({"NS", 1, 3});
  sequences = "seq";
  const Type type = random.pick({Type::I32, Type::I64});
  program.arguments.push_back({.name = "seq", .kind = Argument::Kind::Table,
                               .text = fmt::format("in {}[NS + 1]", typeName(type)), .sizes = {"NS + 1"}, .type = type});
  // Any axis of the grid but the sequences would multiply their outputs: few are enough.
  if (grid.size() > 1)
    grid.resize(1);
  grid.push_back({.name = "q", .extent = "NS", .most = 3});
  program.lets.push_back(Node::line("let t0 = seq[q], t1 = seq[q + 1]"));
  program.lets.push_back(Node::line(fmt::format("let n = ceildiv(t1 - t0, {})", block)));
  Axis axis{.name = "i", .extent = fmt::format("ceildiv({}, {})", tokens, block), .dim = tokens, .block = block, .packed = true};
  axis.blockText = std::to_string(block);
  axis.sequence = "q";
  axis.most = 5;
  loop.axes = {axis};
  loop.generation = "i";
  loop.mostTrips = 5;
}

void Kernel::chooseLoop() {
  loop.kind = random.pick({LoopKind::None, LoopKind::Single, LoopKind::Single, LoopKind::Single, LoopKind::Packed,
                           LoopKind::Nested, LoopKind::Step, LoopKind::Skip});
  const std::int64_t block = anyExtent();
  const bool plain = random.chance(30);
  auto tiled = [&](std::int64_t most) {
    Axis axis{.name = "i", .dim = fresh("K"), .block = block, .blockText = blockText(block), .most = most};
    axis.extent = fmt::format("ceildiv({}, {})", axis.dim, axis.blockText);
    addDim({axis.dim, 1, most * block});
    return axis;
  };
  auto counted = [&](std::int64_t least, std::int64_t most) {
    Axis axis{.name = "i", .extent = fresh("L"), .most = most};
    addDim({axis.extent, least, most});
    return axis;
  };
  switch (loop.kind) {
  case LoopKind::None:
    feature("loop.none");
    return;
  case LoopKind::Single:
    loop.axes = {plain ? counted(0, 6) : tiled(6)};
    loop.generation = "i";
    loop.mostTrips = 6;
    feature(plain ? "loop.counted" : "loop.tiled");
    break;
  case LoopKind::Packed:
    packedLoop(block);
    feature("loop.packed");
    return;
  case LoopKind::Nested: {
    Axis outer{.name = "a", .extent = "NA", .most = 3};
    addDim({"NA", 0, 3});
    loop.axes = {outer, plain ? counted(0, 3) : tiled(3)};
    loop.generation = "g";
    loop.mostTrips = 9;
    feature("loop.nested");
    break;
  }
  case LoopKind::Step:
    loop.axes = {tiled(5)};
    loop.generation = "i";
    loop.mostTrips = 5;
    feature("loop.step");
    return;
  case LoopKind::Skip: {
    loop.axes = {counted(1, 6)}; // a table has at least one element
    loop.generation = "j";
    loop.mostTrips = 6;
    keep = "keep";
    program.arguments.push_back({.name = keep, .kind = Argument::Kind::Table,
                                 .text = fmt::format("in i32[{}]", loop.axes.front().extent),
                                 .sizes = {loop.axes.front().extent}, .type = Type::I32});
    feature("loop.skip");
    break;
  }
  }
  program.lets.push_back(Node::line("let n = " + loop.axes.back().extent));
}

void Kernel::addLets() {
  const std::string name = fresh("u"), axis = random.pick(std::vector<Axis>(grid.begin(), grid.end())).name;
  const std::int64_t bound = random.between(2, 9);
  const std::string sum = fmt::format("sum[k in 0 .. {}](k * {})", random.between(1, 40), axis);
  program.lets.push_back(Node::line(fmt::format("let {} = {} % {}", name, random.chance(50) ? sum : fmt::format("({} * 3 + 1)", axis), bound)));
  uniforms.emplace_back(name, bound);
}

Case Kernel::chooseCase(bool small) {
  Case test;
  for (const DimRange &range : ranges) {
    const std::int64_t high = small ? std::max(range.low, std::min<std::int64_t>(range.high, 70)) : range.high;
    std::int64_t value = random.between(range.low, high);
    if (random.chance(20))
      value = high;
    value = std::max(value / range.multiple * range.multiple, range.low);
    value = (value + range.multiple - 1) / range.multiple * range.multiple;
    test.dims[range.name] = value;
  }
  if (!program.cases.empty())
    for (const Dim &dim : program.dims)
      if (dim.isStatic)
        test.dims[dim.name] = program.cases.front().dims.at(dim.name);
  if (!sequences.empty()) {
    std::vector<std::int64_t> bounds = {0};
    const std::int64_t total = test.dims.at(tokens);
    for (std::int64_t i = 1; i < test.dims.at("NS"); ++i)
      bounds.push_back(random.between(0, total));
    bounds.push_back(random.chance(60) ? total : random.between(0, total));
    std::ranges::sort(bounds);
    test.tables[sequences] = bounds;
  }
  if (!keep.empty()) {
    std::vector<std::int64_t> &flags = test.tables[keep];
    for (std::int64_t i = 0; i < test.dims.at(loop.axes.front().extent); ++i)
      flags.push_back(random.chance(60));
  }
  return test;
}

void Kernel::chooseCases() {
  program.cases.push_back(chooseCase(false));
  if (random.chance(40))
    program.cases.push_back(chooseCase(true));
  for (const Axis &axis : grid)
    program.grid.push_back(fmt::format("{}: {}", axis.name, axis.extent));
}

} // namespace flashqla::random
