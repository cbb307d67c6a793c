#include "runtime_allocation_count.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<long> allocations{0};

} // namespace

long flashqla::testing::allocationCount() { return allocations; }

// In a file of their own: a compiler that sees both definitions pairs one with the other's callers.
void *operator new(std::size_t bytes) {
  ++allocations;
  if (void *memory = std::malloc(bytes ? bytes : 1))
    return memory;
  std::abort();
}
void *operator new(std::size_t bytes, const std::nothrow_t &) noexcept {
  return ::operator new(bytes);
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }
