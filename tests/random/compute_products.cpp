// Products: operands in all their forms, targets and windows of them.
#include "tests/random/compute_role.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace flashqla::random {
namespace {

std::int64_t multipleBelow(std::int64_t most, std::int64_t unit) { return most / unit * unit; }

/// Where a window may start. One of columns starts with a panel of the tile's swizzle, or lies inside one.
std::vector<std::int64_t> windowStarts(std::int64_t extent, std::int64_t side, bool columns) {
  const std::int64_t panel = columns ? std::min<std::int64_t>(extent, 64) : 8;
  std::vector<std::int64_t> starts;
  for (std::int64_t start = 0; start + side <= extent; start += 8)
    if (start % panel == 0 || start % panel + side <= panel)
      starts.push_back(start);
  return starts;
}

} // namespace

std::vector<ComputeRole::Operand> ComputeRole::sharedOperands() {
  std::vector<Operand> found;
  for (View &view : views) {
    if (!view.readable || !view.tile->isOperand())
      continue;
    Operand operand{.text = view.text, .tile = view.tile, .number = view.tile->number, .type = view.tile->type, .view = &view};
    operand.rows = view.tile->extents[0];
    operand.columns = view.tile->extents[1];
    found.push_back(operand);
    std::swap(operand.rows, operand.columns);
    operand.transposed = true;
    found.push_back(operand);
  }
  return found;
}

std::vector<ComputeRole::Operand> ComputeRole::leftOperands(bool shared) {
  std::vector<Operand> found = sharedOperands();
  if (shared)
    return found;
  for (Fragment &fragment : fragments) {
    if (!accumulates(fragment.extents) || !fragment.written || fragment.extents[1] % 16 != 0)
      continue;
    Operand operand{.text = fragment.name, .fragment = &fragment, .number = fragment.number, .type = fragment.type};
    operand.rows = fragment.extents[0];
    operand.columns = fragment.extents[1];
    found.push_back(operand);
    found.push_back(operand); // half as likely as a tile read in two ways
  }
  return found;
}

/// The first rows and columns of an operand, or some others.
std::string ComputeRole::windowed(const Operand &operand, std::int64_t rows, std::int64_t columns) {
  if (!operand.tile) {
    if (columns == operand.columns)
      return operand.text;
    kernel.feature("product.a-fragment-window");
    return fmt::format("{}[:, {} +: {}]", operand.text, 8 * random.below((operand.columns - columns) / 8 + 1), columns);
  }
  std::int64_t sides[2] = {rows, columns};
  if (operand.transposed)
    std::swap(sides[0], sides[1]);
  const std::string suffix = operand.transposed ? ".T" : "";
  const std::vector<std::int64_t> &extents = operand.tile->extents;
  if (sides[0] == extents[0] && sides[1] == extents[1] && random.chance(90))
    return operand.text + suffix;
  std::string window;
  for (int dim : {0, 1}) {
    const std::int64_t start = random.pick(windowStarts(extents[dim], sides[dim], dim == 1));
    const bool whole = sides[dim] == extents[dim] && random.chance(60);
    window += (dim ? ", " : "") + (whole ? std::string(":") : fmt::format("{} +: {}", start, sides[dim]));
  }
  kernel.feature("product.window");
  return fmt::format("{}[{}]{}", operand.text, window, suffix);
}

