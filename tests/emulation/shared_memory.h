// Shared memory of a CTA: bytes at 32-bit addresses, and what must be known about each of them to
// say when an access is wrong.
//
// Checked are: bounds and alignment; data written over a barrier; bytes that an asynchronous copy
// is about to write, until it has landed; bytes that an asynchronous reader – a product, a bulk
// store – still needs; and bytes that a thread wrote and an asynchronous operation accesses before
// that thread has executed `fence.proxy.async`.
//
//     SharedMemory shared(bytes, threads, names);
//     shared.write(thread, address, &x, 4);
//     shared.fence(thread);
//     shared.readAsync(address, &y, 4);
#pragma once

#include "tests/emulation/host_text.h"
#include "tests/emulation/interface.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace flashqla::emulation {

class SharedMemory {
public:
  SharedMemory(std::uint32_t bytes, unsigned threads, const SharedNames &names);
  /// As at the start of a CTA: every byte 0xff, which is not a number in all float types.
  void reset();

  /// By a thread. The address must be a multiple of `bytes`.
  void read(std::uint32_t address, void *to, std::uint32_t bytes) const;
  void write(unsigned thread, std::uint32_t address, const void *from, std::uint32_t bytes);
  /// By the asynchronous proxy. At even addresses, an even number of bytes.
  void readAsync(std::uint32_t address, void *to, std::uint32_t bytes) const;
  void writeAsync(std::uint32_t address, const void *from, std::uint32_t bytes);

  /// `fence.proxy.async` by a thread: what it wrote is visible to the asynchronous proxy.
  void fence(unsigned thread) { ++fences[thread]; }

  /// Between issue and landing of a copy into these bytes nothing else may touch them. `fenced`: the copy is of the
  /// asynchronous proxy.
  void beginLanding(std::uint32_t address, std::uint32_t bytes, bool fenced);
  void endLanding(std::uint32_t address, std::uint32_t bytes);
  /// Between issue and completion of an asynchronous reader nothing may write these bytes.
  void beginReading(std::uint32_t address, std::uint32_t bytes);
  void endReading(std::uint32_t address, std::uint32_t bytes);

  /// These eight bytes are a barrier from now on.
  void makeBarrier(std::uint32_t address);
  std::string describe(std::uint32_t address) const { return names.describe(address); }

private:
  /// Two bytes: no element that is copied or multiplied asynchronously is smaller.
  struct Granule {
    std::uint32_t fences = 0;  // of the writer when it wrote
    std::uint16_t writer = 0;  // thread + 1 of the last write by a thread; 0: asynchronous or none
    std::uint16_t readers = 0; // asynchronous, in flight
    bool landing = false;      // an asynchronous copy is in flight
    bool barrier = false;
  };
  static constexpr std::uint32_t granuleBytes = 2;

  void checkRange(std::uint32_t address, std::uint32_t bytes, std::uint32_t alignment,
                  std::string_view access) const;
  void checkFree(std::uint32_t offset, std::uint32_t bytes, bool write,
                 std::string_view access) const;
  void checkFenced(std::uint32_t offset, std::uint32_t bytes) const;
  template <class Change>
  void forGranules(std::uint32_t offset, std::uint32_t bytes, Change change);

  std::vector<std::byte> data;
  std::vector<Granule> granules;
  std::vector<std::uint32_t> fences; // by thread
  const SharedNames &names;
};

} // namespace flashqla::emulation
