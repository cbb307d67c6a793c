// Text → tokens. The lexer knows where a newline ends a statement, so that the parser sees a
// Newline token only where it means something:
//
//   let a = b +        no Newline: a binary operator waits for its operand
//       c              Newline
//   wait full[         no Newline inside brackets
//       k]
//   map p[r] = 0       no Newline before `where`
//     where r < n
//
// and none at all between `kernel` and the first brace. Comments are no tokens; they are listed
// beside them.
#pragma once

#include "compiler/support/diagnostics.h"
#include "compiler/support/source.h"
#include "compiler/syntax/ast.h"

#include <string>
#include <string_view>
#include <vector>

namespace flashqla {

enum class TokenKind {
  End,
  Newline,
  Identifier,
  Integer,
  Float,
  Reserved, ///< a word without meaning yet
#define FQ_TYPE(Name, spelling) Name,
#define FQ_KEYWORD(Name, spelling) Name,
#define FQ_PUNCTUATION(Name, spelling) Name,
#include "compiler/syntax/tokens.def"
};

/// A keyword or an element type: a word that cannot be a name.
bool isWord(TokenKind kind);

/// The spelling of a keyword or of punctuation; for the others what they are: `a name`, `end of
/// line`.
std::string_view tokenName(TokenKind kind);

struct Token {
  TokenKind kind = TokenKind::End;
  SourceRange range;
  bool blankBefore =
      false; ///< an empty line lies between this token and the token or comment before it

  std::string_view text() const { return range.text(); }
};

struct LexedFile {
  std::vector<Token> tokens; ///< the last one is End
  std::vector<ast::Comment> comments;
};

/// Reports text-encoding, unknown-character, number-syntax; leaves out what it cannot read.
LexedFile lex(const SourceFile &file, Diagnostics &diags);

/// One token a line: `line:column kind text`; comments are left out.
std::string dumpTokens(const SourceFile &file, Diagnostics &diags);

} // namespace flashqla
