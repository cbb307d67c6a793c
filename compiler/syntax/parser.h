// Tokens → syntax tree, by recursive descent. After a mistake the parser goes on at the next line
// or brace, so that one run reports several; what it could not read is missing from the tree. A
// tree is complete if no error was reported.
//
//   SourceFile file("gemm.tile", text);
//   Diagnostics diags;
//   ast::Module module = parse(file, diags);
//   if (diags.hasErrors()) …
#pragma once

#include "compiler/support/diagnostics.h"
#include "compiler/support/source.h"
#include "compiler/syntax/ast.h"

namespace flashqla {

/// Reports the kinds of the section "Lexer and parser" of diagnostic_kinds.def. The tree's ranges
/// point into `file`.
ast::Module parse(const SourceFile &file, Diagnostics &diags);

} // namespace flashqla
