// Device memory of the emulated GPU: host memory whose bounds are watched.
//
// An allocation ends at a page that cannot be touched, so that a kernel that reads or writes beyond
// a tensor faults there; `FaultGuard` turns the fault into a Violation. Copy engines ask
// `contains`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

namespace flashqla::emulation {

class GlobalMemory {
public:
  ~GlobalMemory();

  /// At a multiple of 16 bytes, filled with 0xff. Null when there is no memory.
  void *allocate(std::size_t bytes);
  void release(void *pointer);
  /// Whether all these bytes belong to one allocation.
  bool contains(std::uint64_t address, std::size_t bytes) const;

private:
  struct Block {
    std::size_t bytes;
    void *pages;
    std::size_t pageBytes; // guard pages included
  };
  std::map<std::uint64_t, Block> blocks; // by address
};

/// While it lives, an access to memory that is not there throws a Violation from where it happens.
/// The code that faults must be compiled with -fnon-call-exceptions. One at a time.
class FaultGuard {
public:
  FaultGuard();
  ~FaultGuard();
  FaultGuard(const FaultGuard &) = delete;
  FaultGuard &operator=(const FaultGuard &) = delete;

private:
  struct Saved;
  std::unique_ptr<Saved> saved;
};

} // namespace flashqla::emulation
