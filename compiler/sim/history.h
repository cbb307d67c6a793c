/// Who touched the elements of a tile's slot last (FastTrack: Flanagan and Freund, PLDI 2009).
///
/// An access is right if everything that conflicts with it – an earlier write, or for a write an earlier access of any
/// kind to one of its elements – is known to the clock of the one who makes it.
#pragma once

#include "compiler/sim/clock.h"
#include "compiler/sim/finding.h"
#include "compiler/sim/region.h"

namespace flashqla::sim {

/// How an access reaches memory (PTX ISA, "Proxies").
enum class Proxy : uint8_t {
  Generic, ///< loads and stores of threads, cp.async
  Async,   ///< bulk copies and products
};

/// Who makes an access.
enum class Actor : uint8_t {
  Threads,   ///< the role's threads, complete with the statement
  Product,   ///< the tensor cores, until its group is awaited
  BulkLoad,  ///< the copy engine, until its barrier's generation is complete
  BulkStore, ///< the copy engine, until its group is awaited
  AsyncCopy, ///< the threads' cp.async, until its group is awaited
};

struct Access {
  Region region;
  Epoch epoch;
  Actor actor;
  uint32_t role; ///< that issued it
  int64_t generation;
  Where where;
};

inline Proxy proxyOf(Actor actor) {
  return actor == Actor::Threads || actor == Actor::AsyncCopy ? Proxy::Generic : Proxy::Async;
}

class History {
public:
  /// Calls `visit` for each earlier access that conflicts with this one.
  template <class Visit> void conflicts(const Access &access, bool write, Visit visit) const {
    for (const Access &earlier : writes)
      if (earlier.region.overlaps(access.region))
        visit(earlier, /*wrote=*/true);
    if (write)
      for (const Access &earlier : reads)
        if (earlier.region.overlaps(access.region))
          visit(earlier, /*wrote=*/false);
  }
  void addRead(Access access);
  void addWrite(Access access);
  /// What is left of a region without the elements whose last write is of this generation; empty if that is nothing.
  Region unwritten(const Region &region, int64_t generation) const;
  /// The last write of any generation; null if there is none.
  const Access *lastWrite() const { return writes.empty() ? nullptr : &writes.back(); }

private:
  std::vector<Access> writes, reads;
};

} // namespace flashqla::sim
