/// Which products may be in flight.
///
/// Each `tile.wgmma` commits one group. Groups retire in order, so what counts is how many were committed after one:
/// its *distance*. The analysis walks a role once and keeps, for each product, the smallest distance of each of its
/// latest instances that may still be in flight; instance 0 is the newest, instance 1 that of the previous iteration of
/// the loop around it, and so on. At a join the smaller distance wins, which may wait for more than needed and never
/// for less.
///
///     InFlight flight(role);
///     flight.before(awaitOp)      // what may be in flight when control reaches it
#pragma once

#include "compiler/ir/tile.h"

#include <map>

namespace flashqla::passes {

/// A dynamic instance of a product: the op, and how many iterations of its innermost loop ago it was issued.
struct ProductInstance {
  mlir::Operation *product;
  int lag;
  bool operator<(const ProductInstance &other) const {
    return std::pair(product, lag) < std::pair(other.product, other.lag);
  }
  bool operator==(const ProductInstance &) const = default;
};

class InFlight {
public:
  /// Instance → groups committed after it.
  using State = std::map<ProductInstance, int>;

  /// Instances older than this are not told apart.
  static constexpr int maxLag = 8;

  explicit InFlight(tile::RoleOp role);
  const State &before(mlir::Operation *op) const;
  /// What may be in flight when the role ends.
  const State &atEnd() const { return end; }
  /// How many groups an await leaves in flight: the count of its instruction.
  int64_t keptBy(tile::AwaitOp await) const;
  /// Fragments none of whose products is in flight after the await, and some of whose were before it.
  std::vector<mlir::Operation *> retiredBy(tile::AwaitOp await) const;

private:
  State walk(mlir::Block &block, State state);
  State step(mlir::Operation &op, State state);
  void record(mlir::Operation *op, const State &state);

  std::map<mlir::Operation *, State> states;
  State end;
};

} // namespace flashqla::passes
