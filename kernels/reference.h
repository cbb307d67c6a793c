// What each kernel computes, written down as plainly as possible and evaluated in f64.
//
// A reference takes the tensors that the kernel gets (already rounded to their element types) and
// returns all elements of the result in row-major order. The definitions are those at the head of
// the `.tile` files; nothing is blocked or rearranged, so that a reference can be read against its
// formula. They use all cores of the host.
//
//     std::vector<double> want = reference::gemm(a, b, false, true);
//     EXPECT_LE(relativeError(c.values(), want), 4e-3);
#pragma once

#include "kernels/host_tensor.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace flashqla::reference {

/// y[n, m] = x[m, n]. x: [M, N].
std::vector<double> transpose(const HostTensor &x);

/// y[i, :] = exp(s x - max) / Σ exp(s x - max). x: [M, N], N > 0.
std::vector<double> rowSoftmax(const HostTensor &x, double scale);

struct RmsNorm {
  std::vector<double> residual; // [M, D], rounded to the type of x
  std::vector<double> y;        // [M, D]
};
/// residual = x + residual ; y = residual / sqrt(mean(residual²) + eps) · weight.
/// x, residual: [M, D] of one type; weight: [D].
RmsNorm rmsNorm(const HostTensor &x, const HostTensor &residual, const HostTensor &weight,
                double eps);

/// C = op(A) · op(B) of shape [M, N]. a: [M, K], or [K, M] if `transposeA`; b: [K, N], or [N, K] if
/// `transposeB`. `activation` is applied to the elements of A first, and its result rounded to the
/// type of A, as the kernel does.
std::vector<double> gemm(const HostTensor &a, const HostTensor &b, bool transposeA, bool transposeB,
                         const std::function<double(double)> &activation = nullptr);

/// o_t = scale · Σ_{u ≤ t} (q_t · k_u) v_u. q, k: [B, T, H, K]; v and the result: [B, T, H, V].
std::vector<double> linearAttention(const HostTensor &q, const HostTensor &k, const HostTensor &v,
                                    double scale);

/// How the decay of a token is given: its natural logarithm; itself, in [0, 1]; or decay =
/// exp(-exp(aLog) · softplus(gate + dtBias)).
enum class Gate : std::uint8_t { Log, Linear, Raw };

struct GdnInputs {
  HostTensor q, k;                  // [B, T, HQ, K]
  HostTensor v;                     // [B, T, HV, V]; HV is a multiple of HQ
  HostTensor gate, beta;            // [B, T, HV]
  std::optional<HostTensor> aLog;   // [HV], raw gates only
  std::optional<HostTensor> dtBias; // [HV], raw gates only
  /// [N, HV, K, V], or [N, HV, V, K] if `valueFirst`; none: zero.
  std::optional<HostTensor> initialState;
  /// N + 1 offsets of packed sequences, for B = 1; empty: N = B sequences of T tokens.
  std::vector<std::int64_t> cuSeqlens;
  double scale = 1;
  Gate gateKind = Gate::Log;
  bool sigmoidBeta = false; // beta is given before the sigmoid
  bool valueFirst = false;  // layout of both states
};

struct GdnOutputs {
  std::vector<double> o;          // [B, T, HV, V]; zero where no sequence is
  std::vector<double> finalState; // [N, HV, K, V], or [N, HV, V, K] if `valueFirst`
};

/// The token recurrence of Gated Delta Networks, per sequence and value head, with q and k of head
/// h / (HV / HQ):
///   S~ = decay_t S ;  S = S~ + beta_t k_t (v_t - S~ᵀ k_t)ᵀ ;  o_t = scale · Sᵀ q_t
GdnOutputs gdn(const GdnInputs &inputs);

} // namespace flashqla::reference
