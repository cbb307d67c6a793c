#include "kernels/reference.h"

#include "kernels/parallel.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <span>

namespace flashqla::reference {

namespace {

/// Positions in vectors are unsigned; extents and strides are not.
std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

double roundTo(DType dtype, double value) {
  HostTensor one(dtype, {1});
  one.set(0, value);
  return one.get(0);
}

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}

double softplus(double x) { return x > 30 ? x : std::log1p(std::exp(x)); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

} // namespace

std::vector<double> transpose(const HostTensor &x) {
  const std::int64_t rows = x.sizes()[0], columns = x.sizes()[1];
  std::vector<double> y(at(rows * columns));
  for (std::int64_t m = 0; m < rows; ++m)
    for (std::int64_t n = 0; n < columns; ++n)
      y[at(n * rows + m)] = x.get(m * columns + n);
  return y;
}

std::vector<double> rowSoftmax(const HostTensor &x, double scale) {
  const std::int64_t rows = x.sizes()[0], columns = x.sizes()[1];
  std::vector<double> y = x.values();
  parallelFor(rows, 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t m = begin; m < end; ++m) {
      const std::span<double> row(&y[at(m * columns)], at(columns));
      for (double &value : row)
        value *= scale;
      const double largest = *std::max_element(row.begin(), row.end());
      double sum = 0;
      for (double &value : row)
        sum += value = std::exp(value - largest);
      for (double &value : row)
        value /= sum;
    }
  });
  return y;
}

RmsNorm rmsNorm(const HostTensor &x, const HostTensor &residual, const HostTensor &weight,
                double eps) {
  const std::int64_t rows = x.sizes()[0], columns = x.sizes()[1];
  RmsNorm result{std::vector<double>(at(rows * columns)), std::vector<double>(at(rows * columns))};
  for (std::int64_t m = 0; m < rows; ++m) {
    double squares = 0;
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::int64_t i = m * columns + c;
      const double value = roundTo(x.dtype(), x.get(i) + residual.get(i));
      result.residual[at(i)] = value;
      squares += value * value;
    }
    const double factor = 1 / std::sqrt(squares / static_cast<double>(columns) + eps);
    for (std::int64_t c = 0; c < columns; ++c)
      result.y[at(m * columns + c)] = result.residual[at(m * columns + c)] * factor * weight.get(c);
  }
  return result;
}

std::vector<double> gemm(const HostTensor &a, const HostTensor &b, bool transposeA, bool transposeB,
                         const std::function<double(double)> &activation) {
  const std::int64_t m = a.sizes()[transposeA ? 1 : 0], k = a.sizes()[transposeA ? 0 : 1];
  const std::int64_t n = b.sizes()[transposeB ? 0 : 1];
  std::vector<double> rowsOfA = transposeA ? transpose(a) : a.values();
  const std::vector<double> columnsOfB = transposeB ? b.values() : transpose(b);
  if (activation)
    for (double &value : rowsOfA)
      value = roundTo(a.dtype(), activation(value));
  std::vector<double> c(at(m * n));
  parallelFor(m, 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        c[at(i * n + j)] = dot({rowsOfA.data() + i * k, at(k)}, {columnsOfB.data() + j * k, at(k)});
  });
  return c;
}

std::vector<double> linearAttention(const HostTensor &q, const HostTensor &k, const HostTensor &v,
                                    double scale) {
  const std::int64_t batch = q.sizes()[0], tokens = q.sizes()[1], heads = q.sizes()[2];
  const std::int64_t dimK = q.sizes()[3], dimV = v.sizes()[3];
  const std::vector<double> qs = q.values(), ks = k.values(), vs = v.values();
  std::vector<double> o(vs.size());
  parallelFor(batch * heads, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t b = i / heads, h = i % heads;
      std::vector<double> state(at(dimV * dimK)); // row d holds S[:, d]
      for (std::int64_t t = 0; t < tokens; ++t) {
        const std::int64_t row = (b * tokens + t) * heads + h;
        const double *key = ks.data() + row * dimK;
        for (std::int64_t d = 0; d < dimV; ++d) {
          const std::span<double> s(state.data() + d * dimK, at(dimK));
          for (std::int64_t c = 0; c < dimK; ++c)
            s[at(c)] += key[c] * vs[at(row * dimV + d)];
          o[at(row * dimV + d)] = scale * dot(s, {qs.data() + row * dimK, at(dimK)});
        }
      }
    }
  });
  return o;
}

