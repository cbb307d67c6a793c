// Values for what a kernel leaves open: its parameters and static dims.
#pragma once

#include "compiler/frontend/launch.h"

namespace flashqla::frontend {

/// The constants and functions of the module that stand before a kernel; errors in them are
/// reported. Names of kernels are not part of it, as nothing refers to them.
Scope moduleScope(const ast::Module &module, const ast::Kernel &kernel, Reporter &reporter);

/// Whether every binding names a parameter or a static dim.
bool checkBindingNames(const ast::Kernel &kernel, const Bindings &bindings, Reporter &reporter);

/// Declares static dims and parameters with their values in the innermost frame. Parameters that
/// are not bound have their defaults, which may use static dims and earlier parameters.
bool declareBindings(const ast::Kernel &kernel, const Bindings &bindings, Scope &scope,
                     Reporter &reporter);

/// Adds a symbol to the scope; a name that is taken is reported.
bool declareIn(Scope &scope, Symbol symbol, Reporter &reporter);

/// The element type that is written, or that a type parameter stands for.
std::optional<ScalarType> resolveElementType(const ast::ElemType &elem, const Scope &scope,
                                             Reporter &reporter);

} // namespace flashqla::frontend
