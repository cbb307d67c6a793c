/// The wgmma instructions that a kernel uses, each printed once as a function of the prelude.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace flashqla::codegen {

/// One wgmma.m64nNk16 with f32 accumulators.
struct WgmmaShape {
  int64_t n;           ///< columns, a multiple of 8 up to 256
  bool f16;            ///< f16 operands; otherwise bf16
  bool registerA;      ///< A from registers; otherwise a descriptor
  bool transposeA;     ///< A is M-major (only with a descriptor)
  bool transposeB;     ///< B is N-major
  bool overwrite;      ///< the product replaces the accumulator
  bool negate;         ///< the product is subtracted
  auto operator<=>(const WgmmaShape &) const = default;
};

/// The text that precedes every kernel.
std::string_view prelude();
/// The text of unit_lower_inverse.
std::string_view inverseText();
/// The functions of instrumented kernels.
std::string_view timelineText();

class Instructions {
public:
  /// The name of the function that issues this product: `name(accumulators, a, b)`.
  std::string wgmma(const WgmmaShape &shape);
  /// The name of the function that waits until all but `keep` groups have retired and hands back fragments with these
  /// numbers of registers: `name(x, y, …)`. One assembly statement names them all, which keeps every read behind it.
  std::string waitGroup(int64_t keep, const std::vector<int64_t> &registers);
  /// The kernel inverts a triangular tile: the function and what it uses.
  void needInverse();
  /// The kernel is instrumented.
  void needTimeline() { timeline = true; }
  /// The functions asked for so far.
  std::string text() const;

private:
  std::set<WgmmaShape> products;
  std::set<std::pair<int64_t, std::vector<int64_t>>> waits;
  bool inverse = false, timeline = false;
};

} // namespace flashqla::codegen
