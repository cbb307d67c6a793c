/// What the completion of a barrier's generation implies.
///
/// A role that arrives at B[g] has passed the waits before that arrival. So "B[h] is complete"
/// implies that generations of other barriers are, and that their arrivers have done what comes
/// before those arrivals:
///
///     store:  wait o_full[i] … arrive o_free[i]          o_free[h] implies o_full[h]
///
/// Generations of two roles are compared by their distance, as both count from zero; where it is
/// not constant, the order is assumed: this analysis serves a check that must not cry wolf.
#pragma once

#include "compiler/passes/linear.h"

#include "llvm/ADT/MapVector.h"

namespace flashqla::passes {

class BarrierChains {
public:
  explicit BarrierChains(tile::KernelOp kernel);

  /// Generation `h + distance` of a barrier, or some generation.
  struct Implied {
    tile::BarrierOp barrier;
    std::optional<int64_t> distance;
  };
  /// Barriers at which `role` arrives that the completion of generation h of `barrier` implies.
  std::vector<Implied> impliedFor(tile::RoleOp role, tile::BarrierOp barrier) const;

private:
  /// Barrier → distance of the generation that an arriver waited for; the best of several waits.
  using Edges = llvm::MapVector<mlir::Operation *, std::optional<int64_t>>;
  void addRole(tile::RoleOp role);
  static Edges waitsBefore(tile::ArriveOp arrive, llvm::ArrayRef<tile::WaitOp> waits);

  std::map<std::pair<mlir::Operation *, mlir::Operation *>, Edges>
      edges; ///< (barrier, arriver) → waits
  llvm::MapVector<mlir::Operation *, llvm::SmallVector<mlir::Operation *>> arrivers;
};

/// Whether an op is certainly executed before another one in the same iteration of all loops around
/// both.
bool precedes(mlir::Operation *first, mlir::Operation *second);

} // namespace flashqla::passes
