/// Integer expressions as sums, so that generations and windows can be compared.
///
/// `k - 2` and `k + 1` differ by -3 whatever k is; `64*p + 8` and `64*p` by 8. Values that are not
/// sums of others – loads, quotients, products of unknowns – are atoms, equal only to themselves.
#pragma once

#include "compiler/ir/tile.h"

#include <optional>

namespace flashqla::passes {

/// Σ coefficient · atom + constant, or unknown.
struct Linear {
  llvm::SmallVector<std::pair<mlir::Value, int64_t>, 2> terms; ///< sorted; no coefficient is zero
  int64_t constant = 0;
  bool known = true;

  static Linear unknown() { return {{}, 0, false}; }
  bool operator==(const Linear &) const = default;
  Linear plus(const Linear &other, int64_t factor = 1) const;
  Linear plus(int64_t amount) const { return {terms, constant + amount, known}; }
};

/// Null stands for zero.
Linear linearOf(mlir::Value value, int64_t offset = 0);

/// a - b where that is a constant.
std::optional<int64_t> difference(const Linear &a, const Linear &b);

/// By how much an expression grows in one iteration of a loop.
std::optional<int64_t> growth(const Linear &expression, mlir::scf::ForOp loop);

/// The value that an expression had, in terms of the next iteration's values.
Linear afterIteration(const Linear &expression, mlir::scf::ForOp loop);

/// The value that an expression had, once its loop has ended: unknown if the loop computed it.
Linear afterLoop(const Linear &expression, mlir::scf::ForOp loop);

/// A constant integer.
std::optional<int64_t> constantOf(mlir::Value value);

/// Whether the body of a loop certainly runs.
bool runsAtLeastOnce(mlir::scf::ForOp loop);

} // namespace flashqla::passes
