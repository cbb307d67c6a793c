// What is checked before a kernel is launched: the arguments against the manifest.
//
// `checkLaunch` matches kinds, types and ranks, finds the value of every dim (from the sizes of the
// tensors, from the call, from the manifest), compares all sizes, decides the `where` clauses, and
// checks strides, pointers and alignment. It allocates nothing unless it returns an error. The
// codes of the errors are in the manual of flashqla/runtime.h; messages do not name the kernel, the
// caller puts that in front.
#pragma once

#include "flashqla/runtime.h"
#include "runtime/manifest.h"

#include <cstdint>

namespace flashqla {

/// The value of each symbol (`manifestSymbols`), by slot.
struct SymbolValues {
  std::int64_t values[Manifest::maxSymbols] = {};
};

Expected<void> checkLaunch(const Manifest &manifest, const Arg *args, std::size_t count,
                           const LaunchOptions &options, SymbolValues &symbols);

/// The number of CTAs, 0 for an empty grid. Errors: launch-grid, expr-overflow, expr-division.
Expected<std::int64_t> gridBlocks(const Manifest &manifest, const SymbolValues &symbols);

} // namespace flashqla
