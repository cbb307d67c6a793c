/// Prints one lowered `tile.kernel` as CUDA text.
///
/// Internal to codegen; emit_kernel.h is the way in. The class holds what all parts of the printer share: the text so
/// far, the names of values, which integers fit 32 bits, and where in the kernel the printer stands. The parts are
///
///     emit_kernel.cpp    signature, prologue, dispatch to roles, loops and branches
///     emit_scalars.cpp   expressions
///     emit_ops.cpp       barriers, bulk copies, products
///     emit_access.cpp    addresses, and elements of tensors, tiles and fragments
///     emit_points.cpp    how the points of a map are dealt to threads
///     emit_maps.cpp      elementwise bodies
///     emit_blocks.cpp    several elements by one instruction
///     emit_reduce.cpp    reductions and scans
///     emit_copies.cpp    plain and per-thread asynchronous copies
///     emit_timeline.cpp  what instrumented text has more
#pragma once

#include "compiler/codegen/affine.h"
#include "compiler/codegen/emit_kernel.h"
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/writer.h"
#include "compiler/ir/location.h"
#include "compiler/ir/tile.h"

#include "mlir/Analysis/DataFlowFramework.h"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace flashqla::codegen {

/// An expression and how tightly it binds, for parentheses.
struct Code {
  std::string text;
  int precedence = primary;

  static constexpr int primary = 16, unary = 15, multiply = 14, add = 13, shift = 12, relation = 11, equality = 10,
                       bitAnd = 9, bitXor = 8, bitOr = 7, logicalAnd = 6, logicalOr = 5, ternary = 4;
  /// The text, in parentheses if it binds less tightly than `outer`.
  std::string in(int outer) const { return precedence < outer ? "(" + text + ")" : text; }
};

/// How the points of a map are dealt to threads, and how its text loops over a thread's registers: `blocks` steps of a
/// loop over `b`, in each `blockSize` steps over `k`.
struct PointLayout {
  FragmentLayout layout;
  int64_t blocks = 1, blockSize = 1;
  /// Register digits, most significant first, split so that each belongs to the outer or the inner loop.
  std::vector<LayoutDigit> outer, inner;
  /// Dimensions of the domain that are rows and columns of a wgmma accumulator; -1 in other layouts.
  int accumulatorRow = -1, accumulatorColumn = -1;
  /// C++ name of the thread's first coordinate in each dimension.
  std::vector<std::string> bases;

  bool isAccumulator() const { return accumulatorRow >= 0; }
};

/// What the body of a map reads through registers filled beforehand.
struct Preload {
  enum class Kind {
    Vector, ///< float name[…]: index by the digits in `digits`
    Matrix, ///< u32 name[4]: two 16-bit elements a register, of an accumulator block
  };
  Kind kind;
  std::string name;
  bool inLoop = false; ///< depends on the outer digits
  std::vector<LayoutDigit> digits; ///< register digits that the index depends on, outer ones left out in the loop
  int64_t width = 1;               ///< elements of one load
};

/// Where a piece of a copy lies in a tensor, and what of it exists.
struct CopyBounds {
  std::vector<std::string> indices; ///< names of the indices of its first element
  std::string outer;                ///< condition on all dimensions but the last; empty: always true
  std::string last;                 ///< end of the last dimension; empty: the piece lies inside
};

class KernelEmitter {
public:
  KernelEmitter(tile::KernelOp kernel, const SourceFiles &files, Diagnostics &diags, const EmitOptions &options);
  std::optional<EmittedKernel> emit();

private:
  // ---- emit_kernel.cpp
  void emitSignature();
  void emitPrologue();
  void emitAxes();
  std::string expressionText(const std::string &text);
  void emitRoles();
  void emitRole(tile::RoleOp role);
  void emitBlock(mlir::Block &block);
  void emitOp(mlir::Operation &op);
  void printOp(mlir::Operation &op);
  void emitFor(mlir::scf::ForOp loop);
  void emitIf(mlir::scf::IfOp branch);
  void emitFrag(tile::FragOp frag);
  void markLine(mlir::Operation &op);
  void refreshThreadIndices(mlir::scf::ForOp loop);