/// An accumulator for a product of this shape: a new one, or one that has room for the sum.
Fragment *ComputeRole::productTarget(std::int64_t rows, std::int64_t columns, const Number &number, std::string &text,
                                     std::string &op) {
  std::vector<Fragment *> fitting;
  const double size = std::ldexp(1.0, number.magnitude);
  for (Fragment &fragment : fragments) {
    if (fragment.type != Type::F32 || !fragment.written || !accumulates(fragment.extents) ||
        fragment.extents[0] != rows || fragment.extents[1] < columns || !number.exact() || !fragment.number.exact() ||
        number.fraction > fragment.number.fraction)
      continue;
    const double repeated = size * static_cast<double>(factor / fragment.factor);
    if (fragment.used + repeated <= std::ldexp(1.0, fragment.number.magnitude - 1))
      fitting.push_back(&fragment);
  }
  if (!fitting.empty() && random.chance(60)) {
    Fragment *fragment = random.pick(fitting);
    op = random.pick({"+=", "+=", "-=", "="});
    if (op != "=")
      fragment->used += size * static_cast<double>(factor / fragment->factor);
    text = fragment->name;
    if (fragment->extents[1] > columns) {
      text += fmt::format("[:, {} +: {}]", 8 * random.below((fragment->extents[1] - columns) / 8 + 1), columns);
      kernel.feature("product.target-window");
    }
    return fragment;
  }
  Number bound = number;
  if (number.exact())
    bound.magnitude = std::min(number.magnitude + static_cast<int>(random.below(3)), exactBits - number.fraction);
  // Into a part of a wider accumulator whose other columns keep their start.
  const std::int64_t width = random.chance(10) && columns <= 128 ? columns + 8 * random.between(1, 8) : columns;
  const bool initial = width > columns || random.chance(30);
  Fragment *fragment = addFragment(Type::F32, {rows, width}, initial ? "0" : "");
  if (!fragment)
    return nullptr;
  fragment->written = true;
  fragment->number = bound;
  fragment->used = size;
  text = fragment->name;
  if (width > columns) {
    text += fmt::format("[:, {} +: {}]", 8 * random.below((width - columns) / 8 + 1), columns);
    kernel.feature("product.target-window");
  }
  op = initial && random.chance(70) ? random.pick({"+=", "-="}) : "=";
  return fragment;
}

bool ComputeRole::productOf(Operand a, const Operand &b, std::int64_t rows, std::int64_t columns, std::int64_t inner) {
  Number number = total(times(a.number, b.number), inner);
  if (!number.fits() || !number.useful())
    return false;
  std::string target, op;
  if (a.fragment && a.fragment->type == Type::F32 && !holds(b.type, a.number))
    return false;
  Fragment *into = productTarget(rows, columns, number, target, op);
  if (!into || into == a.fragment)
    return false;
  std::vector<Access> accesses;
  std::vector<const Tile *> tiles;
  for (const Operand *operand : std::initializer_list<const Operand *>{&a, &b})
    if (operand->tile) {
      accesses.push_back({operand->tile, Use::Product});
      tiles.push_back(operand->tile);
    }
  std::vector<const Fragment *> reads;
  if (a.fragment)
    reads.push_back(a.fragment);
  // The compiler takes "=" for an ordinary write that must not meet older sums; products of different columns of one
  // accumulator are not ordered.
  if (op == "=" || std::ranges::any_of(groups, [&](const Group &group) { return group.target == into && group.text != target; }))
    awaitFragment(*into);
  before(accesses, reads, {});
  const bool casts = a.fragment && a.fragment->type == Type::F32;
  std::string left = windowed(a, rows, inner);
  if (casts)
    left = fmt::format("{}({})", kernel.text(b.type), left);
  emit(fmt::format("wgmma {} {} {} @ {}", target, op, left, windowed(b, inner, columns)));
  noteProduct(*into, a.fragment && !casts ? a.fragment : nullptr, tiles, target);
  kernel.feature(casts ? "product.a-rounded" : a.fragment ? "product.a-registers" : a.transposed ? "product.a-transposed" : "product.a-shared");
  kernel.feature(b.transposed ? "product.b-transposed" : "product.b-shared");
  kernel.feature("product." + std::string(op == "=" ? "set" : op == "+=" ? "add" : "subtract"));
  kernel.feature(fmt::format("product.n-{}", columns <= 32 ? "small" : columns <= 128 ? "middle" : "large"));
  return true;
}

bool ComputeRole::product() {
  std::vector<std::pair<Operand, Operand>> pairs;
  const std::vector<Operand> right = sharedOperands();
  for (const Operand &a : leftOperands(false))
    for (const Operand &b : right) {
      const bool sameType = a.fragment && a.type == Type::F32 ? true : a.type == b.type;
      if (!sameType || a.rows < 64 * spec.warpgroups)
        continue;
      if (a.fragment && a.type == Type::F32 ? a.columns <= b.rows : std::min(a.columns, b.rows) >= 16)
        pairs.emplace_back(a, b);
    }
  if (pairs.empty())
    return false;
  for (int tries = 0; tries < 3; ++tries) {
    const auto &[a, b] = random.pick(pairs);
    if (productOf(a, b))
      return true;
  }
  return false;
}

