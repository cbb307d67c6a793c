/// The manifest of a kernel: what the runtime needs to check and launch it.
#pragma once

#include "compiler/codegen/emit_kernel.h"
#include "compiler/codegen/nvrtc.h"

namespace flashqla::codegen {

/// Everything but the compile time. `file` is the source's name; `compiled` gives registers, spills and advisories.
Manifest makeManifest(tile::KernelOp kernel, const EmittedKernel &emitted, const CompiledCuda &compiled,
                      const std::string &file, const std::string &arch);

} // namespace flashqla::codegen
