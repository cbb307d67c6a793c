// Integer expressions over the dims of a kernel, evaluated at launch: shapes, grid axes, `where`
// clauses.
//
// An expression is written and read as text in the language's own syntax, `ceildiv(N, 128)` or
// `PACKED ? T / C + 1 : B`, and kept as a flat array in postfix order. Evaluation walks the array
// and allocates nothing; overflow and division by zero are errors with the values that led there.
// Names are bound to slots of a value array once, when a kernel is loaded:
//
//     Expected<DimExpr> blocks = DimExpr::parse("ceildiv(N, 128)");
//     const std::string names[] = {"M", "N"};
//     Expected<void> bound = blocks->bind(names);
//     const std::int64_t values[] = {300, 200};
//     Expected<std::int64_t> count = blocks->evaluate(values); // 2
//
// `/` rounds down and `%` has the sign of the divisor. Truth is 1 and 0; `?:`, `&&` and `||`
// evaluate only what they need. The compiler builds expressions with the functions below and prints
// them into the manifest.
#pragma once

#include "flashqla/error.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flashqla {

class DimExpr {
public:
  enum class Op : std::uint8_t {
    Constant, // value
    Name,     // value is the index in `names()`
    Add,
    Sub,
    Mul,
    Div,     // rounds down
    Mod,     // sign of the divisor
    CeilDiv, // rounds up
    Min,
    Max,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    And,
    Or,
    Negate,
    Not,
    Select, // condition, then, else
  };

  /// `name + constant`, which can be solved for the name.
  struct NamePlusConstant {
    int slot = 0;
    std::int64_t constant = 0;
  };

  /// The constant 0.
  DimExpr() : DimExpr(constant(0)) {}
  static DimExpr constant(std::int64_t value);
  static DimExpr name(std::string_view name);
  static DimExpr unary(Op op, const DimExpr &operand);
  static DimExpr binary(Op op, const DimExpr &left, const DimExpr &right);
  static DimExpr select(const DimExpr &condition, const DimExpr &then, const DimExpr &otherwise);

  /// Reads the text form. `min` and `max` take two or more operands; `true` and `false` are 1 and
  /// 0. Error: expr-syntax, with the column.
  static Expected<DimExpr> parse(std::string_view text);

  /// The text form, with the parentheses that it needs; `parse(text())` gives the same expression.
  std::string text() const;

  /// The distinct names, in order of first appearance.
  const std::vector<std::string> &names() const { return nameList; }
  std::optional<std::int64_t> asConstant() const;

  /// Gives each name the slot of its equal in `symbols`. Error: expr-name for a name that is not
  /// there.
  Expected<void> bind(std::span<const std::string> symbols);

  // After `bind`; `values` is indexed by slot.

  /// The slots used, one per name.
  std::span<const int> slots() const { return slotList; }
  /// Set for `D`, `D + 1`, `1 + D` and `D - 1`.
  std::optional<NamePlusConstant> asNamePlusConstant() const;
  /// Errors: expr-overflow, expr-division.
  Expected<std::int64_t> evaluate(std::span<const std::int64_t> values) const;
  /// "K = 500, N = 8": the names with their values, for messages; empty without names.
  std::string describe(std::span<const std::int64_t> values) const;

  friend bool operator==(const DimExpr &a, const DimExpr &b) { return a.text() == b.text(); }

private:
  struct Node {
    Op op = Op::Constant;
    std::int64_t value = 0;
    int operands[3] = {-1, -1, -1}; // indices of earlier nodes
  };
  struct Failure {
    const char *code = nullptr;
    int node = 0;
  };

  struct Empty {};
  explicit DimExpr(Empty) {}
  static DimExpr combine(Op op, std::initializer_list<const DimExpr *> operands);
  void print(int node, int minimumLevel, std::string &out) const;
  bool evaluateNode(int node, const std::int64_t *values, std::int64_t &result,
                    Failure &failure) const;
  /// Null, or the code of the error.
  static const char *apply(Op op, std::int64_t a, std::int64_t b, std::int64_t &result);

  std::vector<Node> nodes; // postfix: the last one is the root
  std::vector<std::string> nameList;
  std::vector<int> slotList; // parallel to nameList once bound
};

} // namespace flashqla
