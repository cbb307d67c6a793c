// Tensor arguments: which of their sides follow which axis, and the texts of windows and elements.
#include "tests/random/kernel.h"

#include <fmt/format.h>

#include <algorithm>

namespace flashqla::random {

std::string TensorUse::window(int dim, std::int64_t first, std::int64_t count) const {
  std::string text;
  for (const Side &side : sides) {
    text += text.empty() ? "" : ", ";
    const bool part = dim >= 0 && side.tileDim == dim;
    const std::string until = side.until.empty() ? "" : " until " + side.until;
    if (side.tileDim < 0)
      text += side.index;
    else if (part)
      text += fmt::format("{} + {} +: {}{}", side.index, first, count, until);
    else if (side.whole)
      text += ":";
    else
      text += fmt::format("{} +: {}{}", side.index, side.extent, until);
  }
  return fmt::format("{}[{}]", name, text);
}

namespace {

std::string place(const TensorUse::Side &side, const std::vector<std::string> &indices) {
  if (side.tileDim < 0)
    return side.index;
  const std::string &index = indices[side.tileDim];
  return side.whole || side.index == "0" ? index : fmt::format("{} + {}", side.index, index);
}

} // namespace

std::string TensorUse::element(const std::vector<std::string> &indices) const {
  std::string text;
  for (const Side &side : sides)
    text += (text.empty() ? "" : ", ") + place(side, indices);
  return fmt::format("{}[{}]", name, text);
}

std::string TensorUse::guard(const std::vector<std::string> &indices) const {
  std::string text;
  for (const Side &side : sides)
    if (!side.limit.empty())
      text += fmt::format("{}{} < {}", text.empty() ? "" : " && ", place(side, indices), side.limit);
  return text;
}

/// A side that holds all of the tile's dimension: of a size known when compiling, or of one up to it.
std::string Kernel::fullSize(std::int64_t extent, TensorUse::Side &side) {
  side.extent = std::to_string(extent);
  side.index = "0";
  if (random.chance(20)) {
    const std::string dim = fresh("D");
    addDim({dim, extent, extent}, true);
    side.whole = random.chance(50);
    feature("dim.static");
    return dim;
  }
  if (random.chance(25)) {
    const std::string dim = fresh("N");
    addDim({dim, 1, extent});
    side.limit = dim;
    feature("window.tail");
    return dim;
  }
  side.whole = random.chance(70);
  return std::to_string(extent);
}

TensorUse::Side Kernel::tileSide(const TensorSpec &spec, int dim, std::vector<const Axis *> &open, std::string &size) {
  const std::int64_t extent = spec.extents[dim];
  TensorUse::Side side{.tileDim = dim};
  std::vector<const Axis *> fitting;
  for (const Axis *axis : open)
    if (axis->tiled() && axis->block == extent && !(axis->packed && (spec.bulk ? dim != 0 || spec.extents.size() == 1
                                                                                 : spec.aligned && dim + 1 == std::ssize(spec.extents))))
      fitting.push_back(axis); // bulk copies want an `until` outermost and not innermost
  if (fitting.empty() || random.chance(25)) {
    size = fullSize(extent, side);
    return side;
  }
  const Axis *axis = random.pick(fitting);
  std::erase(open, axis);
  if (axis->packed) {
    std::erase_if(open, [&](const Axis *other) { return other->name == axis->sequence; });
    side.index = fmt::format("t0 + {}*{}", axis->name, extent);
    side.limit = side.until = "t1";
    feature("window.until");
  } else {
    side.index = fmt::format("{}*{}", axis->name, axis->blockText);
    side.limit = axis->dim;
    feature("window.tail");
  }
  side.extent = std::to_string(extent);
  size = axis->dim;
  return side;
}

std::optional<TensorUse> Kernel::tensor(const TensorSpec &spec) {
  TensorUse use{.name = fresh(spec.writes ? spec.reads ? "z" : "y" : "x"), .sides = {}};
  std::vector<const Axis *> open = spec.axes;
  std::vector<std::pair<TensorUse::Side, std::string>> sides;
  for (size_t dim = 0; dim < spec.extents.size(); ++dim) {
    std::string size;
    TensorUse::Side side = tileSide(spec, static_cast<int>(dim), open, size);
    sides.emplace_back(std::move(side), std::move(size));
  }
  const bool ragged = std::ranges::any_of(sides, [](auto &side) { return !side.first.until.empty(); });
  std::int64_t room = spec.bulk ? ragged ? 3 - static_cast<std::int64_t>(sides.size()) : 5 - static_cast<std::int64_t>(sides.size())
                                : 6 - static_cast<std::int64_t>(sides.size());
  if (spec.writes && static_cast<std::int64_t>(open.size()) > room)
    return std::nullopt;
  // A transposed tensor, where every element is named.
  if (!spec.copies && sides.size() == 2 && random.chance(30)) {
    std::swap(sides[0], sides[1]);
    feature("tensor.transposed");
  }
  for (const Axis *axis : open) {
    if (!spec.writes && (room == 0 || random.chance(60)))
      continue;
    --room;
    const bool last = !spec.bulk && !spec.aligned && random.chance(15);
    const size_t place = last ? sides.size() : random.below(sides.size());
    TensorUse::Side side;
    side.index = axis->name;
    if (last)
      feature("tensor.plain-index-last");
    sides.insert(sides.begin() + place, {side, axis->extent});
  }
  Argument argument{.name = use.name, .type = spec.type, .number = spec.number};
  argument.kind = !spec.writes ? Argument::Kind::Input : spec.reads ? Argument::Kind::InOut : Argument::Kind::Output;
  std::string sizes;
  for (auto &[side, size] : sides) {
    sizes += (sizes.empty() ? "" : ", ") + size;
    argument.sizes.push_back(size);
    use.sides.push_back(side);
  }
  if (spec.bulk || spec.aligned) // rows of a multiple of 16 bytes
    requireMultiple(sides.back().second, 16 / typeBytes(spec.type));
  argument.tight = spec.aligned || random.chance(spec.bulk ? 50 : 30);
  argument.strided = argument.tight || (!spec.bulk && random.chance(20));
  argument.text = fmt::format("{} {}[{}]{}",
                              !spec.writes ? "in" : spec.reads ? "inout" : "out", text(spec.type), sizes,
                              argument.tight ? " strided(16)" : argument.strided ? " strided" : "");
  feature(argument.tight ? "tensor.strided16" : argument.strided ? "tensor.strided" : "tensor.packed");
  program.arguments.push_back(std::move(argument));
  return use;
}

} // namespace flashqla::random
