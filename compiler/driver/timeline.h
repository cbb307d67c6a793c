/// A CTA of a kernel simulated in time, from `.tile` text.
///
///     TimelineRequest request;
///     request.compile.file = "kernels/gemm_nt.tile";
///     request.dims["K"] = 4096;
///     TimelineResult result = session.timeline(request);
///     if (result.timeline) std::puts(sim::timelineSummary(*result.timeline).c_str());
#pragma once

#include "compiler/driver/compile.h"
#include "compiler/sim/timeline.h"

namespace flashqla::driver {

struct TimelineRequest {
  CompileRequest compile;                ///< file, kernel; bindings that replace those of the case
  size_t number = 0;                     ///< of the kernel's `check` cases; one without cases needs all dims
  std::map<std::string, int64_t> dims;   ///< that replace those of the case, static ones included
  /// Scalars, and contents of integer tensors: `1`, `0.5`, `0,64,200`.
  std::map<std::string, std::string> values;
  int64_t block = 0;
  std::optional<int64_t> resident;       ///< CTAs that share a multiprocessor; absent: what the kernel promises
  sim::Costs costs;
};

struct TimelineResult {
  std::optional<sim::Timeline> timeline;
  std::optional<Error> error;
  std::string kernel;                    ///< name of the one that was chosen
  frontend::CheckCase shape;             ///< what was launched
};

} // namespace flashqla::driver
