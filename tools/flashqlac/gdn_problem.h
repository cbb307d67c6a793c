// One GDN forward on the host: inputs of a file or made ones, and the configuration that fits them.
#pragma once

#include "kernels/gdn/gdn.h"
#include "kernels/reference.h"
#include "runtime/safetensors.h"
#include "tools/flashqlac/verbs.h"

#include <string>
#include <vector>

namespace flashqla::cli {

struct GdnProblem {
  gdn::Config config;
  reference::GdnInputs inputs; ///< what the reference computes with, too
  gdn::Extents extents;
};

/// From the tensors q, k, v, g, beta and, where they are there, initial_state, cu_seqlens, A_log,
/// dt_bias. Errors: run-input (a tensor that is missing, lengths that are none), usage, and those
/// of gdn.h.
Expected<GdnProblem> gdnProblemOf(const Safetensors &file, const GdnOptions &options);

struct MadeShape {
  gdn::Config config;
  gdn::Extents extents;
  std::vector<std::int64_t> lengths; ///< of the sequences
};
/// What `makeGdnProblem` would fill. Errors: usage, gdn-unsupported.
Expected<MadeShape> madeShape(const GdnOptions &options);
/// Random tensors of the extents that the options name: unit q and k, normal v, beta in [0, 1), log
/// gates logsigmoid(normal) / 16 with every fourth head at zero. Errors: usage, gdn-unsupported.
Expected<GdnProblem> makeGdnProblem(const GdnOptions &options);

/// [N, HV, K, V] or [N, HV, V, K].
std::vector<std::int64_t> stateShape(const GdnProblem &problem);

/// "2 sequences, 5096 tokens, 16 q/k and 64 value heads of 128 x 128, bf16".
std::string describe(const GdnProblem &problem);

/// The bound on the relative error of both results for this element type.
double gdnTolerance(const gdn::Config &config);

} // namespace flashqla::cli
