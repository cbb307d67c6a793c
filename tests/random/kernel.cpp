#include "tests/random/kernel.h"

#include <fmt/format.h>

#include <algorithm>

namespace flashqla::random {
namespace {

/// Without what reductions across warps need.
constexpr std::int64_t sharedLimit = 160 * 1024;

} // namespace

bool Tile::isOperand() const {
  if (typeBytes(type) != 2 || extents.size() != 2 || extents[0] % 8 != 0)
    return false;
  const std::int64_t columns = extents[1];
  return columns == 16 || columns == 32 || columns % 64 == 0;
}

std::int64_t Tile::bytes() const {
  std::int64_t bytes = typeBytes(type);
  for (std::int64_t extent : extents)
    bytes *= extent;
  return (bytes + 1023) / 1024 * 1024 * slots;
}

std::vector<Node> Loop::around(std::vector<Node> body) const {
  auto inside = [&](std::string header, std::vector<Node> inner) {
    Node loop = Node::braces(std::move(header));
    loop.body = std::move(inner);
    return loop;
  };
  switch (kind) {
  case LoopKind::None:
    return body;
  case LoopKind::Single:
  case LoopKind::Packed:
    return {inside("for i in 0 .. n", std::move(body))};
  case LoopKind::Nested: {
    body.insert(body.begin(), Node::line("let g = a * n + i"));
    return {inside("for a in 0 .. NA", {inside("for i in 0 .. n", std::move(body))})};
  }
  case LoopKind::Step: {
    const Axis &axis = axes.front();
    body.insert(body.begin(), Node::line(fmt::format("let i = p / {}", axis.blockText)));
    return {inside(fmt::format("for p in 0 .. {} step {}", axis.dim, axis.blockText), std::move(body))};
  }
  case LoopKind::Skip: {
    body.push_back(Node::line("j += 1"));
    return {Node::line("var j = 0"),
            inside("for i in 0 .. n", {inside("if keep[i] != 0", std::move(body))})};
  }
  }
  return body;
}

Kernel::Kernel(std::uint64_t seed) : random(seed) {
  program.seed = seed;
  mainType = random.pick({Type::BF16, Type::BF16, Type::F16});
  approximate = random.chance(30);
  if (random.chance(50)) {
    program.params.push_back("E = " + typeName(mainType));
    typeParam = true;
    feature("param.type");
  }
  extents = {64, 64};
  const std::int64_t others = random.between(1, 3);
  for (std::int64_t i = 0; i < others; ++i)
    extents.push_back(random.pick({16, 32, 64, 64, 128, 128}));
  if (random.chance(25))
    extents.push_back(random.pick({8, 24, 40, 48, 80, 96, 192, 256}));
}

std::string Kernel::text(Type type) const {
  return type == mainType && typeParam ? "E" : typeName(type);
}

Type Kernel::anyType() { return random.pick({mainType, mainType, mainType, Type::F32, Type::F32, Type::BF16, Type::F16}); }

Tile *Kernel::addTile(Type type, std::vector<std::int64_t> shape, std::int64_t slots) {
  Tile tile{.name = fresh("s"), .type = type, .extents = std::move(shape), .slots = slots, .number = {}};
  if (sharedBytes + tile.bytes() > sharedLimit / program.resident)
    return nullptr;
  sharedBytes += tile.bytes();
  std::string extent;
  for (std::int64_t side : tile.extents)
    extent += (extent.empty() ? "" : ", ") + std::to_string(side);
  program.shared.push_back(Node::line(fmt::format("shared {}: {}{}[{}]", tile.name, text(type),
                                                  slots > 1 ? fmt::format("[{}]", slots) : "", extent)));
  feature(fmt::format("tile.{}", tile.isOperand() ? "swizzled" : "row-major"));
  tiles.push_back(std::move(tile));
  return &tiles.back();
}

Channel *Kernel::addChannel(std::string producer, Stage stage) {
  const std::string name = fresh("c");
  Channel channel{.full = name + "_full", .free = name + "_free", .producer = std::move(producer)};
  channel.stage = stage;
  channel.slots = stage == Stage::Inside ? random.pick({1, 1, 2, 2, 2, 3, 3, 4, 5}) : 1;
  feature(stage == Stage::Inside ? fmt::format("channel.slots-{}", channel.slots) : "channel.once");
  channels.push_back(std::move(channel));
  return &channels.back();
}

std::string Kernel::generation(const Channel &channel, std::int64_t offset) const {
  if (channel.stage != Stage::Inside || loop.kind == LoopKind::None)
    return std::to_string(offset);
  return offset == 0 ? loop.generation : fmt::format("{} - {}", loop.generation, -offset);
}

std::string Kernel::tileText(const Tile &tile, const Channel &channel) const {
  return tile.slots == 1 ? tile.name : fmt::format("{}[{}]", tile.name, generation(channel));
}

std::string Kernel::wait(const Channel &channel) const {
  return fmt::format("wait {}[{}]", channel.full, generation(channel));
}

std::string Kernel::release(const Channel &channel, std::int64_t behind) const {
  return fmt::format("arrive {}[{}]", channel.free, generation(channel, -behind));
}

std::string Kernel::flag() {
  const std::string param = "FLAG = true";
  if (std::ranges::find(program.params, param) == program.params.end())
    program.params.push_back(param);
  return "FLAG";
}

std::string Kernel::function(const std::string &name, const std::string &body) {
  const std::string line = fmt::format("fn {}{}", name, body);
  if (std::ranges::find(program.functions, line) == program.functions.end())
    program.functions.push_back(line);
  return name;
}

std::string Kernel::realScalar(Number &number) {
  std::vector<const Argument *> known;
  for (const Argument &argument : program.arguments)
    if (argument.kind == Argument::Kind::Real)
      known.push_back(&argument);
  if (known.size() < 2 && (known.empty() || random.chance(40))) {
    Argument scalar{.name = fresh("scale"), .kind = Argument::Kind::Real, .text = "f32"};
    scalar.real = random.pick({0.5, -1.0, 2.0, 1.5, 0.25, -0.75});
    scalar.number = numberOf(scalar.real);
    program.arguments.push_back(scalar);
    feature("argument.scalar");
    number = scalar.number;
    return scalar.name;
  }
  const Argument &chosen = *random.pick(known);
  number = chosen.number;
  return chosen.name;
}

std::vector<const Axis *> Kernel::axesOutside() const {
  std::vector<const Axis *> axes;
  for (const Axis &axis : grid)
    axes.push_back(&axis);
  return axes;
}

std::vector<const Axis *> Kernel::axesInside() const {
  std::vector<const Axis *> axes = axesOutside();
  for (const Axis &axis : loop.axes)
    axes.push_back(&axis);
  return axes;
}

} // namespace flashqla::random
