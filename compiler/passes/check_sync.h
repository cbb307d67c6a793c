/// The accesses of a role that nothing has separated yet; see check_sync.cpp.
#pragma once

#include "compiler/passes/accesses.h"
#include "compiler/passes/barrier_chains.h"
#include "compiler/passes/in_flight.h"

namespace flashqla::passes {

/// An earlier access that a later one may meet.
struct PendingAccess {
  SharedAccess access;
  size_t number;           ///< of the access in its statement
  int lag = 0;             ///< iterations of its innermost loop since, for products
  int shifts = 0;          ///< iterations by which its generation or window has been moved
  bool inFlight = false;   ///< by a copy engine
  int64_t laterGroups = 0; ///< bulk groups committed after this one
  /// The first arrival at each barrier since.
  std::map<mlir::Operation *, Linear> arrivals;

  bool sameAccess(const PendingAccess &other) const {
    return access.statement == other.access.statement && number == other.number &&
           lag == other.lag && access.generation == other.access.generation &&
           access.box == other.access.box;
  }
};

/// A bulk store that may still be reading when the role arrives at a barrier, in terms of that
/// place's values.
struct StoreAtArrival {
  tile::ArriveOp arrive;
  SharedAccess store;
};

/// Walks a role and reports.
class SyncCheck {
public:
  SyncCheck(tile::RoleOp role, const BarrierChains &chains, Context &context)
      : role(role), chains(chains), context(context), flight(role) {}
  bool run();
  /// What the walk has found, for the check of releases.
  const std::vector<StoreAtArrival> &storesAtArrivals() const { return stores; }

private:
  using State = std::vector<PendingAccess>;

  State walk(mlir::Block &block, State state);
  State step(mlir::Operation &op, State state);
  State loop(mlir::scf::ForOp op, State state);
  static State join(State a, const State &b);
  static State nextIteration(State state, mlir::scf::ForOp op);
  static State leave(State state, mlir::scf::ForOp op);
  void access(mlir::Operation &op, State &state);
  void meet(State &state, const SharedAccess &later);
  void wait(tile::WaitOp op, State &state);
  void await(tile::AwaitOp op, State &state);
  void arrive(tile::ArriveOp op, State &state);
  bool inFlightAt(const PendingAccess &earlier, mlir::Operation *op) const;
  void checkPoints(tile::MapOp map);

  void reportSync(const PendingAccess &earlier, const SharedAccess &later);
  void reportAwait(const PendingAccess &earlier, const SharedAccess &later);
  void reportEnd(const State &state);
  void reportWait(const PendingAccess &earlier, const SharedAccess &later);
  bool firstReport(mlir::Operation *statement, mlir::Operation *shared) {
    return reported.insert({statement, shared}).second;
  }

  tile::RoleOp role;
  const BarrierChains &chains;
  Context &context;
  InFlight flight;
  std::vector<StoreAtArrival> stores;
  std::set<std::pair<mlir::Operation *, mlir::Operation *>> reported;
};

} // namespace flashqla::passes
