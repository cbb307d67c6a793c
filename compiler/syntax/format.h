// Syntax tree → canonical text: what `flashqlac fmt` writes, and what the cache key and the
// parser's tests compare.
//
//   std::string text = format(parse(file, diags));       // only if no error was reported
//
// Formatting what was formatted changes nothing. Comments, and empty lines that group statements,
// are kept; spacing, indentation, line breaks and the column of trailing comments are not. Lines
// are at most 100 columns wide where the grammar allows to break them. A block of one statement
// that was written on one line stays there.
#pragma once

#include "compiler/syntax/ast.h"

#include <string>

namespace flashqla {

/// Canonical text of a complete module, ending with a newline unless it is empty.
std::string format(const ast::Module &module);

/// Canonical text of one expression, on one line, for messages.
std::string formatExpr(const ast::Expr &expr);

} // namespace flashqla
