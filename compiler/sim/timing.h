/// The arithmetic of time for one CTA: when its roles are where, when its engines are free, when barriers complete.
///
/// Like the machine (machine.h) it knows no kernels. Whoever runs one tells it each step of each role, always of the role
/// that is the furthest behind, so that engines get their work in the order of time:
///
///     Engines engines;
///     Timing timing(costs, engines, /*roles=*/2, /*barriers=*/1);
///     timing.load(load, full, 0, 16384, cause);     // the copy engine takes it, and it lands later
///     timing.arrive(load, full, 0, cause);
///     timing.wait(mma, full, 0);                    // {begin, end}: until it has landed, and `mma` has woken up
///     timing.product(mma, 4, 512);                  // the tensor cores take it
///     timing.awaitProducts(mma, 0);
///
/// A wait comes after all arrivals and copies of its generation have been told: their times are known then, even where
/// they lie ahead.
#pragma once

#include "compiler/sim/cost_model.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace flashqla::sim {

using Cycles = int64_t;

struct Period {
  Cycles begin = 0, end = 0;
};

/// A unit that all roles of a multiprocessor share. It works on one thing after the other.
class Engine {
public:
  /// The period in which it works on something that it gets at `now`.
  Period occupy(Cycles now, Cycles cycles);
  /// Something that takes a role `cycles`, of which this unit works for `share`: the end, where the unit is not behind.
  Cycles take(Cycles now, Cycles cycles, Cycles share);
  Cycles busy() const { return total; }

private:
  Cycles free = 0, total = 0;
};

/// Those of a multiprocessor.
struct Engines {
  Engine tensor, copyIn, copyOut, arithmetic;
  Engine global; ///< the way of threads' loads and stores to global memory
};

class Timing {
public:
  using Role = uint32_t;
  using Barrier = uint32_t;
  /// Whatever the caller wants to find again as the reason of a completion.
  using Cause = uint32_t;
  static constexpr Cause noCause = UINT32_MAX;

  /// Times are rounded to whole cycles, away from zero.
  Timing(const Costs &costs, Engines &engines, size_t roles, size_t barriers);

  Cycles now(Role role) const { return roles[role].now; }
  /// The role works for so long.
  Period spend(Role role, double cycles);
  /// Its threads work for so long, of which they fill the multiprocessor's arithmetic units for `share` and its way to
  /// global memory for `global`; what comes from there is there `latency` later. Stores have no latency.
  struct Work {
    double cycles = 0, share = 0, global = 0, latency = 0;
  };
  Period work(Role role, const Work &work);

  // ---- barriers

  void arrive(Role role, Barrier barrier, int64_t generation, Cause cause);
  struct Waited {
    Period period;
    Cause cause; ///< of the completion, where the role had to wait for it
  };
  Waited wait(Role role, Barrier barrier, int64_t generation);

  // ---- asynchronous operations

  struct Issued {
    Period role, engine;
    Cycles complete;
  };
  /// A bulk load that completes on a barrier.
  Issued load(Role role, Barrier barrier, int64_t generation, int64_t bytes, Cause cause);
  /// A bulk store of the open group.
  Issued store(Role role, int64_t bytes);
  void commitStores(Role role);
  /// A copy by the role's threads, a group of its own, that takes them `cycles` to issue.
  Issued asyncCopy(Role role, double cycles, int64_t bytes);
  /// A group of products.
  Issued product(Role role, int64_t instructions, double tensorCycles);

  /// Until all but the newest `keep` groups are complete.
  Period awaitProducts(Role role, int64_t keep);
  Period awaitCopies(Role role, int64_t keep);
  /// `read`: until they have read their tiles.
  Period awaitStores(Role role, int64_t keep, bool read);

private:
  struct Groups {
    std::vector<Cycles> complete;
    void add(Cycles time);
    Cycles upTo(int64_t keep) const;
  };
  struct RoleState {
    Cycles now = 0;
    Groups products, copies, storesRead, stores;
    Cycles openRead = 0, openStore = 0; ///< of the group that is not committed
  };
  struct Phase {
    Cycles complete = 0;
    Cause cause = noCause;
  };
  void reach(Barrier barrier, int64_t generation, Cycles time, Cause cause);
  Period awaitUntil(Role role, Cycles time);

  const Costs &costs;
  Engines &engines;
  std::vector<RoleState> roles;
  std::vector<std::unordered_map<int64_t, Phase>> barriers;
};

} // namespace flashqla::sim
