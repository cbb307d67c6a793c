#include "tests/random/pool.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace flashqla::random {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Worker {
  pid_t process = -1;
  int to = -1, from = -1;
  std::string line;
  bool busy = false;
  std::uint64_t seed = 0;
  Clock::time_point since;
};

bool start(Worker &worker, const std::vector<std::string> &command) {
  int down[2], up[2];
  if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0)
    return false;
  worker.process = fork();
  if (worker.process == 0) {
    dup2(down[0], STDIN_FILENO);
    dup2(up[1], STDOUT_FILENO);
    std::vector<char *> words;
    for (const std::string &word : command)
      words.push_back(const_cast<char *>(word.c_str()));
    words.push_back(nullptr);
    execv(words[0], words.data());
    std::_Exit(127);
  }
  close(down[0]);
  close(up[1]);
  worker.to = down[1];
  worker.from = up[0];
  worker.line.clear();
  worker.busy = false;
  return worker.process > 0;
}

void stop(Worker &worker, bool kills) {
  if (worker.process <= 0)
    return;
  close(worker.to);
  if (kills)
    kill(worker.process, SIGKILL);
  close(worker.from);
  waitpid(worker.process, nullptr, 0);
  worker.process = -1;
}

class Pool {
public:
  Pool(const PoolOptions &options, const std::function<void(const Report &)> &report)
      : options(options), report(report), workers(options.workers), next(options.first) {}

  bool run() {
    std::signal(SIGPIPE, SIG_IGN);
    while (deal()) {
      std::vector<pollfd> ends;
      for (const Worker &worker : workers)
        ends.push_back({worker.busy ? worker.from : -1, POLLIN, 0});
      poll(ends.data(), ends.size(), 200);
      for (size_t i = 0; i < workers.size(); ++i)
        if (workers[i].busy && ends[i].revents)
          read(workers[i]);
        else if (workers[i].busy && options.seedSeconds > 0 && secondsSince(workers[i].since) > options.seedSeconds)
          lose(workers[i], "hung");
    }
    for (Worker &worker : workers)
      stop(worker, false);
    return !broken;
  }

private:
  /// Gives seeds to those who are idle; false when all is done.
  bool deal() {
    const bool over = next == options.first + options.count || (options.seconds > 0 && secondsSince(begin) > options.seconds);
    bool busy = false;
    for (Worker &worker : workers) {
      if (!worker.busy && !over && !broken && next < options.first + options.count) {
        if (worker.process <= 0 && !start(worker, options.command))
          broken = true;
        worker.seed = next++;
        worker.busy = !broken;
        worker.since = Clock::now();
        const std::string line = std::to_string(worker.seed) + "\n";
        if (write(worker.to, line.data(), line.size()) < 0)
          lose(worker, "crashed");
      }
      busy |= worker.busy;
    }
    return busy;
  }

  void read(Worker &worker) {
    char bytes[4096];
    const ssize_t count = ::read(worker.from, bytes, sizeof bytes);
    if (count <= 0)
      return lose(worker, "crashed");
    worker.line.append(bytes, static_cast<size_t>(count));
    if (worker.line.back() != '\n')
      return;
    Report answer;
    std::string last;
    std::istringstream(worker.line) >> answer.seed >> answer.kind >> answer.name >> last;
    worker.line.clear();
    worker.busy = false;
    if (!last.empty())
      stop(worker, false);
    report(answer);
  }

  void lose(Worker &worker, const std::string &kind) {
    stop(worker, true);
    worker.busy = false;
    report({worker.seed, kind, "worker"});
  }

  const PoolOptions &options;
  const std::function<void(const Report &)> &report;
  std::vector<Worker> workers;
  std::uint64_t next;
  Clock::time_point begin = Clock::now();
  bool broken = false;
};

} // namespace

bool runPool(const PoolOptions &options, const std::function<void(const Report &)> &report) {
  return Pool(options, report).run();
}

} // namespace flashqla::random
