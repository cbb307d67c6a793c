// Source ranges as MLIR locations, and back.
//
// The frontend gives every op the range of the text that it came from (a FileLineColRange) and,
// where the author named the value, that name around it (a NameLoc: it becomes the name in the
// emitted CUDA). A pass that finds a mistake goes the other way:
//
//   SourceFiles files;
//   files.add(file);
//   reportAt(diags, DiagnosticKind::TmaBox, files, op, "…").label(files.range(tile), "declared here");
#pragma once

#include "compiler/support/diagnostics.h"

#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"

#include <map>
#include <string>
#include <string_view>

namespace flashqla {

/// The location of a range; unknown for a range without a file.
mlir::Location toLocation(mlir::MLIRContext *context, SourceRange range);

/// The same with a name around it.
mlir::Location toLocation(mlir::MLIRContext *context, SourceRange range, std::string_view name);

/// The author's name for a value with that location; empty if there is none.
std::string_view nameHint(mlir::Location location);

/// The source files that locations may point into, by name.
class SourceFiles {
public:
  /// The file must live as long as the ranges that are asked for.
  void add(const SourceFile &file);

  /// The range of a location, through names, call sites (the callee's place) and fusions (the first
  /// place that is known); absent if it names no file that was added.
  SourceRange range(mlir::Location location) const;
  SourceRange range(mlir::Operation *op) const { return range(op->getLoc()); }

private:
  std::map<std::string, const SourceFile *, std::less<>> files;
};

/// Reports a diagnostic with its registered severity at an op.
DiagnosticBuilder reportAt(Diagnostics &diags, DiagnosticKind kind, const SourceFiles &files,
                           mlir::Operation *op, std::string message);

} // namespace flashqla
