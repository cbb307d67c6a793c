#include "kernels/parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace flashqla {

void parallelFor(std::int64_t count, std::int64_t grain,
                 const std::function<void(std::int64_t, std::int64_t)> &body) {
  if (count <= grain) {
    if (count > 0)
      body(0, count);
    return;
  }
  std::atomic<std::int64_t> next = 0;
  auto work = [&] {
    for (std::int64_t begin = next.fetch_add(grain); begin < count; begin = next.fetch_add(grain))
      body(begin, std::min(begin + grain, count));
  };
  const std::int64_t ranges = (count + grain - 1) / grain;
  const std::int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> threads;
  for (std::int64_t i = 1; i < std::min(ranges, cores); ++i)
    threads.emplace_back(work);
  work();
}

} // namespace flashqla
