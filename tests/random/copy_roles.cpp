#include "tests/random/copy_roles.h"

#include <fmt/format.h>

#include <algorithm>

namespace flashqla::random {
namespace {

class Copies {
public:
  explicit Copies(Kernel &kernel) : kernel(kernel), random(kernel.random) {}

  std::vector<Node> load(const Channel &channel);
  std::vector<Node> store(const Channel &channel);
  /// Whether a store is left for the end of the role.
  bool inFlight = false;

private:
  std::vector<const Axis *> axes(const Channel &channel) const {
    return channel.stage == Stage::Inside ? kernel.axesInside() : kernel.axesOutside();
  }
  std::vector<Node> loadTile(const Tile &tile, const Channel &channel);
  TensorUse source(const Tile &tile, const Channel &channel);

  Kernel &kernel;
  Random &random;
};

TensorUse Copies::source(const Tile &tile, const Channel &channel) {
  TensorSpec spec{.type = tile.type, .extents = tile.extents, .axes = axes(channel), .bulk = true, .number = tile.number};
  return *kernel.tensor(spec);
}

std::vector<Node> Copies::loadTile(const Tile &tile, const Channel &channel) {
  const std::string text = kernel.tileText(tile, channel);
  const std::string full = fmt::format("{}[{}]", channel.full, kernel.generation(channel));
  auto copy = [&](const std::string &to, const std::string &from) {
    return Node::line(fmt::format("copy.tma {} <- {} => {}", to, from, full));
  };
  const TensorUse use = source(tile, channel);
  kernel.feature("copy.bulk-load");
  if (tile.extents.size() == 2 && tile.extents[0] >= 16 && random.chance(15)) { // in two parts
    const std::int64_t first = 8 * random.between(1, tile.extents[0] / 8 - 1);
    kernel.feature("copy.in-parts");
    return {copy(fmt::format("{}[0 +: {}, :]", text, first), use.window(0, 0, first)),
            copy(fmt::format("{}[{} +: {}, :]", text, first, tile.extents[0] - first), use.window(0, first, tile.extents[0] - first))};
  }
  if (random.chance(10) && kernel.program.arguments.size() < 8 && channel.stage == Stage::Inside && !kernel.loop.axes.empty()) {
    Node branch = Node::braces(fmt::format("if {} % 2 == 0", kernel.loop.axes.back().name));
    branch.body.push_back(copy(text, use.window()));
    branch.hasElse = true;
    branch.otherwise.push_back(copy(text, source(tile, channel).window()));
    kernel.feature("copy.branched");
    return {branch};
  }
  return {copy(text, use.window())};
}

std::vector<Node> Copies::load(const Channel &channel) {
  std::vector<Node> lines;
  if (channel.stage == Stage::Inside)
    lines.push_back(Node::line(fmt::format("wait {}[{}]", channel.free, kernel.generation(channel, -channel.slots))));
  for (const Tile *tile : channel.tiles)
    for (Node &node : loadTile(*tile, channel))
      lines.push_back(std::move(node));
  lines.push_back(Node::line(fmt::format("arrive {}[{}]", channel.full, kernel.generation(channel))));
  return lines;
}

std::vector<Node> Copies::store(const Channel &channel) {
  std::vector<Node> lines = {Node::line(kernel.wait(channel))};
  const Tile &tile = *channel.tiles.front();
  const std::string text = kernel.tileText(tile, channel);
  TensorSpec spec{.type = tile.type, .extents = tile.extents, .axes = axes(channel), .writes = true, .reads = false, .bulk = true};
  spec.number = tile.number;
  std::optional<TensorUse> use = kernel.tensor(spec);
  if (use) {
    lines.push_back(Node::line(fmt::format("copy.tma {} <- {}", use->window(), text)));
    const bool inside = channel.stage == Stage::Inside;
    if (inside && channel.slots >= 2 && kernel.loop.kind != LoopKind::None && random.chance(30)) {
      // The newest store may still be reading.
      const std::string before = kernel.generation(channel, -1);
      lines.push_back(Node::line(fmt::format("await {}[{}]", tile.name, before)));
      lines.push_back(Node::line(kernel.release(channel, 1)));
      kernel.feature("store.rolling");
      inFlight = true;
      return lines;
    }
    lines.push_back(Node::line(random.chance(50) ? "await copy.tma" : "await " + text));
    inFlight = true;
  } else {
    spec.bulk = false;
    if ((use = kernel.tensor(spec)))
      lines.push_back(Node::line(fmt::format("copy {} <- {}", use->window(), text)));
  }
  if (channel.stage == Stage::Inside)
    lines.push_back(Node::line(kernel.release(channel)));
  return lines;
}

Node role(Kernel &kernel, const std::string &name, bool loads) {
  Node node = Node::braces("warp " + name);
  node.role = name;
  Copies copies(kernel);
  std::vector<Node> stages[3];
  std::vector<const Channel *> channels;
  for (const Channel &channel : kernel.channels)
    if (loads ? channel.producer == name : std::ranges::find(channel.consumers, name) != channel.consumers.end())
      channels.push_back(&channel);
  kernel.random.shuffle(channels);
  for (const Channel *channel : channels)
    for (Node &line : loads ? copies.load(*channel) : copies.store(*channel))
      stages[static_cast<size_t>(channel->stage)].push_back(std::move(line));
  if (!stages[1].empty())
    stages[1] = kernel.loop.around(std::move(stages[1]));
  for (std::vector<Node> &stage : stages)
    for (Node &line : stage)
      node.body.push_back(std::move(line));
  if (copies.inFlight)
    node.body.push_back(Node::line("await copy.tma"));
  return node;
}

} // namespace

Node loaderRole(Kernel &kernel, const std::string &name) { return role(kernel, name, true); }
Node storeRole(Kernel &kernel, const std::string &name) { return role(kernel, name, false); }

} // namespace flashqla::random
