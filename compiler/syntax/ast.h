// The language as plain structs: what the parser builds, the formatter prints and the frontend
// checks.
//
// Every node has the range of the whole construct, and ranges of the names in it that a message may
// point at. There is one kind of Block – the body of a kernel, a role, a loop, a map – and one kind
// of Stmt; the parser sees to it that only the statements of the right level stand in each. A
// statement is taken apart with std::visit or get_if:
//
//   for (const ast::Stmt &stmt : block.statements)
//     if (const auto *wait = std::get_if<ast::Wait>(&stmt.node))
//       waits.push_back(&wait->barrier);
//
// Comments survive as Trivia of the nodes that have a line of their own.
#pragma once

#include "compiler/support/source.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace flashqla::ast {

// --------------------------------------------------------------------------------- names, comments

struct Name {
  std::string text;
  SourceRange range;
};

struct Comment {
  std::string text; ///< from `//` to the end of the line, without trailing blanks
  SourceRange range;
  bool blankBefore = false; ///< an empty line precedes it
};

/// Comments around a node that has a line of its own.
struct Trivia {
  std::vector<Comment> leading;    ///< lines before it, `///` and `//`
  std::optional<Comment> trailing; ///< at the end of its (last) line
  bool blankBefore = false; ///< an empty line precedes the node itself (after its leading comments)
};

/// The text of the `///` lines among the leading comments, without the slashes, lines joined by
/// newlines.
std::string docText(const Trivia &trivia);

/// The words of the trailing comment, without slashes and surrounding blanks; empty if there is
/// none. A `where` clause uses them as its message.
std::string_view trailingText(const Trivia &trivia);

// ------------------------------------------------------------------------------------------- types

enum class ScalarType { BF16, F16, F32, I32, I64, Bool };

/// `bf16` and so on.
std::string_view scalarTypeName(ScalarType type);

/// An element type: one of the language's, or the name of a type parameter.
struct ElemType {
  std::optional<ScalarType> builtin;
  Name name; ///< as written, also for built-in types
};

// ------------------------------------------------------------------------------------- expressions

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

enum class ExprKind {
  Integer, ///< `64`, `0x40`: integer, literal
  Float,   ///< `1e-6`: real, literal
  Bool,    ///< `true`: boolean
  Inf,     ///< `inf`
  Type, ///< `f16` as the default of a parameter or in a check: elem. A type parameter's name is a
        ///< Reference.
  Reference, ///< `x`, `x[i]`, `x[k][0 +: C, :].T`: name, brackets, transposed
  Call,      ///< `exp(x)`, `max(a, b)`, `bf16(x)`, `E(x)`: name, callee, operands = arguments
  Unary,     ///< `-x`: unary, operands[0]
  Binary,    ///< `a + b`: binary, operands[0] and [1]
  Ternary,   ///< `c ? a : b`: operands[0], [1], [2]
  Reduction, ///< `sum[j in 1 .. n](e)`: reduction, name = index, lower and upper (both or neither),
             ///< operands[0] = e
  Paren,     ///< `(e)`: operands[0]
};

enum class UnaryOp { Negate, Not };
enum class BinaryOp { Add, Sub, Mul, Div, Mod, Eq, Ne, Lt, Le, Gt, Ge, And, Or };
enum class ReductionKind { Sum, Max, Min, Scan, ReverseScan };

/// `+`, `&&` and so on; `sum`, `rscan` and so on.
std::string_view spelling(UnaryOp op);
std::string_view spelling(BinaryOp op);
std::string_view spelling(ReductionKind kind);

/// One index of a bracket.
struct Index {
  enum class Kind {
    Point,  ///< `e`: begin
    Window, ///< `begin +: extent [until limit]`
    All,    ///< `:`
  };
  Kind kind = Kind::All;
  SourceRange range;
  ExprPtr begin;
  ExprPtr extent;
  ExprPtr limit; ///< null without `until`
};

struct Bracket {
  SourceRange range; ///< with the brackets
  std::vector<Index> indices;
};

/// Which fields mean something depends on the kind; the others keep their defaults.
struct Expr {
  ExprKind kind;
  SourceRange range;

  int64_t integer = 0;
  double real = 0;
  bool boolean = false;
  std::string literal; ///< a number as written

  Name name;                        ///< Reference: the tile; Call: the callee; Reduction: the index
  std::optional<ScalarType> callee; ///< Call of a built-in type: a conversion
  ElemType elem;                    ///< Type

