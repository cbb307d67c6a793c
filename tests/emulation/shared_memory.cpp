#include "tests/emulation/shared_memory.h"

#include "tests/emulation/violation.h"

#include <algorithm>
#include <cstring>

namespace flashqla::emulation {

SharedMemory::SharedMemory(std::uint32_t bytes, unsigned threads, const SharedNames &names)
    : data(bytes), granules((bytes + granuleBytes - 1) / granuleBytes), fences(threads),
      names(names) {
  reset();
}

void SharedMemory::reset() {
  std::ranges::fill(data, std::byte{0xff});
  std::ranges::fill(granules, Granule());
  std::ranges::fill(fences, 0);
}

template <class Change>
void SharedMemory::forGranules(std::uint32_t offset, std::uint32_t bytes, Change change) {
  for (std::uint32_t i = offset / granuleBytes; i < (offset + bytes + 1) / granuleBytes; ++i)
    change(granules[i]);
}

void SharedMemory::checkRange(std::uint32_t address, std::uint32_t bytes, std::uint32_t alignment,
                              std::string_view access) const {
  if (address % alignment)
    violate("{} of {} bytes at {} ({:#x}), which is no multiple of {}", access, bytes,
            describe(address), address, alignment);
  if (address < sharedBase || address - sharedBase + std::uint64_t{bytes} > data.size())
    violate("{} of {} bytes at {} ({:#x}): the kernel has {} bytes of shared memory from {:#x}",
            access, bytes, describe(address), address, data.size(), sharedBase);
}

void SharedMemory::checkFree(std::uint32_t offset, std::uint32_t bytes, bool write,
                             std::string_view access) const {
  for (std::uint32_t i = offset / granuleBytes; i < (offset + bytes + 1) / granuleBytes; ++i) {
    const Granule &granule = granules[i];
    if (!granule.landing && !granule.barrier && !(write && granule.readers)) [[likely]]
      continue;
    const std::string place = describe(sharedBase + granuleBytes * i);
    if (granule.barrier)
      violate("{} at {}, which is a barrier", access, place);
    if (granule.landing)
      violate("{} at {}, where an asynchronous copy has not landed", access, place);
    violate("{} at {}, which an asynchronous operation in flight still reads", access, place);
  }
}

void SharedMemory::checkFenced(std::uint32_t offset, std::uint32_t bytes) const {
  for (std::uint32_t i = offset / granuleBytes; i < (offset + bytes + 1) / granuleBytes; ++i)
    if (const Granule &granule = granules[i];
        granule.writer && fences[granule.writer - 1] == granule.fences)
      violate("asynchronous access at {}, which thread {} wrote without a fence.proxy.async since",
              describe(sharedBase + granuleBytes * i), granule.writer - 1);
}

void SharedMemory::read(std::uint32_t address, void *to, std::uint32_t bytes) const {
  checkRange(address, bytes, bytes, "read");
  checkFree(address - sharedBase, bytes, false, "read");
  std::memcpy(to, data.data() + (address - sharedBase), bytes);
}

void SharedMemory::write(unsigned thread, std::uint32_t address, const void *from,
                         std::uint32_t bytes) {
  checkRange(address, bytes, bytes, "write");
  const std::uint32_t offset = address - sharedBase;
  checkFree(offset, bytes, true, "write");
  std::memcpy(data.data() + offset, from, bytes);
  forGranules(offset, bytes, [&](Granule &granule) {
    granule.writer = static_cast<std::uint16_t>(thread + 1);
    granule.fences = fences[thread];
  });
}

void SharedMemory::readAsync(std::uint32_t address, void *to, std::uint32_t bytes) const {
  checkRange(address, bytes, granuleBytes, "asynchronous read");
  checkFree(address - sharedBase, bytes, false, "asynchronous read");
  checkFenced(address - sharedBase, bytes);
  std::memcpy(to, data.data() + (address - sharedBase), bytes);
}

void SharedMemory::writeAsync(std::uint32_t address, const void *from, std::uint32_t bytes) {
  checkRange(address, bytes, granuleBytes, "asynchronous write");
  const std::uint32_t offset = address - sharedBase;
  checkFree(offset, bytes, true, "asynchronous write");
  checkFenced(offset, bytes);
  std::memcpy(data.data() + offset, from, bytes);
  forGranules(offset, bytes, [](Granule &granule) { granule.writer = 0; });
}

void SharedMemory::beginLanding(std::uint32_t address, std::uint32_t bytes, bool fenced) {
  checkRange(address, bytes, granuleBytes, "asynchronous write");
  const std::uint32_t offset = address - sharedBase;
  checkFree(offset, bytes, true, "asynchronous write");
  if (fenced)
    checkFenced(offset, bytes);
  forGranules(offset, bytes, [](Granule &granule) { granule.landing = true; });
}

void SharedMemory::endLanding(std::uint32_t address, std::uint32_t bytes) {
  forGranules(address - sharedBase, bytes, [](Granule &granule) { granule.landing = false; });
}

void SharedMemory::beginReading(std::uint32_t address, std::uint32_t bytes) {
  checkRange(address, bytes, granuleBytes, "asynchronous read");
  checkFree(address - sharedBase, bytes, false, "asynchronous read");
  checkFenced(address - sharedBase, bytes);
  forGranules(address - sharedBase, bytes, [](Granule &granule) { ++granule.readers; });
}

void SharedMemory::endReading(std::uint32_t address, std::uint32_t bytes) {
  forGranules(address - sharedBase, bytes, [](Granule &granule) { --granule.readers; });
}

void SharedMemory::makeBarrier(std::uint32_t address) {
  checkRange(address, 8, 8, "barrier");
  forGranules(address - sharedBase, 8, [](Granule &granule) { granule.barrier = true; });
}

} // namespace flashqla::emulation
