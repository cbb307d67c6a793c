// The frontend: checks a parsed module and lowers kernels to the tile dialect.
//
// A kernel is checked and lowered per *instantiation*: all `<…>` parameters and `static` dims are
// bound, statically decided `if` and `?:` lose the other arm before names in it are resolved,
// shapes are concrete, `unroll` loops and `each` roles are written out, `fn`s are inlined. What is
// left is one `tile.kernel` whose dims are `tile.dim` and whose scalars are upstream arithmetic:
//
//   Bindings bindings;
//   bindings["HQ"] = parseConstant("4").value();
//   bindings["E"] = ast::ScalarType::F16;
//   mlir::OwningOpRef<mlir::ModuleOp> module =
//       instantiate(*ast, "gdn_chain", bindings, context, diags);       // null after an error
//
// The context needs the tile dialect and those that it depends on: `loadDialects(context)`.
#pragma once

#include "compiler/support/diagnostics.h"
#include "compiler/syntax/ast.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace flashqla::frontend {

/// A value known when compiling: an integer, a float, a truth value or an element type.
using Constant = std::variant<int64_t, double, bool, ast::ScalarType>;

/// Reads `64`, `-1`, `0x40`, `1e-6`, `true`, `f16`; nothing where the text is none of these.
std::optional<Constant> parseConstant(std::string_view text);

/// The text form: `64`, `1e-06`, `true`, `f16`.
std::string constantText(const Constant &constant);

/// Values by name: of parameters (those that are missing have their defaults) and of `static` dims
/// (none may be missing).
using Bindings = std::map<std::string, Constant, std::less<>>;

/// One case of a kernel's `check` clauses.
struct CheckCase {
  SourceRange range;
  Bindings bindings;                                ///< parameters and static dims
  std::map<std::string, int64_t, std::less<>> dims; ///< all dims, static ones included
  Bindings scalars; ///< scalar arguments; those of float type may be missing
  /// Contents of integer tensors, row-major.
  std::map<std::string, std::vector<int64_t>, std::less<>> tables;
};

void loadDialects(mlir::MLIRContext &context);

/// The kernel of that name; null if there is none.
const ast::Kernel *findKernel(const ast::Module &module, std::string_view name);

/// Checks one kernel for one set of bindings and lowers it: one `tile.kernel` in a new module whose
/// `tile.stage` is "surface". Null after an error, which has been reported; `checkCase` is shown
/// where the bindings are at fault.
mlir::OwningOpRef<mlir::ModuleOp> instantiate(const ast::Module &module, std::string_view kernel,
                                              const Bindings &bindings, mlir::MLIRContext &context,
                                              Diagnostics &diags, SourceRange checkCase = {});

/// The cases of a kernel's `check` clauses, in order; cases with errors are reported and left out.
/// The bindings of a case instantiate the kernel. A kernel of a single shape needs no clause to
/// have a case.
std::vector<CheckCase> checkCases(const ast::Module &module, std::string_view kernel,
                                  Diagnostics &diags);

/// Checks a whole module: constants, functions, duplicate names, and each kernel at each of its
/// `check` cases. A kernel without cases is checked at its defaults if it has no static dims.
/// Returns whether there were no errors.
bool checkModule(const ast::Module &module, mlir::MLIRContext &context, Diagnostics &diags);

} // namespace flashqla::frontend
