/// From what the author wrote to what the hardware gets.
///
/// Each pass is a function on one kernel. A pass that finds a mistake of the author reports it and returns false; what
/// it leaves behind is then not to be used. `pipeline.h` has the order.
///
///   check_barriers.cpp   arrivals: attached copies, order, conditions
///   check_sync.cpp       accesses inside a role that need `sync`, `await` or `wait` between them
///   check_async.cpp      products and stores in flight: accumulators, operands, what is never awaited
///   check_release.cpp    tiles handed back too early, tiles read without a wait
///   check_structure.cpp  registers that are alive at once
///   assign_layouts.cpp   swizzles of shared tiles and layouts of fragments, from their uses
///   plan_shared.cpp      where tiles, barriers and scratch lie; the capacity
///   in_flight.cpp        which products may be in flight at each op
///   insert_fences.cpp    generic writes before accesses of the async proxy
///   lower_products.cpp   operands packed; awaits counted
///   lower_rings.cpp      generations as slots and parities
///   lower_copies.cpp     tensor maps, boxes, coordinates, byte counts
#pragma once

#include "compiler/ir/location.h"
#include "compiler/ir/tile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace flashqla::passes {

/// What every pass gets.
struct Context {
  const SourceFiles &files;
  Diagnostics &diags;
  DiagnosticBuilder report(DiagnosticKind kind, mlir::Operation *op, std::string message) {
    return reportAt(diags, kind, files, op, std::move(message));
  }
};

bool checkBarriers(tile::KernelOp kernel, Context &context);
bool checkSync(tile::KernelOp kernel, Context &context);
bool checkAsync(tile::KernelOp kernel, Context &context);
bool checkRelease(tile::KernelOp kernel, Context &context);
/// After assign-layouts.
bool checkStructure(tile::KernelOp kernel, Context &context);
bool assignLayouts(tile::KernelOp kernel, Context &context);
bool planShared(tile::KernelOp kernel, Context &context);
bool insertFences(tile::KernelOp kernel, Context &context);
bool lowerProducts(tile::KernelOp kernel, Context &context);
bool lowerRings(tile::KernelOp kernel, Context &context);
bool lowerCopies(tile::KernelOp kernel, Context &context);

} // namespace flashqla::passes
