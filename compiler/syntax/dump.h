// Syntax tree → indented text, for `--emit=ast` and the parser's tests: one node a line, what it
// consists of below it.
#pragma once

#include "compiler/syntax/ast.h"

#include <string>

namespace flashqla {

/// Depends on the tree alone, not on places or comments.
std::string dumpAst(const ast::Module &module);

} // namespace flashqla
