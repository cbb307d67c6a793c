#include "compiler/sim/simulate.h"

#include "compiler/sim/interpret.h"
#include "compiler/sim/launch.h"

#include <algorithm>
#include <mutex>
#include <thread>

namespace flashqla::sim {
namespace {

/// One launch on several threads.
class Run {
public:
  Run(const Program &program, SimLaunch &launch)
      : program(program), launch(launch), prepared(program, launch, /*owners=*/true) {}
  Expected<SimResult> run();

private:
  void work();
  void runBlock(int64_t block);

  const Program &program;
  SimLaunch &launch;
  PreparedLaunch prepared;
  int64_t chosen = 0; ///< CTAs that run
  std::atomic<int64_t> next = 0, done = 0, steps = 0;
  std::mutex mutex;
  SimResult result;
  std::map<int64_t, std::vector<Finding>> findings; ///< by CTA
};

void Run::runBlock(int64_t block) {
  Interpreter interpreter({program, prepared.tensors, prepared.registersOf(block), static_cast<int32_t>(block),
                           launch.values, launch.stepLimit, launch.threads <= 1});
  interpreter.run();
  steps += interpreter.steps();
  std::lock_guard lock(mutex);
  result.steps += interpreter.steps();
  for (const auto &[where, count] : interpreter.trips())
    result.trips[where] = std::max(result.trips[where], count);
  for (uint32_t barrier = 0; barrier < result.rounds.size(); ++barrier)
    result.rounds[barrier] = std::max(result.rounds[barrier], interpreter.machine().rounds(barrier));
  for (const auto &[where, count] : interpreter.machine().waits()) {
    result.waits[where].executed += count.executed;
    result.waits[where].implied += count.implied;
  }
  if (!interpreter.machine().findings().empty())
    findings[block] = interpreter.machine().findings();
}

void Run::work() {
  for (int64_t number; (number = next++) < chosen;) {
    if (launch.totalLimit > 0 && steps > launch.totalLimit) {
      std::lock_guard lock(mutex);
      result.complete = false;
      return;
    }
    runBlock(number + 1 == chosen ? result.blocks - 1 : number);
    const int64_t finished = ++done;
    if (launch.progress)
      launch.progress(finished, chosen);
  }
}

Expected<SimResult> Run::run() {
  if (Expected<void> ready = prepared.prepare(); !ready)
    return ready.error();
  result.blocks = prepared.blocks;
  result.rounds.assign(program.barriers.size(), 0);
  if (result.blocks == 0)
    return std::move(result);
  chosen = launch.blockLimit > 0 ? std::min(launch.blockLimit, result.blocks) : result.blocks;
  const int64_t threads = std::clamp<int64_t>(launch.threads, 1, chosen);
  std::vector<std::thread> others;
  for (int64_t i = 1; i < threads; ++i)
    others.emplace_back([&] { work(); });
  work();
  for (std::thread &thread : others)
    thread.join();
  // CTAs run the same text: what one of them reports is reported once.
  for (auto &[block, list] : findings)
    for (Finding &finding : list) {
      bool known = std::any_of(result.findings.begin(), result.findings.end(), [&](const Finding &earlier) {
        return earlier.kind == finding.kind && earlier.where == finding.where;
      });
      if (!known)
        result.findings.push_back(std::move(finding));
    }
  return std::move(result);
}

} // namespace

Expected<SimResult> simulate(const Program &program, SimLaunch &launch) { return Run(program, launch).run(); }

} // namespace flashqla::sim