namespace {

/// One sequence and value head of the recurrence.
class GdnHead {
public:
  GdnHead(const GdnInputs &inputs, std::int64_t sequence, std::int64_t head)
      : in(inputs), sequence(sequence), head(head), tokens(in.q.sizes()[1]),
        headsQk(in.q.sizes()[2]), headsV(in.v.sizes()[2]), dimK(in.q.sizes()[3]),
        dimV(in.v.sizes()[3]), state(at(dimV * dimK)), q(at(dimK)), k(at(dimK)) {
    if (in.initialState)
      for (std::int64_t d = 0; d < dimV; ++d)
        for (std::int64_t c = 0; c < dimK; ++c)
          state[at(d * dimK + c)] = in.initialState->get(stateIndex(d, c));
  }

  void run(GdnOutputs &out) {
    const bool packed = !in.cuSeqlens.empty();
    const std::int64_t first = packed ? in.cuSeqlens[at(sequence)] : 0;
    const std::int64_t last = packed ? in.cuSeqlens[at(sequence + 1)] : tokens;
    const std::int64_t batch = packed ? 0 : sequence;
    for (std::int64_t t = first; t < last; ++t)
      step(batch * tokens + t, out.o);
    for (std::int64_t d = 0; d < dimV; ++d)
      for (std::int64_t c = 0; c < dimK; ++c)
        out.finalState[at(stateIndex(d, c))] = state[at(d * dimK + c)];
  }

private:
  std::int64_t stateIndex(std::int64_t d, std::int64_t c) const {
    const std::int64_t matrix = (sequence * headsV + head) * dimK * dimV;
    return matrix + (in.valueFirst ? d * dimK + c : c * dimV + d);
  }

  double decay(std::int64_t row) const {
    const double gate = in.gate.get(row);
    switch (in.gateKind) {
    case Gate::Log:
      return std::exp(gate);
    case Gate::Linear:
      return gate;
    case Gate::Raw:
      return std::exp(-std::exp(in.aLog->get(head)) * softplus(gate + in.dtBias->get(head)));
    }
    return 0;
  }

  /// Token number `token` counts over the batch.
  void step(std::int64_t token, std::vector<double> &o) {
    const std::int64_t row = token * headsV + head;
    const std::int64_t rowQk = token * headsQk + head / (headsV / headsQk);
    for (std::int64_t c = 0; c < dimK; ++c) {
      q[at(c)] = in.q.get(rowQk * dimK + c);
      k[at(c)] = in.k.get(rowQk * dimK + c);
    }
    const double alpha = decay(row);
    const double beta = in.sigmoidBeta ? sigmoid(in.beta.get(row)) : in.beta.get(row);
    for (std::int64_t d = 0; d < dimV; ++d) {
      const std::span<double> s(state.data() + d * dimK, at(dimK)); // S[:, d]
      for (double &element : s)
        element *= alpha;
      const double write = beta * (in.v.get(row * dimV + d) - dot(s, k));
      for (std::size_t c = 0; c < s.size(); ++c)
        s[c] += k[c] * write;
      o[at(row * dimV + d)] = in.scale * dot(s, q);
    }
  }

  const GdnInputs &in;
  std::int64_t sequence, head, tokens, headsQk, headsV, dimK, dimV;
  std::vector<double> state; // [V, K]
  std::vector<double> q, k;  // of the current token
};

} // namespace

GdnOutputs gdn(const GdnInputs &inputs) {
  const std::int64_t headsV = inputs.v.sizes()[2];
  assert(headsV % inputs.q.sizes()[2] == 0 && "value heads are a multiple of q/k heads");
  assert((inputs.cuSeqlens.empty() || inputs.q.sizes()[0] == 1) && "packed sequences have B = 1");
  const std::int64_t sequences = inputs.cuSeqlens.empty()
                                     ? inputs.q.sizes()[0]
                                     : static_cast<std::int64_t>(inputs.cuSeqlens.size()) - 1;
  GdnOutputs out;
  out.o.resize(at(inputs.v.elementCount()));
  out.finalState.resize(at(sequences * headsV * inputs.q.sizes()[3] * inputs.v.sizes()[3]));
  parallelFor(sequences * headsV, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      GdnHead(inputs, i / headsV, i % headsV).run(out);
  });
  return out;
}

} // namespace flashqla::reference
