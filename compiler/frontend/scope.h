// Names and what they stand for.
//
// A scope is a stack of frames over the items of the module. No name may hide another, so a name
// has one meaning wherever it is visible. Scopes are values: a role's body is lowered after the
// kernel's, in a copy of the scope that it stood in.
#pragma once

#include "compiler/frontend/scalar.h"

#include "llvm/ADT/SmallVector.h"

#include <map>
#include <string>
#include <vector>

namespace flashqla::frontend {

enum class SymbolKind {
  Value,  ///< a constant, parameter, dim, axis, scalar argument, `let` or index: scalar
  Var,    ///< a `var`: scalar is its value at this point of the program
  Type,   ///< a type parameter: type
  Fn,     ///< fn
  Kernel, ///< only its name is taken
  Tensor, ///< handle; argument
  Shared, ///< handle, shape, ring
  Frag,   ///< handle, shape
  Barrier,
  Role,
  Absent, ///< an argument whose condition is false: argument
  Failed, ///< its declaration was wrong, which has been reported
};

/// "a shared tile", for messages.
std::string_view describe(SymbolKind kind);

struct Symbol {
  Symbol() = default;
  Symbol(std::string name, SymbolKind kind, SourceRange declared, size_t order = 0)
      : name(std::move(name)), kind(kind), declared(declared), order(order) {}

  std::string name;
  SymbolKind kind = SymbolKind::Failed;
  SourceRange declared;
  size_t order = 0; ///< of a module item: its number; a function sees only earlier ones

  Scalar scalar;
  std::string launchText; ///< of a dim or scalar argument: its name in launch-time expressions
  const ast::Fn *fn = nullptr;
  const ast::Arg *argument = nullptr;
  int barrier = -1;     ///< number of a barrier
  bool isPoint = false; ///< the index of a map or reduction; scalar.points has its bit

  mlir::Value handle;
  ScalarType type = ScalarType::F32; ///< element type; the type of a Type
  llvm::SmallVector<int64_t> shape;  ///< of shared tiles and fragments
  bool ring = false;                 ///< a shared tile with a bracket for generations
  /// Extents of a tensor.
  llvm::SmallVector<Scalar> extents;

  bool isTile() const {
    return kind == SymbolKind::Tensor || kind == SymbolKind::Shared || kind == SymbolKind::Frag;
  }
  size_t rank() const { return kind == SymbolKind::Tensor ? extents.size() : shape.size(); }
  /// Extent of a dimension where it is known.
  std::optional<int64_t> extent(size_t dimension) const {
    return kind == SymbolKind::Tensor ? extents[dimension].asInteger()
                                      : std::optional(shape[dimension]);
  }
};

class Scope {
public:
  Scope() : frames(1) {}

  void push() { frames.emplace_back(); }
  void pop() { frames.pop_back(); }

  /// The symbol of that name, or null.
  Symbol *find(std::string_view name);
  const Symbol *find(std::string_view name) const { return const_cast<Scope *>(this)->find(name); }

  /// Adds to the innermost frame, unless the name is taken: then the symbol that has it is
  /// returned, and null otherwise.
  const Symbol *declare(Symbol symbol);

  /// Whether the name is declared in the innermost frame.
  bool isInnermost(std::string_view name) const { return frames.back().contains(name); }

  /// The visible name that is closest to a misspelled one; empty if none is close.
  std::string closest(std::string_view name) const;

  /// The module's items before number `order`, and nothing else: what a function's body sees.
  Scope moduleBefore(size_t order) const;

  /// Calls f on each symbol of kind Var, in order of their names.
  template <typename F> void forEachVar(F f) {
    for (auto &frame : frames)
      for (auto &[name, symbol] : frame)
        if (symbol.kind == SymbolKind::Var)
          f(symbol);
  }

private:
  std::vector<std::map<std::string, Symbol, std::less<>>> frames;
};

/// The candidate closest to a misspelled name; empty if none is close.
std::string closestName(std::string_view name, const std::vector<std::string> &candidates);

} // namespace flashqla::frontend
