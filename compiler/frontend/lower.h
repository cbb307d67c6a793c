// Lowers one kernel, specialised to its bindings, to the tile dialect.
//
// One class over several files, one subject each:
//   signature.cpp    parameters, dims, arguments, clauses
//   roles.cpp        the kernel's body: shared tiles, barriers, roles and their instances
//   statements.cpp   let, var, frag, for, if, assert; scalars carried round loops
//   async.cpp        wait, arrive, await, copy, wgmma, sync
//   references.cpp   brackets: windows, elements, generations
//   maps.cpp         map, whole-tile assignments, the inverse
//   reductions.cpp   sum, max, min, scan, rscan
//   expressions.cpp  scalar expressions; arithmetic.cpp emits them
//
// Every lowering function returns nothing (or false) after an error, which it has reported; a
// declaration that failed leaves a symbol of kind Failed, about which nothing more is said.
#pragma once

#include "compiler/frontend/launch.h"
#include "compiler/ir/tile.h"

#include "mlir/IR/Builders.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <memory>

namespace flashqla::frontend {

/// A tile or a window of one, as the operand of a statement.
struct TileRef {
  const ast::Expr *expr = nullptr;
  Symbol symbol; ///< what it is a part of
  mlir::Value value;
  llvm::SmallVector<int64_t> shape; ///< plain indices dropped; before `.T`
  bool transposed = false;

  ScalarType type() const { return symbol.type; }
  int64_t rows() const { return shape[transposed ? 1 : 0]; }
  int64_t columns() const { return shape[transposed ? 0 : 1]; }
};

/// One element of a tensor or tile.
struct Element {
  const ast::Expr *expr = nullptr;
  Symbol symbol;
  mlir::Value value;
  llvm::SmallVector<Scalar> indices;
  bool inRange = false; ///< provably
};

/// One role that runs: an instance of `each`, or all there is.
struct RoleInstance {
  std::string name; ///< "tile[1]"
  const ast::Role *role = nullptr;
  std::optional<int64_t> number; ///< of `each`
  int64_t firstWarp = 0;
  int64_t lastWarp = 0;
  Scope scope; ///< in which its body stands

  bool isWarp() const { return role->kind == ast::RoleKind::Warp; }
  int64_t warpgroups() const { return (lastWarp - firstWarp) / 4; }
};

struct BarrierInfo {
  const ast::Barrier *barrier = nullptr;
  tile::BarrierOp op;
  int64_t slots = 1;
  std::vector<std::string> arrivers;
  std::vector<std::string> waiters;
  std::vector<std::string> arrived; ///< roles that do
  std::vector<std::string> waited;
  bool incomplete = false; ///< a role in its lists was not found, which has been reported
  SourceRange firstWait;
};

/// A part of an expression that is evaluated only under a condition.
struct Arm {
  std::unique_ptr<mlir::Block> block;
  Scalar result;
};

class KernelLowering {
public:
  KernelLowering(const ast::Kernel &kernel, Scope moduleScope, const Bindings &bindings,
                 SourceRange checkCase, mlir::MLIRContext &context, Diagnostics &diags);

  /// Null after an error.
  mlir::OwningOpRef<mlir::ModuleOp> run();

private:
  // signature.cpp
  void declareDims();
  void declareArguments();
  void declareTensor(const ast::Arg &arg);
  void declareScalarArgument(const ast::Arg &arg);
  std::string layoutOf(const ast::Arg &arg);
  void lowerClauses();
  void lowerGrid(const ast::Grid &grid);
  void lowerWhere(const ast::Where &where, const ast::Trivia &trivia);
  void lowerResident(const ast::Resident &resident);
  mlir::DictionaryAttr
  dictionary(std::initializer_list<std::pair<std::string_view, mlir::Attribute>> entries);

  // roles.cpp
  void lowerKernelBody(const ast::Block &block);
  void lowerKernelItem(const ast::Stmt &stmt);
  void lowerKernelIf(const ast::If &branch);
  void lowerShared(const ast::Shared &shared);
  void declareBarrier(const ast::Barrier &barrier);
  void declareWarpgroup(const ast::Role &role);
  void declareWarps(const ast::Role &warpgroup);
  std::optional<int64_t> budgetOf(const ast::Role &role);
  void checkBudgets();
  /// Numbers of `each`, lower .. upper; nothing where there are none.
  struct Instances {
    bool each = false;
    int64_t lower = 0;
    int64_t upper = 1;
    int64_t together = 1; ///< of `name[n]`
  };
  std::optional<Instances> instancesOf(const ast::Role &role);
  void addInstances(const ast::Role &role, Instances range, int64_t firstWarp, int64_t warps);
  void resolveBarriers();
  std::vector<std::string> resolveWho(const std::vector<ast::Who> &list, Scope &at,
                                      bool &incomplete);
  void lowerRole(RoleInstance &instance);
  void checkBarrierUses();
  void reportNoArrival(const BarrierInfo &info, const std::string &arriver);

