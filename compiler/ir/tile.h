/// The tile dialect: include this one header.
///
/// A kernel is one `tile.kernel` op per instantiation. Its structure, its ops and an example of each are in
/// TileOps.td (surface) and TileLoweredOps.td (what the hardware gets).
#pragma once

#include "compiler/layout/fragment_layout.h"
#include "compiler/layout/shared_layout.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "compiler/ir/TileDialect.h.inc"
#include "compiler/ir/TileEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/ir/TileAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/ir/TileTypes.h.inc"

#define GET_OP_CLASSES
#include "compiler/ir/TileOps.h.inc"

namespace flashqla::tile {

/// Element type of a tensor, shared tile, fragment or view.
mlir::Type elementType(mlir::Value addressable);

/// Extents of a shared tile, fragment or view (a tensor's are operands of `tile.argument`).
llvm::ArrayRef<int64_t> extents(mlir::Value addressable);

/// Number of dimensions of a tensor, shared tile, fragment or view.
int64_t rank(mlir::Value addressable);

/// The declaration behind an addressable: `tile.argument`, `tile.shared` or `tile.frag`, through views and slots.
mlir::Operation *declaration(mlir::Value addressable);

/// Memory space of an addressable.
Space space(mlir::Value addressable);

/// The layout that assign-layouts gave to a fragment.
FragmentLayout layoutOf(FragOp frag);

/// The layout that assign-layouts gave to a shared tile.
SharedLayout layoutOf(SharedOp shared);

/// Bytes of an element; a bool takes one.
int64_t elementBytes(mlir::Type type);

} // namespace flashqla::tile
