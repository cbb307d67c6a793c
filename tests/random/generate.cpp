#include "tests/random/generate.h"

#include "tests/random/compute_role.h"
#include "tests/random/copy_roles.h"
#include "tests/random/minimise.h"

#include <fmt/format.h>

#include <algorithm>

namespace flashqla::random {
namespace {

class Generator {
public:
  explicit Generator(std::uint64_t seed) : kernel(seed), random(kernel.random) {}
  Program run();

private:
  void chooseRoles();
  void chooseRegisters();
  void chooseLoads();
  void declareBarriers();
  void warpgroups(std::vector<Node> computing);

  Kernel kernel;
  Random &random;
  std::vector<RoleSpec> compute; ///< in the order in which tiles go
  std::vector<std::string> loaders;
  std::string store;
  std::int64_t ioRegisters = 0;
};

void Generator::chooseRoles() {
  std::int64_t left = random.pick({1, 1, 2, 2, 3, 4});
  while (left > 0) {
    RoleSpec role{.name = kernel.fresh("work")};
    role.products = random.chance(75);
    if (left >= 2 && random.chance(35))
      (random.chance(60) ? role.warpgroups : role.instances) = 2;
    left -= role.warpgroups * role.instances;
    compute.push_back(std::move(role));
  }
  if (random.chance(20)) {
    RoleSpec warp{.name = kernel.fresh("small"), .warpgroups = 0, .products = false};
    if (random.chance(20))
      warp.instances = 2;
    compute.insert(compute.begin() + random.below(compute.size() + 1), std::move(warp));
    kernel.feature("role.computing-warp");
  }
  if (random.chance(30)) {
    kernel.addLets();
    kernel.feature("kernel.let");
  }
  const std::int64_t loading = random.pick({0, 1, 1, 1, 1, 2});
  for (std::int64_t i = 0; i < loading; ++i)
    loaders.push_back(kernel.fresh("load"));
  if (loading <= 1 && random.chance(50))
    store = "store";
  for (size_t i = 0; i < compute.size(); ++i) {
    compute[i].store = store;
    for (size_t j = i + 1; j < compute.size(); ++j)
      compute[i].later.push_back(compute[j].name);
    kernel.feature(compute[i].instances > 1 ? "role.each" : compute[i].warpgroups > 1 ? "role.two-warpgroups" : "role.one");
  }
}

/// All enter with the same number; what one does not need another gets.
void Generator::chooseRegisters() {
  std::int64_t groups = 0;
  bool smallWarp = false;
  for (const RoleSpec &role : compute) {
    groups += role.warpgroups * role.instances;
    smallWarp |= role.warpgroups == 0;
  }
  const bool io = smallWarp || !loaders.empty() || !store.empty();
  const std::int64_t all = groups + io, entry = std::min<std::int64_t>(248, 512 / (all * kernel.program.resident) / 8 * 8);
  ioRegisters = smallWarp ? std::min<std::int64_t>(96, entry) : random.pick({24, 32, 40});
  std::int64_t each = entry;
  if (io && random.chance(80))
    each = std::min<std::int64_t>(240, (entry * all - ioRegisters) / groups / 8 * 8);
  else
    ioRegisters = entry;
  kernel.feature(each == ioRegisters ? "registers.equal" : "registers.moved");
  for (RoleSpec &role : compute) {
    role.registers = role.warpgroups == 0 ? ioRegisters : each;
    role.productColumns = std::min<std::int64_t>(256, (entry - 30) / 4 * 8);
  }
}

void Generator::chooseLoads() {
  const std::int64_t count = loaders.empty() ? 0 : random.between(static_cast<std::int64_t>(loaders.size()), 3);
  for (std::int64_t i = 0; i < count; ++i) {
    Channel *channel = kernel.addChannel(loaders[i % loaders.size()], random.chance(82) ? Stage::Inside : Stage::Before);
    const std::int64_t tiles = random.pick({1, 1, 2, 2, 3});
    for (std::int64_t t = 0; t < tiles; ++t) {
      const Type type = random.chance(85) ? kernel.mainType : random.pick({Type::F32, Type::F32, Type::BF16, Type::F16});
      std::vector<std::int64_t> extents = {kernel.anyExtent(), kernel.anyExtent()};
      if (random.chance(15)) {
        extents.erase(extents.begin());
      } else if (random.chance(8)) {
        extents.insert(extents.begin(), random.between(2, 3));
        kernel.feature("tile.rank-3");
      }
      if (Tile *tile = kernel.addTile(type, extents, channel->slots)) {
        tile->number = kernel.inputNumber();
        tile->known = true;
        channel->tiles.push_back(tile);
      }
    }
    if (channel->tiles.empty()) {
      kernel.channels.pop_back();
      continue;
    }
    std::vector<std::string> names;
    for (const RoleSpec &role : compute)
      names.push_back(role.name);
    random.shuffle(names);
    names.resize(std::min<size_t>(names.size(), random.pick({1, 1, 1, 2, 3})));
    channel->consumers = names;
    kernel.feature(fmt::format("channel.consumers-{}", names.size()));
  }
}

void Generator::declareBarriers() {
  for (const Channel &channel : kernel.channels) {
    kernel.program.barriers.push_back({channel.full, channel.slots, {channel.producer}, channel.consumers});
    if (channel.stage == Stage::Inside)
      kernel.program.barriers.push_back({channel.free, channel.slots, channel.consumers, {channel.producer}});
  }
}

/// Roles with their headers; warps together in one warpgroup.
void Generator::warpgroups(std::vector<Node> computing) {
  std::vector<Node> warps, groups;
  for (size_t i = 0; i < compute.size(); ++i) {
    const RoleSpec &role = compute[i];
    const std::string each = role.instances > 1 ? fmt::format(" each w in 0 .. {}", role.instances) : "";
    if (role.warpgroups == 0) {
      computing[i].text = fmt::format("warp {}{}", role.name, each);
      warps.push_back(std::move(computing[i]));
      continue;
    }
    computing[i].text = fmt::format("warpgroup {}{}{} regs {}", role.name,
                                    role.warpgroups > 1 ? fmt::format("[{}]", role.warpgroups) : "", each, role.registers);
    groups.push_back(std::move(computing[i]));
  }
  for (const std::string &loader : loaders)
    warps.push_back(loaderRole(kernel, loader));
  if (!store.empty())
    warps.push_back(storeRole(kernel, store));
  std::erase_if(warps, [](const Node &warp) { return warp.body.empty(); });
  random.shuffle(warps);
  if (!warps.empty()) {
    Node io = Node::braces(fmt::format("warpgroup io regs {}", ioRegisters));
    io.body = std::move(warps);
    groups.insert(groups.begin() + random.below(groups.size() + 1), std::move(io));
  }
  kernel.program.roles = std::move(groups);
}

Program Generator::run() {
  kernel.chooseGrid();
  kernel.program.resident = random.pick({1, 1, 1, 1, 1, 1, 1, 2});
  kernel.chooseLoop();
  chooseRoles();
  chooseRegisters();
  chooseLoads();
  std::vector<Node> computing;
  for (RoleSpec &role : compute) {
    for (Channel &channel : kernel.channels)
      if (std::ranges::find(channel.consumers, role.name) != channel.consumers.end())
        role.inputs.push_back(&channel);
    computing.push_back(ComputeRole(kernel, role).generate());
  }
  warpgroups(std::move(computing));
  declareBarriers();
  kernel.chooseCases();
  kernel.feature(kernel.approximate ? "program.approximate" : "program.exact");
  tidy(kernel.program);
  return std::move(kernel.program);
}

} // namespace

Program generate(std::uint64_t seed) { return Generator(seed).run(); }

} // namespace flashqla::random