  // statements.cpp
  void lowerBlock(const ast::Block &block);
  void lowerStatement(const ast::Stmt &stmt);
  void lowerLet(const ast::Let &let);
  void lowerVar(const ast::Var &var);
  void lowerFrag(const ast::Frag &frag);
  void lowerFor(const ast::For &loop);
  void lowerUnrolled(const ast::For &loop, int64_t lower, int64_t upper, int64_t step);
  void lowerIf(const ast::If &branch, size_t arm);
  void lowerArmBlock(const ast::Block &block, const std::vector<std::string> &vars,
                     mlir::Block *into, mlir::Location location);
  void lowerAssert(const ast::Assert &assertion);
  void assignVar(Symbol &symbol, const ast::Assign &assign);
  std::vector<std::string> varsAssignedIn(const ast::Block &block);
  bool lowerCondition(const ast::Expr &expr, Scalar &condition);

  // async.cpp
  void lowerBarrierUse(const ast::BarrierRef &ref, SourceRange range, bool isWait);
  BarrierInfo *findBarrier(const ast::BarrierRef &ref, bool waits);
  std::optional<std::pair<mlir::Value, int64_t>> generation(const ast::BarrierRef &ref,
                                                            const BarrierInfo &info, bool isWait);
  void lowerAwait(const ast::Await &await, SourceRange range);
  void lowerCopy(const ast::Copy &copy, SourceRange range);
  bool checkCopyEnds(const ast::Copy &copy, const TileRef &target, const TileRef &source,
                     std::optional<ScalarType> cast);
  bool checkCopyKind(const ast::Copy &copy, const TileRef &target, const TileRef &source,
                     bool casts);
  bool checkReadable(const TileRef &source);
  void lowerWgmma(const ast::Wgmma &wgmma, SourceRange range);
  bool checkProduct(const ast::Wgmma &wgmma, const TileRef &target, const TileRef &a,
                    const TileRef &b, std::optional<ScalarType> cast);
  bool checkProductShapes(const ast::Wgmma &wgmma, const TileRef &target, const TileRef &a,
                          const TileRef &b);
  /// The reference of `E(reference)` and the type, or the reference and nothing.
  std::pair<const ast::Expr *, std::optional<ScalarType>> splitCast(const ast::Expr &expr);

  // references.cpp
  std::optional<TileRef> resolveTile(const ast::Expr &expr);
  std::optional<Element> resolveElement(const ast::Expr &expr);
  const Symbol *lookupTile(const ast::Expr &expr);
  bool checkBrackets(const ast::Expr &expr, const Symbol &symbol, size_t elementBrackets);
  std::optional<mlir::Value> ringSlot(const ast::Expr &expr, const Symbol &symbol);
  std::optional<Scalar> tileGeneration(const ast::Expr &expr, const Symbol &symbol);
  struct Window {
    llvm::SmallVector<mlir::Value> offsets;
    llvm::SmallVector<int64_t> sizes;
    llvm::SmallVector<int64_t> shape;
    mlir::Value limit;
    std::optional<int64_t> limitDimension;
    bool whole = true;
  };
  std::optional<Window> resolveWindow(const Symbol &symbol, const ast::Bracket *bracket);
  bool addWindowIndex(Window &window, const Symbol &symbol, const ast::Index &index,
                      size_t dimension);
  bool checkWindowIndex(const Symbol &symbol, const ast::Index &index, size_t dimension,
                        const Scalar &begin, int64_t extent);
  bool checkElementRange(const Symbol &symbol, const ast::Index &index, size_t dimension,
                         const Scalar &scalar, bool &inRange);
  mlir::Value makeView(const ast::Expr &expr, const Symbol &symbol, const Window &window,
                       const Scalar *generation);
  bool checkOwnPlace(const Element &element);
  bool isTileReference(const ast::Expr &expr);
  bool mentionsTile(const ast::Expr &expr);

