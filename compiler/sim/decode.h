/// From the tile dialect – surface or lowered – to a program that the interpreter runs.
#pragma once

#include "compiler/ir/tile.h"
#include "compiler/sim/program.h"

namespace flashqla::sim {

struct DecodedKernel {
  Program program;
  /// What a `Where` stands for.
  std::vector<mlir::Operation *> places;
};

/// The kernel must have passed its verifiers and the frontend's rules.
DecodedKernel decode(tile::KernelOp kernel);

} // namespace flashqla::sim
