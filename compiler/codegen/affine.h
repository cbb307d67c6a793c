/// Integer values as sums: constant + Σ coefficient · term.
///
/// Addresses are taken apart this way, so that a tile's index can be recognised as "coordinate plus 64".
#pragma once

#include "mlir/IR/Value.h"

#include <optional>
#include <utility>
#include <vector>

namespace flashqla::codegen {

struct Affine {
  int64_t constant = 0;
  std::vector<std::pair<mlir::Value, int64_t>> terms; ///< coefficients are not zero; each value once

  Affine operator+(const Affine &other) const;
  Affine operator*(int64_t factor) const;
  bool isConstant() const { return terms.empty(); }
  /// Coefficient of a term; zero if it does not occur.
  int64_t coefficient(mlir::Value term) const;
  /// The sum without that term.
  Affine without(mlir::Value term) const;
  /// The largest power of two up to 1024 that divides every value this can take, given that of each term.
  int64_t knownMultiple() const;
};

/// Walks through additions, subtractions and multiplications by constants; anything else is a term.
Affine affineOf(mlir::Value value);

} // namespace flashqla::codegen