  UnaryOp unary = UnaryOp::Negate;
  BinaryOp binary = BinaryOp::Add;
  SourceRange opRange; ///< the operator; the `?` of a Ternary; the word of a Reduction
  std::vector<ExprPtr> operands;

  std::vector<Bracket> brackets;
  bool transposed = false; ///< `.T`

  ReductionKind reduction = ReductionKind::Sum;
  ExprPtr lower;
  ExprPtr upper;

  /// A reference without brackets or `.T`.
  bool isBareName() const { return kind == ExprKind::Reference && brackets.empty() && !transposed; }
};

/// The expression inside any number of parentheses.
const Expr &withoutParens(const Expr &expr);

// -------------------------------------------------------------------------------------- statements

struct Stmt;

/// What stands between two braces.
struct Block {
  SourceRange range; ///< with the braces
  std::vector<Stmt> statements;
  std::optional<Comment> openComment; ///< on the line of `{`
  std::vector<Comment> closeComments; ///< lines before `}`
};

/// `name = value` of a `let` or `var`.
struct Binding {
  SourceRange range;
  Name name;
  ExprPtr value;
};

/// `let a = x, b = y`: in kernels, roles and maps.
struct Let {
  std::vector<Binding> bindings;
};

/// `var j = 0`: a scalar of a role that may be assigned to.
struct Var {
  std::vector<Binding> bindings;
};

struct Shape {
  SourceRange range; ///< with the brackets; absent if there is no shape
  std::vector<ExprPtr> extents;
};

/// `x: f32[C] = 0` of a `frag`.
struct FragDecl {
  SourceRange range;
  Name name;
  ElemType elem;
  Shape shape;
  ExprPtr init; ///< null if undefined
};

struct Frag {
  std::vector<FragDecl> decls;
};

/// `k_s: E[3][C, DK]` of a `shared`.
struct SharedDecl {
  SourceRange range;
  Name name;
  ElemType elem;
  std::optional<Shape> ring; ///< the first bracket of two
  Shape shape;
};

struct Shared {
  std::vector<SharedDecl> decls;
};

/// One role, or one instance of it, in a barrier's list.
struct Who {
  SourceRange range;
  Name name;
  ExprPtr instance; ///< null: all
};

/// `barrier full[S]: load -> mma`.
struct Barrier {
  Name name;
  ExprPtr slots; ///< null: one
  std::vector<Who> arrivers;
  std::vector<Who> waiters;
};

enum class RoleKind { Warpgroup, Warp };

/// A warpgroup or warp, and how many of them.
struct Role {
  RoleKind kind = RoleKind::Warpgroup;
  SourceRange header; ///< up to the brace, for labels
  Name name;
  ExprPtr count;            ///< `name[n]`; null without
  std::optional<Name> each; ///< `each w in lower .. upper`
  ExprPtr lower;
  ExprPtr upper;
  ExprPtr regs; ///< null for a warp
  Block body;   ///< of a warpgroup: either warps only or statements only

  bool holdsWarps() const; ///< the body consists of `warp` roles (and is not empty)
};

/// `for k in lower .. upper step s unroll { … }`.
struct For {
  SourceRange header; ///< up to the brace
  Name index;
  ExprPtr lower;
  ExprPtr upper;
  ExprPtr step; ///< null: 1
  bool unroll = false;
  Block body;
};

struct IfArm {
  SourceRange header; ///< `if e` or `else if e` or `else`
  ExprPtr condition;  ///< null for `else`
  Block body;
};

/// `if`, then any number of `else if`, then perhaps `else`; in kernels and roles.
struct If {
  std::vector<IfArm> arms;
};

/// `full[k]` of a `wait`, `arrive` or `=>`.
struct BarrierRef {
  SourceRange range;
  Name name;
  ExprPtr generation; ///< null: 0
};

struct Wait {
  BarrierRef barrier;
};

struct Arrive {
  BarrierRef barrier;
};

enum class CopyKind { Plain, Tma, Async };

/// `await x`, `await wgmma 1`, `await copy.tma`.
struct Await {
  enum class Kind { Target, Wgmma, Copy };
  Kind kind = Kind::Target;
  ExprPtr target;                  ///< Target: a Reference
  CopyKind copy = CopyKind::Plain; ///< Copy: Tma or Async
  ExprPtr keep;                    ///< Wgmma, Copy: all but the newest so many; null: all
};

/// `copy.tma destination <- source => completes`.
struct Copy {
  CopyKind kind = CopyKind::Plain;
  ExprPtr destination; ///< a Reference
  ExprPtr source;      ///< a Reference, or a Call `E(reference)`
  std::optional<BarrierRef> completes;
};

