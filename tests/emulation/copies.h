// Asynchronous copies between global and shared memory: bulk copies through tensor maps, and
// per-thread copies (cp.async).
//
// A bulk load completes on an mbarrier; bulk stores and per-thread copies belong to groups of the
// thread that issued them, which alone can wait for them. Copies are not ordered among each other.
// When they take effect is the launch's `Timing`.
#pragma once

#include "tests/emulation/barriers.h"
#include "tests/emulation/global_memory.h"
#include "tests/emulation/map_image.h"
#include "tests/emulation/options.h"
#include "tests/emulation/shared_memory.h"

#include <cstdint>
#include <functional>
#include <list>
#include <map>

namespace flashqla::emulation {

class Copies {
public:
  Copies(SharedMemory &shared, Mbarriers &barriers, const GlobalMemory &memory, Timing timing,
         Random &random)
      : shared(shared), barriers(barriers), memory(memory), timing(timing), random(random) {}
  void reset();

  void loadBox(unsigned thread, int line, const MapImage &map, const int *coordinates,
               std::uint32_t target, std::uint32_t barrier);
  void storeBox(unsigned thread, int line, const MapImage &map, const int *coordinates,
                std::uint32_t source);
  void commitStores(unsigned thread) { ++storeGroups[thread]; }
  /// All but the newest `keep` groups of the thread have read their tiles.
  void waitStores(unsigned thread, unsigned keep);

  /// cp.async: `valid` bytes from `source`, then zeros.
  void copyPiece(unsigned thread, int line, std::uint32_t target, const void *source,
                 std::uint32_t bytes, std::uint32_t valid);
  void commitPieces(unsigned thread) { ++pieceGroups[thread]; }
  void waitPieces(unsigned thread, unsigned keep);

  /// Called between turns: lands a copy if the timing wants it, or if nobody can run (`idle`) and
  /// there is one. Returns whether it did.
  bool advance(bool idle);
  /// A thread must not end before its stores have read their tiles.
  void checkThreadEnd(unsigned thread) const;
  void checkCtaEnd() const;

private:
  struct Transfer {
    enum class Kind : std::uint8_t { Load, Store, Piece } kind;
    unsigned thread;
    int line;
    std::uint64_t group; // of the thread, for stores and pieces
    std::uint32_t tile, bytes;
    std::function<void()> land;
  };
  using Place = std::list<Transfer>::iterator;

  void start(Transfer transfer);
  void finish(Place transfer);
  void finishGroups(Transfer::Kind kind, unsigned thread, std::uint64_t before);
  void checkMap(const MapImage &map, std::uint32_t tile) const;
  static void checkStart(const MapImage &map, const int *coordinates, bool store);

  SharedMemory &shared;
  Mbarriers &barriers;
  const GlobalMemory &memory;
  const Timing timing;
  Random &random;
  std::list<Transfer> flying;
  std::map<unsigned, std::uint64_t> storeGroups, pieceGroups; // by thread: groups committed
};

} // namespace flashqla::emulation