bool ComputeRole::productOf(const Operand &a, const Operand &b) {
  std::int64_t rows = a.fragment ? a.rows : multipleBelow(a.rows, 64 * spec.warpgroups);
  if (!a.fragment && random.chance(50))
    rows = 64 * spec.warpgroups;
  std::int64_t inner = multipleBelow(std::min(a.columns, b.rows), 16), columns = std::min(b.columns, spec.productColumns);
  const bool windows = !a.fragment || a.type != Type::F32;
  if (windows && random.chance(15))
    inner = 16 * random.between(1, inner / 16);
  if (random.chance(15))
    columns = 8 * random.between(1, columns / 8);
  return productOf(a, b, rows, columns, inner);
}

/// Only products that roll on: the tiles of a trip are given back in the next.
bool ComputeRole::rollingBody(std::vector<Node> &body) {
  std::vector<Channel *> inside;
  for (Channel *channel : spec.inputs)
    if (channel->stage == Stage::Inside)
      inside.push_back(channel);
  const bool deep = std::ranges::all_of(inside, [](const Channel *channel) { return channel->slots >= 2; });
  if (!spec.products || inside.empty() || !deep || !random.chance(40) || kernel.loop.kind == LoopKind::None)
    return false;
  std::int64_t started = 0;
  std::vector<const Tile *> read;
  if (!pending.empty())
    sync();
  const size_t viewsBefore = views.size();
  body = block(
      [&] {
        for (Channel *channel : inside)
          take(*channel);
        std::vector<std::pair<Operand, Operand>> pairs;
        for (const Operand &a : leftOperands(true))
          for (const Operand &b : sharedOperands())
            if (a.type == b.type && a.rows >= 64 * spec.warpgroups && std::min(a.columns, b.rows) >= 16)
              pairs.emplace_back(a, b);
        for (std::int64_t i = 0; i < 2 && !pairs.empty(); ++i) {
          auto [a, b] = random.pick(pairs);
          const std::int64_t inner = multipleBelow(std::min(a.columns, b.rows), 16);
          const Number number = total(times(a.number, b.number), inner);
          const double size = std::ldexp(1.0, number.magnitude) * static_cast<double>(kernel.loop.mostTrips);
          for (Fragment &fragment : fragments) {
            if (!accumulates(fragment.extents) || fragment.type != Type::F32 || fragment.extents[0] > a.rows ||
                fragment.extents[1] > std::min(b.columns, spec.productColumns) || !number.exact() || number.fraction > fragment.number.fraction ||
                fragment.used + size > std::ldexp(1.0, fragment.number.magnitude - 1))
              continue;
            fragment.used += size;
            for (const Tile *tile : {a.tile, b.tile})
              read.push_back(tile);
            emit(fmt::format("wgmma {} {} {} @ {}", fragment.name, random.pick({"+=", "-="}),
                             windowed(a, fragment.extents[0], inner), windowed(b, inner, fragment.extents[1])));
            ++started;
            break;
          }
        }
        emit(started == 0 || random.chance(80) ? fmt::format("await wgmma {}", started) : "await wgmma");
        for (Channel *channel : inside)
          emit(kernel.release(*channel, 1));
      },
      kernel.loop.mostTrips);
  for (View &view : views)
    if (std::ranges::any_of(inside, [&](Channel *channel) { return std::ranges::find(channel->tiles, view.tile) != channel->tiles.end(); }))
      view.readable = view.writable = false;
  if (started == 0) {
    while (views.size() > viewsBefore)
      views.pop_back();
    return false;
  }
  for (const Tile *tile : read)
    pending.push_back({tile, Use::Read, -1, false, {}});
  kernel.feature("await.rolling");
  return true;
}

} // namespace flashqla::random
