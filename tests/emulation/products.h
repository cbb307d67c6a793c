// Products of warpgroups (wgmma.mma_async, m64nNk16 with f32 accumulators).
//
// Each warp of a warpgroup computes its 16 rows by itself: the four of them need not come together,
// so that a kernel in which one warp overwrites an operand that another still multiplies is found
// out. All four must issue the same products, though. Accumulator and A registers are laid out as
// the PTX ISA draws them ("wgmma .m64nNk16 register fragments").
//
// From issue to retirement a product owns its accumulators: they hold a NaN of their own, which
// shows up in results that use them too early, and which must still be there at the end. Operands
// in shared memory are read when the product takes effect (`Timing`), A registers at the issue.
#pragma once

#include "tests/emulation/options.h"
#include "tests/emulation/shared_memory.h"

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

namespace flashqla::emulation {

class Random;

struct ProductShape {
  unsigned columns = 0; // N
  bool f16 = false;     // otherwise bf16
  bool registerA = false;
  bool transposeA = false, transposeB = false; // MN-major
  bool accumulate = true;                      // the predicate scale-d
  bool negateA = false, negateB = false;
  bool operator==(const ProductShape &) const = default;
};

/// What one lane hands to a product.
struct ProductLane {
  float *accumulators = nullptr; // N / 2
  std::uint32_t a[4] = {};       // of a first operand in registers
  std::uint64_t descriptorA = 0, descriptorB = 0;
};

class Products {
public:
  static constexpr unsigned lanes = 32;

  Products(SharedMemory &shared, unsigned warps, Timing timing, Random &random);
  ~Products();
  void reset();

  void fence(unsigned warp);
  void issue(unsigned warp, int line, const ProductShape &shape,
             const ProductLane (&operands)[lanes]);
  void commit(unsigned warp);
  /// All but the newest `keep` groups have retired.
  void wait(unsigned warp, unsigned keep);
  void checkCtaEnd() const;

private:
  static constexpr unsigned rows = 16, depth = 16, maxColumns = 256;

  /// The accumulators of a warp that products in flight write.
  struct Accumulator {
    unsigned columns;
    float *registers[lanes];
    unsigned users = 0; // products in flight
    float value[rows][maxColumns];
  };
  /// A matrix in shared memory: eight elements that lie side by side, along k or, if `transposed`,
  /// along the other dimension, at each address.
  struct Matrix {
    std::vector<std::uint32_t> chunks;
    bool transposed = false;
  };
  struct Product {
    ProductShape shape;
    int line;
    std::uint64_t group;
    Accumulator *accumulator;
    float a[rows][depth]; // of a first operand in registers
    Matrix matrixA, matrixB;
  };
  /// What all warps of a warpgroup must issue alike.
  struct Record {
    ProductShape shape;
    std::uint64_t descriptorA, descriptorB;
    int line;
  };
  struct Warp {
    std::list<Product> flying;
    std::list<Accumulator> accumulators;
    std::uint64_t groups = 0; // committed
    std::size_t issued = 0;
    bool fenced = false;
  };

  void record(unsigned warp, Record entry);
  Accumulator &accumulatorOf(Warp &warp, const ProductShape &shape,
                             const ProductLane (&operands)[lanes]);
  void retireFirst(Warp &warp);
  Matrix read(std::uint64_t descriptor, unsigned first, unsigned count, bool transposed);
  /// Calls `visit` with m or n, k, and the element.
  template <class Visit> void forElements(const Matrix &matrix, bool f16, Visit visit) const;
  void compute(const Product &product) const;
  void release(Warp &warp, Accumulator &accumulator);

  SharedMemory &shared;
  const Timing timing;
  Random &random;
  std::vector<Warp> warps;
  std::vector<std::vector<Record>> records; // by warpgroup
};

} // namespace flashqla::emulation
