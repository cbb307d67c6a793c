#include "tests/emulation/global_memory.h"

#include "tests/emulation/violation.h"

#include <csignal>
#include <cstring>
#include <iterator>
#include <sys/mman.h>
#include <unistd.h>

namespace flashqla::emulation {

namespace {

std::size_t roundUp(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// Not blocked while it runs (SA_NODEFER), so that leaving it by an exception is like returning.
void throwFault(int, siginfo_t *info, void *) {
  violate("access to {}, which is in no tensor", info->si_addr);
}

} // namespace

GlobalMemory::~GlobalMemory() {
  for (auto &[address, block] : blocks)
    munmap(block.pages, block.pageBytes);
}

void *GlobalMemory::allocate(std::size_t bytes) {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t used = roundUp(bytes, page), all = used + 2 * page;
  void *pages = mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED)
    return nullptr;
  std::byte *first = static_cast<std::byte *>(pages) + page;
  if (mprotect(first, used, PROT_READ | PROT_WRITE) != 0) {
    munmap(pages, all);
    return nullptr;
  }
  std::memset(first, 0xff, used);
  std::byte *pointer = first + (used - roundUp(bytes, 16));
  blocks[reinterpret_cast<std::uint64_t>(pointer)] = {bytes, pages, all};
  return pointer;
}

void GlobalMemory::release(void *pointer) {
  const auto found = blocks.find(reinterpret_cast<std::uint64_t>(pointer));
  if (found == blocks.end())
    return;
  munmap(found->second.pages, found->second.pageBytes);
  blocks.erase(found);
}

bool GlobalMemory::contains(std::uint64_t address, std::size_t bytes) const {
  const auto after = blocks.upper_bound(address);
  if (after == blocks.begin())
    return false;
  const auto &[start, block] = *std::prev(after);
  return address - start + bytes <= block.bytes;
}

struct FaultGuard::Saved {
  static constexpr std::size_t stackBytes = 64 * 1024;
  struct sigaction segmentation, bus;
  stack_t stack;
  std::unique_ptr<std::byte[]> memory = std::make_unique<std::byte[]>(stackBytes);
};

FaultGuard::FaultGuard() : saved(std::make_unique<Saved>()) {
  stack_t stack = {};
  stack.ss_sp = saved->memory.get();
  stack.ss_size = Saved::stackBytes;
  sigaltstack(&stack, &saved->stack);
  struct sigaction action = {};
  action.sa_sigaction = throwFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigaction(SIGSEGV, &action, &saved->segmentation);
  sigaction(SIGBUS, &action, &saved->bus);
}

FaultGuard::~FaultGuard() {
  sigaction(SIGSEGV, &saved->segmentation, nullptr);
  sigaction(SIGBUS, &saved->bus, nullptr);
  sigaltstack(&saved->stack, nullptr);
}

} // namespace flashqla::emulation
