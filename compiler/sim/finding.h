/// What a simulation finds: a mistake of the kernel, with both places.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flashqla::sim {

/// A statement of the kernel: an index that whoever drives the machine can turn into a place in the text.
using Where = uint32_t;
constexpr Where nowhere = UINT32_MAX;

enum class FindingKind {
  Race,             ///< two accesses, one of them writing, that nothing orders
  MissingWait,      ///< a tile filled by a bulk load, read by a role that did not wait for the load itself
  MissingSync,      ///< an access by threads of a role that other threads of it may not have come to yet
  MissingFence,     ///< an asynchronous access behind a write by threads without a proxy fence between
  Unwritten,        ///< elements read that nothing has written in this generation
  Aliasing,         ///< a wait that a parity bit cannot tell from another
  OverArrival,      ///< an arrival that may be counted in an earlier generation, or a second one
  SkippedArrival,   ///< a generation left out
  LateCopy,         ///< a copy attached to a generation at which its role has already arrived
  CopyBytes,        ///< announced bytes and landed bytes differ
  Deadlock,         ///< roles that wait for each other, or for what never comes
  AccumulatorInFlight, ///< a fragment touched while a product may still write it
  OperandInFlight,     ///< a fragment written while a product may still read it
  NeverAwaited,     ///< asynchronous operations in flight at the end
  OutOfBounds,      ///< an element or a generation outside
  BlockOverlap,     ///< two CTAs touch an element of a tensor that one of them writes
  Lowering,         ///< slot or parity that are not those of the generation: a fault of the compiler
  Assertion,        ///< an `assert` that does not hold
  DivisionByZero,   ///< of integers
  Endless,          ///< a loop whose step does not get it nearer to its end
  Unbounded,        ///< more steps than the launch allows
};

struct Finding {
  struct Label {
    Where where;
    std::string text;
  };
  FindingKind kind;
  Where where;
  std::string message;
  std::string primary;        ///< at `where`; may be empty
  std::vector<Label> labels;  ///< other places
  std::vector<std::string> notes;
};

} // namespace flashqla::sim
