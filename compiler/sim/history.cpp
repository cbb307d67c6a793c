#include "compiler/sim/history.h"

#include <algorithm>

namespace flashqla::sim {

void History::addRead(Access access) {
  // A later read by the same agent stands for an earlier one of no more elements. But a write is not held against the
  // reads of its own statement: of those before, the last one stays.
  auto standsFor = [](const Access &later, const Access &earlier) {
    return later.epoch.agent == earlier.epoch.agent && later.region.covers(earlier.region);
  };
  for (size_t i = reads.size(); i-- > 0;) {
    const Access &earlier = reads[i];
    bool superfluous = standsFor(access, earlier);
    if (superfluous && access.actor == Actor::Threads && earlier.epoch.time < access.epoch.time)
      superfluous = std::any_of(reads.begin(), reads.end(), [&](const Access &between) {
        return earlier.epoch.time < between.epoch.time && between.epoch.time < access.epoch.time &&
               standsFor(between, earlier);
      });
    if (superfluous)
      reads.erase(reads.begin() + i);
  }
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
    if (write->generation != generation) {
      if (write->region.overlaps(left)) // older than the generation, or in place of it
        break;
      continue;
    }
    left = write->region.remainder(left);
    if (left.empty())
      break;
  }
  return left;
}

} // namespace flashqla::sim
