#include "tests/emulation/copies.h"

#include "tests/emulation/violation.h"

#include <array>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

namespace flashqla::emulation {

namespace {

/// PTX ISA: a tile of a tensor copy begins at a multiple of 128 bytes.
constexpr std::uint32_t tileAlignment = 128;

using Coordinates = std::array<int, 5>;

Coordinates copied(const MapImage &map, const int *coordinates) {
  Coordinates result = {};
  std::copy_n(coordinates, map.rank, result.begin());
  return result;
}

} // namespace

void Copies::reset() {
  flying.clear();
  storeGroups.clear();
  pieceGroups.clear();
}

void Copies::checkMap(const MapImage &map, std::uint32_t tile) const {
  if (map.magic != MapImage::validMagic)
    violate("a bulk copy through a parameter that is no tensor map");
  if (tile % tileAlignment)
    violate("a bulk copy with a tile at {}, which is no multiple of {}", shared.describe(tile),
            tileAlignment);
}

/// What ends a kernel on the chip (docs/hopper.md, "Bulk copies").
void Copies::checkStart(const MapImage &map, const int *coordinates, bool store) {
  if (const int byte = coordinates[0] * map.elementBytes; byte % 16)
    violate("a bulk copy at column {}, byte {}, which is no multiple of 16", coordinates[0], byte);
  for (int i = 0; store && i < map.rank; ++i)
    if (coordinates[i] < 0)
      violate("a bulk store at coordinate {} of dimension {}", coordinates[i], i);
  const std::uint64_t rowBytes = map.extents[0] * map.elementBytes;
  if (store && rowBytes % 16 &&
      coordinates[0] + map.box[0] > static_cast<std::int64_t>(map.extents[0]))
    violate("a bulk store over the end of rows of {} bytes, which it writes up to the next "
            "multiple of 16",
            rowBytes);
}

void Copies::loadBox(unsigned thread, int line, const MapImage &map, const int *coordinates,
                     std::uint32_t target, std::uint32_t barrier) {
  checkMap(map, target);
  checkStart(map, coordinates, false);
  auto land = [this, map, at = copied(map, coordinates), target, barrier] {
    shared.endLanding(target, map.boxBytes());
    map.walk(at.data(), target, [&](std::uint32_t address, std::uint64_t element) {
      std::byte value[8];
      std::memset(value, map.fillByte, sizeof value);
      if (element) {
        if (!memory.contains(element, map.elementBytes))
          violate("a bulk load reads {:#x}, which is in no tensor", element);
        std::memcpy(value, reinterpret_cast<const void *>(element), map.elementBytes);
      }
      shared.writeAsync(address, value, map.elementBytes);
    });
    barriers.completeBytes(barrier, map.boxBytes()); // the whole box, whatever was outside
  };
  shared.beginLanding(target, map.boxBytes(), /*fenced=*/true);
  start({Transfer::Kind::Load, thread, line, 0, target, map.boxBytes(), std::move(land)});
}

void Copies::storeBox(unsigned thread, int line, const MapImage &map, const int *coordinates,
                      std::uint32_t source) {
  checkMap(map, source);
  checkStart(map, coordinates, true);
  auto land = [this, map, at = copied(map, coordinates), source] {
    map.walk(at.data(), source, [&](std::uint32_t address, std::uint64_t element) {
      if (!element)
        return;
      if (!memory.contains(element, map.elementBytes))
        violate("a bulk store writes {:#x}, which is in no tensor", element);
      shared.readAsync(address, reinterpret_cast<void *>(element), map.elementBytes);
    });
    shared.endReading(source, map.boxBytes());
  };
  shared.beginReading(source, map.boxBytes());
  start({Transfer::Kind::Store, thread, line, storeGroups[thread], source, map.boxBytes(),
         std::move(land)});
}

void Copies::copyPiece(unsigned thread, int line, std::uint32_t target, const void *source,
                       std::uint32_t bytes, std::uint32_t valid) {
  const auto from = reinterpret_cast<std::uint64_t>(source);
  if (valid > bytes)
    violate("cp.async of {} bytes with {} valid ones", bytes, valid);
  if (from % bytes || target % bytes)
    violate("cp.async of {} bytes from {:#x} to {}", bytes, from, shared.describe(target));
  if (valid && !memory.contains(from, valid))
    violate("cp.async reads {} bytes at {:#x}, which are in no tensor", valid, from);
  auto land = [this, thread, target, source, bytes, valid] {
    std::byte value[16] = {};
    std::memcpy(value, source, valid);
    shared.endLanding(target, bytes);
    shared.write(thread, target, value, bytes);
  };
  shared.beginLanding(target, bytes, /*fenced=*/false); // as a store by the thread: no other proxy
  start({Transfer::Kind::Piece, thread, line, pieceGroups[thread], target, bytes, std::move(land)});
}

void Copies::start(Transfer transfer) {
  flying.push_back(std::move(transfer));
  if (timing == Timing::Early || (timing == Timing::Random && random.coin()))
    finish(std::prev(flying.end()));
}

void Copies::finish(Place place) {
  const Transfer transfer = std::move(*place);
  flying.erase(place);
  try {
    transfer.land();
  } catch (const Violation &violation) {
    violate("{} (the copy that thread {} issued in line {})", violation.what(), transfer.thread,
            transfer.line);
  }
}

void Copies::finishGroups(Transfer::Kind kind, unsigned thread, std::uint64_t before) {
  for (auto place = flying.begin(); place != flying.end();) {
    const auto next = std::next(place);
    if (place->kind == kind && place->thread == thread && place->group < before)
      finish(place);
    place = next;
  }
}

void Copies::waitStores(unsigned thread, unsigned keep) {
  const std::uint64_t groups = storeGroups[thread];
  finishGroups(Transfer::Kind::Store, thread, groups > keep ? groups - keep : 0);
}

void Copies::waitPieces(unsigned thread, unsigned keep) {
  const std::uint64_t groups = pieceGroups[thread];
  finishGroups(Transfer::Kind::Piece, thread, groups > keep ? groups - keep : 0);
}

bool Copies::advance(bool idle) {
  // Nobody sleeps until a store or a piece has landed: whoever waits for one makes it land. So only
  // loads can let an idle CTA go on.
  std::vector<Place> candidates;
  if (idle || (timing == Timing::Random && random.below(4) == 0))
    for (auto place = flying.begin(); place != flying.end(); ++place)
      if (!idle || place->kind == Transfer::Kind::Load)
        candidates.push_back(place);
  if (candidates.empty())
    return false;
  finish(candidates[random.below(static_cast<unsigned>(candidates.size()))]);
  return true;
}

void Copies::checkThreadEnd(unsigned thread) const {
  for (const Transfer &transfer : flying)
    if (transfer.kind == Transfer::Kind::Store && transfer.thread == thread)
      violate("the thread ends before its bulk store of line {} has read {}", transfer.line,
              shared.describe(transfer.tile));
}

void Copies::checkCtaEnd() const {
  for (const Transfer &transfer : flying)
    if (transfer.kind == Transfer::Kind::Load)
      violate("the CTA ends before the bulk load of line {} into {} has landed", transfer.line,
              shared.describe(transfer.tile));
}

} // namespace flashqla::emulation
