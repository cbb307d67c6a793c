// Mistakes that a kernel could have: each of its statements that synchronise deleted, each generation moved, each
// list of arrivers shortened.
//
//   for (const Mutation &mutation : mutationsOf(module))
//     check(mutated(file, mutation));             // `gemm_nt mma: delete "arrive empty[k - 1]"` …
#pragma once

#include "compiler/syntax/ast.h"

namespace fq_test {

struct Mutation {
  const flashqla::ast::Kernel *kernel;
  std::string name; ///< kernel, role and change, as a list of mutations has it
  flashqla::SourceRange range; ///< is replaced …
  std::string text;            ///< … by this
};

/// In the order of the text.
std::vector<Mutation> mutationsOf(const flashqla::ast::Module &module);

std::string mutated(const flashqla::SourceFile &file, const Mutation &mutation);

} // namespace fq_test
