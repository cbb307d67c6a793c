// Expressions of a kernel's signature: shapes, grid axes, `where` clauses, values of parameters.
//
// What is known when compiling is folded; the rest becomes text over the names of dims and of
// integer and bool arguments, in the syntax that the runtime evaluates at launch:
//
//   SLOTS == (PACKED ? T / C + NS + 1 : B * ceildiv(T, C))   →   "SLOTS == T / 64 + NS + 1"
#pragma once

#include "compiler/frontend/reporter.h"
#include "compiler/frontend/scope.h"

namespace flashqla::frontend {

struct LaunchValue {
  std::optional<Constant> constant; ///< known when compiling
  std::string text;                 ///< otherwise
  int level = 0;                    ///< binding strength of the text's outermost operator
  ScalarType type = ScalarType::I64;
};

/// Nothing after an error, which has been reported.
std::optional<LaunchValue> evaluateAtLaunch(const ast::Expr &expr, const Scope &scope,
                                            Reporter &reporter);

/// A value known when compiling; anything else is reported as not-constant. `what` names the place:
/// "the value of a parameter".
std::optional<Constant> evaluateConstant(const ast::Expr &expr, const Scope &scope,
                                         Reporter &reporter, std::string_view what);

/// The symbol of a name; unknown ones and arguments that do not exist are reported.
const Symbol *lookup(const ast::Name &name, const Scope &scope, Reporter &reporter);

/// The text of a launch value, constants included.
std::string launchText(const LaunchValue &value);

} // namespace flashqla::frontend
