// What a kernel's text, compiled for the host, sees of the machine that it runs on.
//
// The text is C++ but for its assembly statements. `host_text.h` turns each of those into a call
// that hands the PTX and its operands over as they stand, so that prelude and products are tested
// too and nothing has to be written twice. This header is included by both sides and includes
// nothing of the project.
#pragma once

#include <cstdint>

namespace flashqla::emulation {

/// An assembly statement, decoded once (ptx.h).
struct Statement;

/// An operand of an assembly statement: bits, and for outputs where they are kept.
struct Operand {
  std::uint64_t value = 0; // inputs and "+" operands; the low `bytes`
  void *target = nullptr;  // outputs; written when an instruction of the statement does so
  unsigned bytes = 0;
};

enum class Shuffle : std::uint8_t { Xor, Up, Down };

struct Index3 {
  unsigned x = 0, y = 0, z = 0;
};

class Interface {
public:
  Index3 threadIdx, blockIdx; // of the thread that runs
  int line = 0;               // where it is: the line of the last `#line` that it passed

  virtual const Statement *decode(const char *ptx) = 0;
  virtual void execute(const Statement &statement, Operand *operands) = 0;
  virtual void syncThreads() = 0;
  virtual std::uint64_t shuffle(Shuffle kind, std::uint64_t value, int lanes) = 0;

protected:
  ~Interface() = default;
};

/// The address of dynamic shared memory in the shared window: not zero, because the system keeps
/// the first kilobyte.
inline constexpr std::uint32_t sharedBase = 1024;

} // namespace flashqla::emulation