  // ---- emit_scalars.cpp
  Code scalar(mlir::Value value);
  Code operation(mlir::Operation &op);
  Code binary(mlir::Operation &op, const char *symbol, int precedence);
  Code comparison(mlir::Operation &op);
  Code conversion(mlir::Operation &op);
  std::string cppType(mlir::Value value);
  bool fitsInt(mlir::Value value);
  /// An integer as a C++ `int`, whatever its own type.
  std::string asInt(mlir::Value value);
  void emitScalar(mlir::Operation &op);
  bool isInlined(mlir::Operation &op);
  std::string nameValue(mlir::Value value, std::string_view fallback);
  std::string freshName(std::string_view base);

  // ---- emit_ops.cpp
  void emitWait(tile::WaitParityOp op);
  void emitArrive(tile::ArriveSlotOp op);
  void emitWgmma(tile::WgmmaGroupOp op);
  void emitWaitGroup(tile::WaitGroupOp op);
  void emitSync();
  void emitInverse(tile::InverseOp op);
  void emitAssert(tile::AssertOp op);
  /// Ops of one lane; consecutive ones share an `if`.
  static bool isElected(mlir::Operation &op, tile::RoleOp role);
  void emitElected(llvm::ArrayRef<mlir::Operation *> ops);
  void emitElectedOp(mlir::Operation &op);
  std::string barrierAddress(mlir::Value barrier, mlir::Value slot);
  std::string coordinateList(mlir::OperandRange coordinates);

  // ---- emit_access.cpp
  /// Address of the slot that an addressable in shared memory lies in, and the window's offsets.
  std::string slotAddress(mlir::Value addressable);
  /// Index of a view in the dimensions of its declaration.
  std::vector<Affine> baseIndices(mlir::Value addressable, llvm::ArrayRef<Affine> indices);
  std::vector<std::string> elementIndices(mlir::Value addressable, mlir::ValueRange indices);
  std::string affineText(const Affine &affine, const std::function<std::string(mlir::Value)> &term);
  /// Byte address of an element of a shared tile.
  std::string sharedAddress(mlir::Value addressable, llvm::ArrayRef<std::string> baseIndices);
  std::string sharedAddressOfWindow(mlir::Value addressable);
  /// `pointer[offset]` of an element of a tensor.
  std::string globalElement(tile::ArgumentOp argument, llvm::ArrayRef<std::string> indices);
  /// "packed", "strided" or "strided16".
  std::string argumentLayout(tile::ArgumentOp argument);
  std::string globalOffset(tile::ArgumentOp argument, llvm::ArrayRef<std::string> indices);
  std::string loadShared(mlir::Type element, const std::string &address);
  std::string storeShared(mlir::Type element, const std::string &address, const std::string &value);
  std::string loadGlobal(mlir::Type element, const std::string &lvalue);
  std::string storeGlobal(mlir::Type element, const std::string &lvalue, const std::string &value);
  /// Register number of the first element of a fragment or of a window of its columns.
  int64_t firstRegister(mlir::Value fragment);
  std::string fragName(mlir::Value fragment);
  void emitUniformLoad(tile::LoadOp load);

  // ---- emit_points.cpp
  PointLayout choosePoints(tile::MapOp map);
  void emitBases(PointLayout &points, llvm::ArrayRef<std::string> names);
  /// Coordinate of the point in the loops over `b` and `k`.
  std::string coordinate(const PointLayout &points, int dim);
  /// What the loop counter over these digits adds to a coordinate.
  std::string digitSum(const std::vector<LayoutDigit> &digits, int dim, const std::string &counter);
  /// Index that counts only the digits in `wanted`.
  std::string compressedIndex(const PointLayout &points, const std::vector<LayoutDigit> &wanted);
  /// Register number of a fragment's element at the point.
  std::string registerIndex(mlir::Value fragment, mlir::ValueRange indices, const PointLayout &points);
  std::string boundsCondition(const PointLayout &points);
  std::string replicaCondition(const FragmentLayout &layout, LayoutDigit::Source source);
  void openLoops(const PointLayout &points);
  void openInnerLoop(const PointLayout &points);

