// Diagnostics as people and programs read them.
//
// The text form has a first line that terminals make clickable, the source lines that labels stand
// on, and below them notes and a help:
//
//   gemm_nt.tile:38:29: error: shapes do not multiply: [128, 64] @ [128, 64] [matmul-shape]
//      38 |       wgmma acc += a_s[k] @ b_s[k]
//         |                    ------   ^^^^^^ K is 128 here
//         |                    K is 64 here
//     help: `b_s[k].T` is [64, 128]
//
// The JSON form is one object per line and diagnostic, for editors and scripts.
#pragma once

#include "compiler/support/diagnostics.h"

#include <string>

namespace flashqla {

struct RenderOptions {
  bool colors = false;    ///< ANSI escapes
  size_t errorLimit = 20; ///< how many errors are shown by the functions that take all; 0: no limit
};

/// One diagnostic, ending with a newline.
std::string renderText(const Diagnostic &diagnostic, const RenderOptions &options = {});

/// All of them in sorted order with empty lines between, and how many errors the limit left out.
std::string renderText(const Diagnostics &diagnostics, const RenderOptions &options = {});

/// One object, without a newline: file, line, column, endLine, endColumn, severity, kind, message,
/// primary, labels, notes, help. Places are absent where there are none.
std::string renderJson(const Diagnostic &diagnostic);

/// All of them in sorted order, one a line.
std::string renderJson(const Diagnostics &diagnostics);

} // namespace flashqla