  // maps.cpp
  void lowerMap(const ast::Map &map, SourceRange range);
  /// An assignment of a map between its evaluation and its store.
  struct PendingStore {
    const ast::Assign *assign = nullptr;
    Element target;
    mlir::Value value;
    mlir::Value condition;              ///< of `where`; null without
    std::unique_ptr<mlir::Block> block; ///< what computes the value under the condition
  };
  bool domainOf(const ast::Map &map, std::vector<ast::Name> &names,
                llvm::SmallVector<int64_t> &extents);
  bool domainOfTarget(const ast::Assign &assign, std::vector<ast::Name> &names,
                      llvm::SmallVector<int64_t> &extents);
  void lowerMapBody(const ast::Map &map);
  std::optional<PendingStore> evaluatePoint(const ast::Assign &assign, bool readsEarlierTargets);
  std::optional<Scalar> evaluatePointValue(const ast::Assign &assign, const Element &target);
  void store(PendingStore pending);
  bool checkPointTarget(const Element &target);
  void unlessSkipped(PendingStore &pending);
  bool checkWritable(const ast::Expr &expr, const Symbol &symbol);
  bool namesPoint(const ast::Expr &target);
  void lowerAssign(const ast::Assign &assign, SourceRange range);
  void lowerTileAssign(const ast::Assign &assign, const TileRef &target, SourceRange range);
  void fillTile(const TileRef &target, const ast::Expr &value, ast::AssignOp op,
                SourceRange opRange, SourceRange range);
  void lowerInverse(const ast::Assign &assign, const TileRef &target, SourceRange range);
  void hoistFromMap(tile::MapOp map);
  void hoistCollectives(mlir::Block &arm);
  std::optional<Scalar> combine(ast::AssignOp op, SourceRange opRange, const Scalar &old,
                                const Scalar &value, const ast::Expr &target,
                                const ast::Expr &expr);

  // reductions.cpp
  std::optional<Scalar> evaluateReduction(const ast::Expr &expr);
  std::optional<Scalar> evaluateScan(const ast::Expr &expr);
  bool reductionRange(const ast::Expr &expr, Scalar &lower, Scalar &upper);
  void findIndexedExtents(const ast::Expr &expr, std::string_view index,
                          std::vector<std::pair<const ast::Expr *, int64_t>> &found);
  std::optional<Scalar> yieldInto(mlir::Block &block, const ast::Expr &body,
                                  mlir::Location location);

  // expressions.cpp
  std::optional<Scalar> evaluate(const ast::Expr &expr);
  std::optional<Scalar> evaluateKind(const ast::Expr &expr);
  std::optional<Scalar> evaluateReference(const ast::Expr &expr);
  std::optional<Scalar> loadElement(const Element &element);
  std::optional<Scalar> loadWholeTile(const ast::Expr &expr);
  std::optional<Scalar> evaluateCall(const ast::Expr &expr);
  std::optional<Scalar> inlineCall(const ast::Expr &expr, const Symbol &symbol,
                                   llvm::SmallVector<Scalar> arguments);
  std::optional<Scalar> evaluateBuiltin(const ast::Expr &expr, llvm::SmallVector<Scalar> arguments);
  std::optional<Scalar> emitCeilDiv(const ast::Expr &expr, const Scalar &a, const Scalar &b);
  std::optional<Scalar> evaluateUnary(const ast::Expr &expr);
  std::optional<Scalar> evaluateBinary(const ast::Expr &expr);
  std::optional<Scalar> evaluateLogical(const ast::Expr &expr);
  std::optional<Scalar> evaluateTernary(const ast::Expr &expr);
  std::optional<Scalar> choose(const ast::Expr &expr, const Scalar &condition, Arm then,
                               Arm otherwise, ScalarType type);
  std::optional<Arm> evaluateArm(const ast::Expr &expr);
  std::optional<int64_t> evaluateInteger(const ast::Expr &expr, std::string_view what);
  std::optional<Scalar> evaluateIndex(const ast::Expr &expr);
  bool requireUniform(const Scalar &scalar, const ast::Expr &expr, std::string_view what);

