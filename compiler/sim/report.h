/// Findings of the simulator as diagnostics at the author's text.
#pragma once

#include "compiler/ir/location.h"
#include "compiler/sim/decode.h"
#include "compiler/sim/simulate.h"

namespace flashqla::sim {

/// `situation` says where it was found: "at M = 3, D = 2880". What was reported already at the same place, by a rule of
/// the text or for another shape, is not reported again.
void report(const SimResult &result, const DecodedKernel &kernel, const std::string &situation, const SourceFiles &files,
            Diagnostics &diags);

/// Remarks for waits that told their role nothing, ever. `results` are those of all runs of the kernel.
void reportRedundantWaits(std::span<const SimResult> results, const DecodedKernel &kernel, const SourceFiles &files,
                          Diagnostics &diags);

/// Remarks for barriers whose slots were used but once in all runs, though the text counts their generations.
void reportSingleRounds(std::span<const SimResult> results, const DecodedKernel &kernel, const SourceFiles &files,
                        Diagnostics &diags);

} // namespace flashqla::sim
