#include "compiler/sim/history.h"

namespace flashqla::sim {

void History::addRead(Access access) {
  // A later read by the same agent stands for an earlier one of no more elements.
  std::erase_if(reads, [&](const Access &earlier) {
    return earlier.epoch.agent == access.epoch.agent && access.region.covers(earlier.region);
  });
  reads.push_back(std::move(access));
}

void History::addWrite(Access access) {
  // What is ordered behind this write is ordered behind all that it is ordered behind.
  auto covered = [&](const Access &earlier) { return access.region.covers(earlier.region); };
  std::erase_if(reads, covered);
  std::erase_if(writes, covered);
  writes.push_back(std::move(access));
}

Region History::unwritten(const Region &region, int64_t generation) const {
  Region left = region;
  for (auto write = writes.rbegin(); write != writes.rend(); ++write) {
    if (write->generation != generation)
      continue;
    left = write->region.remainder(left);
    if (left.empty())
      break;
  }
  return left;
}

} // namespace flashqla::sim
