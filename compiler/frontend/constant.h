// Scalar types, and arithmetic on values known when compiling.
//
// The rules of the language that need types alone – which operands an operator takes, what comes
// out – and the folding of constants, with the reason where a result does not exist:
//
//   Folded sum = fold(ast::BinaryOp::Add, int64_t(2), 0.5);      // 2.5
//   Folded none = fold(ast::BinaryOp::Div, int64_t(1), int64_t(0)); // problem: "division by zero"
#pragma once

#include "compiler/frontend/frontend.h"

#include <span>

namespace flashqla::frontend {

using ast::ScalarType;

inline bool isInteger(ScalarType type) {
  return type == ScalarType::I32 || type == ScalarType::I64;
}
inline bool isFloat(ScalarType type) {
  return type == ScalarType::F32 || type == ScalarType::F16 || type == ScalarType::BF16;
}
inline bool isNumber(ScalarType type) { return isInteger(type) || isFloat(type); }

/// Width in bytes; a bool takes one.
int64_t byteWidth(ScalarType type);

/// Whether every value of `from` is one of `to`, or the language counts it so (integer to f32).
bool widens(ScalarType from, ScalarType to);

/// The functions that are built in and can stand in any scalar expression.
enum class Builtin { Exp, Exp2, Log, Log2, Rsqrt, Sqrt, Tanh, Abs, Max, Min, CeilDiv };

struct BuiltinInfo {
  Builtin builtin;
  std::string_view name;
  size_t arguments; ///< for `max` and `min` the smallest number
};

/// Null if no function of that name is built in.
const BuiltinInfo *findBuiltin(std::string_view name);
std::span<const BuiltinInfo> allBuiltins();

/// Type of `a op b`; nothing where the operator does not take these. Arithmetic of floats is f32,
/// of integers i64.
std::optional<ScalarType> resultType(ast::BinaryOp op, ScalarType a, ScalarType b);

/// The type that both arms of `?:` take; nothing if there is none.
std::optional<ScalarType> commonType(ScalarType a, ScalarType b);

/// Type of a constant: i64, f32 or bool. A type has none.
std::optional<ScalarType> typeOf(const Constant &constant);

/// An integer or a float as a float.
double asDouble(const Constant &constant);

/// A constant, or the reason why there is none.
struct Folded {
  std::optional<Constant> value;
  std::string problem;
};

/// The operands have types that the operation takes.
Folded fold(ast::UnaryOp op, const Constant &operand);
Folded fold(ast::BinaryOp op, const Constant &a, const Constant &b);
Folded fold(Builtin builtin, std::span<const Constant> arguments);

} // namespace flashqla::frontend