  // ---- emit_maps.cpp
  void emitMap(tile::MapOp map);
  void emitPoints(tile::MapOp map, PointLayout &points);
  void nameCoordinates(mlir::Block &body, const PointLayout &points);
  void emitMapLoad(tile::LoadOp load, const PointLayout &points);
  void emitMapStore(tile::StoreOp store, const PointLayout &points);

  // ---- emit_blocks.cpp
  void planPreloads(tile::MapOp map, const PointLayout &points);
  std::optional<Preload> planVector(tile::LoadOp load, const PointLayout &points);
  /// Whether a 16-bit tile is read or written by matrix instructions, and then whether transposed.
  std::optional<bool> matrixAccess(mlir::Value addressable, mlir::ValueRange indices, const PointLayout &points);
  std::string matrixAddress(mlir::Value addressable, mlir::ValueRange indices, bool transposed,
                            const PointLayout &points);
  void emitPreloads(tile::MapOp map, const PointLayout &points, bool inLoop);
  void emitVectorPreload(tile::LoadOp load, const Preload &preload, const PointLayout &points);
  void planBuffers(tile::MapOp map, const PointLayout &points);
  void declareBuffers(tile::MapOp map, const PointLayout &points);
  void emitBuffers(tile::MapOp map, const PointLayout &points);
  int64_t vectorWidth(mlir::Value addressable, mlir::ValueRange indices, const PointLayout &points);

  // ---- emit_reduce.cpp
  void emitMapReductions(tile::MapOp map, const PointLayout &points);
  void emitScans(tile::MapOp map, const PointLayout &points);
  void emitUniformReduce(tile::ReduceOp reduce);
  void emitSequentialReduce(tile::ReduceOp reduce);
  void emitFragmentReduce(tile::ReduceOp reduce, const PointLayout *points);
  void combineAcrossThreads(tile::ReduceOp reduce, const FragmentLayout &layout, int dim, const std::string &name,
                            int64_t count);

  // ---- emit_copies.cpp
  void emitCopy(tile::CopyOp copy);
  /// Bytes that divide the address of every piece of the window, up to 16.
  int64_t promisedBytes(mlir::Value window);
  CopyBounds copyBounds(mlir::Value window, const PointLayout &points, int64_t piece);
  void splitPieces(PointLayout &points, int64_t piece);
  void emitPiece(tile::CopyOp copy, const PointLayout &points, mlir::Value window, int64_t piece);
  void emitAsyncPiece(tile::CopyOp copy, const CopyBounds &bounds, llvm::ArrayRef<std::string> indices, int64_t piece);
  void emitPieceLoad(tile::CopyOp copy, const CopyBounds &bounds, llvm::ArrayRef<std::string> sharedIndices,
                     const std::string &place, int64_t piece);
  void emitPieceStore(tile::CopyOp copy, const CopyBounds &bounds, int64_t piece);

  // ---- emit_timeline.cpp; nothing in text that is not instrumented
  void emitTimelineStart();
  void beginTimeline(tile::RoleOp role);
  void endTimeline();
  void beginStatement();
  void endStatement(int64_t code);
  /// The code of a statement that is timed.
  std::optional<int64_t> timedStep(mlir::Operation &op);

  tile::KernelOp kernel;
  const EmitOptions options;
  const SourceFiles &files;
  Diagnostics &diags;
  mlir::DataFlowSolver ranges;
  Writer out;
  Instructions instructions;
  EmittedKernel result;

  llvm::DenseMap<mlir::Value, std::string> names;
  std::set<std::string> taken;
  std::map<std::string, std::string> scalarNames; ///< C++ names of dims, axes and scalar arguments
  tile::RoleOp role; ///< the role being printed; null in the prologue
  bool genericSinceSync = false;
  std::string timelineName, timelineAt, timelineNow; ///< the buffer, where the next record goes, the last clock read
  std::string timelineStart, timelineBlock;
  int64_t timelineEnd = 0;
  size_t timelineRecorded = 0; ///< size of the text behind the last record

  // Of the map being printed.
  llvm::DenseMap<mlir::Operation *, Preload> preloads;
  llvm::DenseMap<mlir::Operation *, std::string> buffers;
  const PointLayout *points = nullptr;
  std::string storingWarps; ///< condition on stores to memory beside those to registers; empty: all warps
};

} // namespace flashqla::codegen