enum class AssignOp { Set, Add, Sub, Mul };

/// `=`, `+=`, `-=`, `*=`.
std::string_view spelling(AssignOp op);

/// `wgmma target += a @ b`; op is Set, Add or Sub.
struct Wgmma {
  ExprPtr target; ///< a Reference
  AssignOp op = AssignOp::Set;
  SourceRange opRange;
  ExprPtr a; ///< a Reference, or a Call `E(reference)`
  ExprPtr b;
};

/// `target op value`, of a role or at a point of a map.
struct Assign {
  ExprPtr target; ///< a Reference
  AssignOp op = AssignOp::Set;
  SourceRange opRange;
  ExprPtr value;
  ExprPtr where;               ///< in maps only; null without
  std::optional<Name> scratch; ///< `using x`; outside maps only
};

/// `name: extent` of a grid, cluster or map domain.
struct Axis {
  SourceRange range;
  Name name;
  ExprPtr extent;
};

/// `map (r: C) { … }`, `map (r: C) point`, `map point`.
struct Map {
  std::vector<Axis> domain; ///< empty: taken from the target
  bool braced = false;      ///< otherwise the body is one Assign
  Block body;               ///< Let and Assign only
};

struct Sync {};

struct Assert {
  ExprPtr condition;
};

using StmtNode = std::variant<Let, Var, Frag, Shared, Barrier, Role, For, If, Wait, Arrive, Await,
                              Copy, Wgmma, Map, Assign, Sync, Assert>;

struct Stmt {
  SourceRange range;
  Trivia trivia;
  StmtNode node;
};

// ----------------------------------------------------------------------------------------- kernels

/// `T` or `HQ: static` in the brackets of a kernel.
struct Dim {
  SourceRange range;
  Name name;
  bool isStatic = false;
};

/// `BM = 128`, `E = bf16`: a compile-time parameter with its default.
struct Param {
  SourceRange range;
  Name name;
  ExprPtr value; ///< an expression, or a Type
};

enum class Direction { In, Out, InOut };

/// `in`, `out`, `inout`.
std::string_view spelling(Direction direction);

/// A tensor `k: in E[T, DK] strided(16)`, or a scalar `scale: f32`.
struct Arg {
  SourceRange range;
  Trivia trivia;
  Name name;
  std::optional<Direction> direction; ///< absent for a scalar
  SourceRange directionRange;
  ElemType elem;
  Shape shape; ///< of a tensor
  bool strided = false;
  SourceRange stridedRange;
  ExprPtr alignment; ///< of `strided(16)`, in bytes
  ExprPtr condition; ///< of `if e`

  bool isTensor() const { return direction.has_value(); }
};

struct Where {
  std::vector<ExprPtr> conditions;
};

struct Grid {
  std::vector<Axis> axes;
};

struct Cluster {
  std::vector<Axis> axes;
};

struct Resident {
  ExprPtr count;
};

/// `M = 128`, `E = f16`, `seq = [0, 64, 200]`.
struct CheckBinding {
  SourceRange range;
  Name name;
  ExprPtr value; ///< null for a list
  bool isList = false;
  std::vector<ExprPtr> list;
};

struct CheckCase {
  SourceRange range; ///< with the parentheses
  std::vector<CheckBinding> bindings;
};

struct Check {
  std::vector<CheckCase> cases;
};

struct Clause {
  SourceRange range;
  SourceRange wordRange; ///< `grid`
  Trivia trivia;
  std::variant<Where, Grid, Cluster, Resident, Check> node;
};

struct Kernel {
  Name name;
  SourceRange header; ///< `kernel name`, for labels
  std::vector<Dim> dims;
  std::vector<Param> params;
  std::vector<Arg> args;
  std::vector<Clause> clauses; ///< in the order written; `where` and `check` may repeat
  Block body;
};

/// `const C = 64`.
struct Const {
  Name name;
  ExprPtr value;
};

/// `fn inv2(x) = 1.0 / (x * x)`: a scalar function, inlined.
struct Fn {
  Name name;
  std::vector<Name> params;
  ExprPtr value;
};

struct TopLevel {
  SourceRange range;
  Trivia trivia;
  std::variant<Const, Fn, Kernel> node;
};

struct Module {
  SourceRange range; ///< the whole file
  std::vector<TopLevel> items;
  std::vector<Comment> closeComments; ///< after the last item
};

} // namespace flashqla::ast
