/// What a statement of a role reads and writes.
///
/// Accesses of shared tiles come with the generation and a box that holds all elements touched,
/// those of fragments with the fragment alone. `place` is the op whose location names the reference
/// in the text.
#pragma once

#include "compiler/passes/linear.h"
#include "compiler/passes/passes.h"

namespace flashqla::passes {

/// Who touches a shared tile.
enum class Actor {
  Threads,   ///< the threads of the role, before the statement ends
  Product,   ///< the tensor cores, for all warps, until an `await` of the target
  BulkStore, ///< the copy engine, until an `await` of the tile
  BulkLoad,  ///< the copy engine, until a `wait` for the barrier
  AsyncCopy, ///< the threads' own cp.async, until `await copy.async`
};

/// Coordinates `start` … `start + extent - 1` of a dimension.
struct Span {
  Linear start;
  int64_t extent;
  bool operator==(const Span &) const = default;
};

struct SharedAccess {
  mlir::Operation *statement;
  mlir::Value reference; ///< a `tile.shared` or a view of one
  mlir::Operation *place;
  tile::SharedOp shared;
  Linear generation;
  llvm::SmallVector<Span, 2> box;
  bool write;
  Actor actor;
  bool exact = true; ///< every element of the box is touched, whatever the values
};

struct FragmentAccess {
  tile::FragOp frag;
  mlir::Operation *place;
  bool write;
};

/// Accesses of shared tiles by one op and what is nested in it, reads first; `scf` ops have none of
/// their own.
std::vector<SharedAccess> sharedAccesses(mlir::Operation *statement);

/// Accesses of fragments by ordinary code: not those of a product's target, but a product's
/// register operand.
std::vector<FragmentAccess> fragmentAccesses(mlir::Operation *statement);

/// Whether two accesses of one tile may touch the same element of the same slot.
bool mayOverlap(const SharedAccess &a, const SharedAccess &b);
bool boxesMayOverlap(const SharedAccess &a, const SharedAccess &b);
/// Whether what `mayOverlap` says is certain: where a generation or a window is unknown, or a map leaves out points, the
/// simulator looks at the elements.
bool overlapIsCertain(const SharedAccess &a, const SharedAccess &b);

/// The text of an operand in a statement; the whole statement where it has no place of its own.
SourceRange operandRange(const Context &context, mlir::Operation *statement, mlir::Value operand);
SourceRange rangeOf(const Context &context, const SharedAccess &access);

/// The operand as the author wrote it, in backquotes.
std::string named(const Context &context, const SharedAccess &access);

/// Line of the first and the last character of a range.
uint32_t firstLine(SourceRange range);
uint32_t lastLine(SourceRange range);

/// `name` of the role around an op.
std::string roleName(mlir::Operation *op);

} // namespace flashqla::passes