  // arithmetic.cpp
  mlir::Value materialize(const Scalar &scalar, SourceRange range);
  mlir::Value constantValue(mlir::TypedAttr attribute);
  mlir::Value indexConstant(int64_t value);
  mlir::Type mlirType(ScalarType type);        ///< of a scalar: i64 for i32 too
  mlir::Type mlirElementType(ScalarType type); ///< of a tile
  Scalar convert(const Scalar &scalar, ScalarType type, SourceRange range);
  std::optional<Scalar> assignable(const Scalar &scalar, ScalarType type, const ast::Expr &expr,
                                   SourceRange target, std::string_view shape = {});
  std::optional<Scalar> arithmetic(ast::BinaryOp op, const Scalar &a, const Scalar &b,
                                   SourceRange range, SourceRange opRange);
  Scalar integerArithmetic(ast::BinaryOp op, const Scalar &a, const Scalar &b, SourceRange range);
  std::optional<Scalar> scaled(const Scalar &a, int64_t factor, SourceRange range);
  mlir::Value emitInteger(ast::BinaryOp op, mlir::Value a, mlir::Value b, mlir::Location location);
  mlir::Value emitFloat(ast::BinaryOp op, mlir::Value a, mlir::Value b, mlir::Location location);
  mlir::Value emitComparison(ast::BinaryOp op, const Scalar &a, const Scalar &b, SourceRange range);
  mlir::Value emitFunction(Builtin builtin, mlir::Value x, mlir::Location location);
  Scalar negated(const Scalar &scalar, SourceRange range);
  bool checkDivision(ast::BinaryOp op, const Scalar &a, const Scalar &b, SourceRange opRange);
  bool speculatable(mlir::Block &block);

  // names, errors
  mlir::Location loc(SourceRange range);
  mlir::Location loc(SourceRange range, std::string_view name);
  DiagnosticBuilder error(DiagnosticKind kind, SourceRange range, std::string message) {
    failed = true;
    return reporter.error(kind, range, std::move(message));
  }
  /// Reports a name that is taken; nothing is declared then.
  void declare(Symbol symbol);
  void declareFailed(const ast::Name &name);
  const Symbol *lookupName(const ast::Name &name);
  std::optional<ScalarType> elementType(const ast::ElemType &elem);
  std::optional<llvm::SmallVector<int64_t>> evaluateShape(const ast::Shape &shape,
                                                          std::string_view what);
  /// Whether there are not absurdly many elements; reports the extent with which there are.
  bool checkElements(llvm::ArrayRef<int64_t> extents, llvm::ArrayRef<SourceRange> ranges,
                     std::string_view what);
  void nameValue(const Scalar &scalar, std::string_view name);
  void eraseDead();

  const ast::Kernel &kernel;
  const Bindings &bindings;
  const SourceRange checkCase; ///< where the bindings stand, if they are those of a `check` case
  mlir::MLIRContext &context;
  mlir::OpBuilder builder;
  Reporter reporter;
  Scope scope;
  bool failed = false; ///< nothing is returned; errors that the reporter saw elsewhere count, too

  mlir::OwningOpRef<mlir::ModuleOp> module;
  tile::KernelOp kernelOp;
  llvm::SmallVector<mlir::Attribute> argumentAttrs, gridAttrs, whereAttrs;
  int64_t resident = 1;
  std::vector<int64_t> warpgroupRegs;
  struct Budget {
    SourceRange range;
    int64_t registers, warpgroups;
  };
  std::vector<Budget> budgets; ///< one for each `warpgroup` of the text

  llvm::DenseMap<mlir::Attribute, mlir::Value> constants; ///< they begin the kernel
  mlir::Operation *lastConstant = nullptr;
  llvm::DenseSet<mlir::Operation *> conditionalOps; ///< may fault where the program skips them

  std::vector<BarrierInfo> barriers;
  std::vector<Scope> barrierScopes; ///< where each barrier stands
  std::vector<RoleInstance> instances;
  std::vector<std::string> brokenRoles; ///< whose headers have been reported
  RoleInstance *role = nullptr;         ///< whose body is being lowered

  uint64_t unrolledSteps = 0;                ///< of all `unroll` loops so far
  unsigned activePoints = 0;                 ///< indices of maps and reductions around
  tile::MapOp map;                           ///< the map around
  mlir::Value mask;                          ///< its `where`, for scans
  unsigned armDepth = 0;                     ///< arms of `?:`, `&&`, `||` around
  unsigned bodyDepth = 0;                    ///< bodies of reductions and scans around
  bool readsFragment = false;                ///< set where an element of a fragment is read
  const TileRef *wholeTile = nullptr;        ///< target of a whole-tile assignment
  llvm::SmallVector<mlir::Value> wholePoint; ///< the point in it
  /// Fragments seen in the map around: an index pair in this order, and where.
  std::map<std::pair<unsigned, unsigned>, SourceRange> fragmentOrders;
};

} // namespace flashqla::frontend
