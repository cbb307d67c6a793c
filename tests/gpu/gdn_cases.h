// The cases of the GDN forward tests as data: configuration of the kernels, lengths, kinds of
// inputs. The tests run them; the list of bundles is made from them.
#pragma once

#include "kernels/gdn/gdn.h"
#include "kernels/reference.h"

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace flashqla {

/// Log decay per token; other kinds of gates are made from it. LogSigmoid: logsigmoid(randn) / 16,
/// every fourth head exactly zero.
enum class GateData : std::uint8_t { LogSigmoid, Zero, MinusOne, MinusTwenty };
enum class BetaData : std::uint8_t { Random, Zero, One };
/// Random: independent unit vectors. Repeated: one unit vector for all tokens of a head.
enum class KeyData : std::uint8_t { Random, Repeated };

struct GdnCase {
  std::string name; // letters, digits and underscores
  gdn::Config config;
  /// Packed: the lengths of the sequences. Otherwise one length per batch entry, all equal.
  std::vector<std::int64_t> lengths;
  std::int64_t padding = 0; // tokens after the last sequence, all NaN; packed only
  GateData gates = GateData::LogSigmoid;
  BetaData betas = BetaData::Random;
  KeyData keys = KeyData::Random;
  /// q, k, v and gate, beta are slices of wider rows whose other columns are NaN.
  bool stridedInputs = false;

  gdn::Extents extents() const;
  /// Bounds on the relative Frobenius errors of o and of the final state.
  double tolerance() const;
};

/// For GoogleTest.
inline void PrintTo(const GdnCase &item, std::ostream *out) { *out << item.name; }

/// Everything random is a function of the seed.
reference::GdnInputs makeInputs(const GdnCase &item, std::uint64_t seed);

/// bf16, (2, 8) heads, 128 × 128, both states, packed; V in blocks of `valueBlock`.
gdn::Config baseConfig(int valueBlock);

/// A few hundred tokens at most, one case for each mechanism; for the sanitizers too.
std::vector<GdnCase> smallGdnCases();
/// The matrix of lengths, heads, gates, betas, keys, types, layouts.
std::vector<GdnCase> fullGdnCases();
/// Both.
std::vector<GdnCase> allGdnCases();

} // namespace flashqla
