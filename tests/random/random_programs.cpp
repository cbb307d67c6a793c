// random_programs: long runs of random programs.
//
//   random_programs --seed 1 --count 5000 --workers 16 --gpu --out results --minimise
//
// Each seed is a program. It must be accepted, the simulator must compute the same from both of its forms, and so must
// who else is asked. What fails is left in the folder: the program, what was said about it, and with `--minimise` the
// smallest program that still fails in the same way. `--print` shows a program.
#include "tests/random/generate.h"
#include "tests/random/judge.h"
#include "tests/random/minimise.h"
#include "tests/random/pool.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>

using namespace flashqla;
using namespace flashqla::random;

namespace {

struct Options {
  std::uint64_t seed = 1, count = 100;
  unsigned workers = 1;
  double seconds = 0;
  std::string out = "build/random_programs";
  JudgeOptions judge;
  bool minimise = false, features = false, print = false, worker = false;
};

std::string_view kindName(Verdict::Kind kind) {
  return kind == Verdict::Kind::Good ? "good" : kind == Verdict::Kind::Refused ? "refused" : "differs";
}

void keep(const Options &options, const std::string &name, const std::string &text) {
  std::ofstream(std::filesystem::path(options.out) / name) << text;
}

/// Answers with a line for each seed that comes in.
int work(const Options &options) {
  Judge judge(options.judge);
  std::uint64_t seed = 0;
  while (judge.usable() && std::cin >> seed) {
    const Program program = generate(seed);
    const std::string file = fmt::format("{}.tile", seed);
    keep(options, file, program.text()); // for the case that it ends this process
    const Verdict verdict = judge(program);
    if (verdict.good()) {
      std::filesystem::remove(std::filesystem::path(options.out) / file);
    } else {
      keep(options, fmt::format("{}.txt", seed), verdict.text);
      if (options.minimise) {
        const Program small = minimise(program, [&](const Program &candidate) { return judge(candidate).sameAs(verdict); }, 600);
        keep(options, fmt::format("{}.min.tile", seed), small.text() + "\n// " + judge(small).text);
      }
    }
    std::cout << seed << " " << kindName(verdict.kind) << " " << (verdict.good() ? "-" : verdict.name)
              << (judge.usable() ? "" : " last") << std::endl;
  }
  return 0;
}

int runAll(const Options &options, const std::string &self) {
  if (const Judge judge(options.judge); !judge.missing().empty()) {
    fmt::print(stderr, "{}\n", judge.missing());
    return 3;
  }
  std::filesystem::create_directories(options.out);
  PoolOptions pool{.command = {self, "--worker", "--out", options.out}};
  for (auto [flag, set] : {std::pair("--gpu", options.judge.gpu), {"--emulated", options.judge.emulated},
                           {"--assembled", options.judge.assembled}, {"--protocol", options.judge.protocol},
                           {"--minimise", options.minimise}})
    if (set)
      pool.command.push_back(flag);
  pool.first = options.seed;
  pool.count = options.count;
  pool.workers = options.workers;
  pool.seconds = options.seconds;
  pool.seedSeconds = options.minimise ? 600 : 60;
  std::map<std::string, std::vector<std::uint64_t>> verdicts;
  std::map<std::string, std::uint64_t> features;
  std::uint64_t done = 0;
  const auto begin = std::chrono::steady_clock::now();
  const bool ran = runPool(pool, [&](const Report &report) {
    ++done;
    if (report.kind != "good") {
      verdicts[report.kind + " " + report.name].push_back(report.seed);
      fmt::print("{} {} {}\n", report.seed, report.kind, report.name);
    }
    if (options.features)
      for (const std::string &feature : generate(report.seed).features)
        ++features[feature];
  });
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  for (const auto &[name, seeds] : verdicts)
    fmt::print("  {:5} {}\n", seeds.size(), name);
  for (const auto &[name, count] : features)
    fmt::print("  {:5.1f} % {}\n", 100.0 * static_cast<double>(count) / static_cast<double>(done), name);
  std::uint64_t bad = 0;
  for (const auto &[name, seeds] : verdicts)
    bad += seeds.size();
  fmt::print("{} programs in {:.0f} s, {} failed\n", done, passed.count(), bad);
  return !ran ? 3 : bad == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app("random programs, judged by compiler, simulator, emulation and GPU");
  app.add_option("--seed", options.seed, "the first seed");
  app.add_option("--count", options.count, "how many seeds");
  app.add_option("--workers", options.workers, "processes");
  app.add_option("--seconds", options.seconds, "after which no program is begun");
  app.add_option("--out", options.out, "folder for what fails");
  app.add_flag("--gpu", options.judge.gpu, "run on the GPU, compiled here by NVRTC");
  app.add_flag("--emulated", options.judge.emulated, "run the CUDA text on the host");
  app.add_flag("--assembled", options.judge.assembled, "have the CUDA text compiled by NVRTC");
  app.add_flag("--protocol", options.judge.protocol, "all that `flashqlac check` does, more shapes among it");
  app.add_flag("--minimise", options.minimise, "make what fails smaller");
  app.add_flag("--features", options.features, "the share of programs with each feature");
  app.add_flag("--print", options.print, "print the program of the first seed");
  app.add_flag("--worker", options.worker, "judge the seeds that come in")->group("");
  CLI11_PARSE(app, argc, argv);
  if (options.print) {
    std::cout << generate(options.seed).text();
    return 0;
  }
  return options.worker ? work(options) : runAll(options, std::filesystem::read_symlink("/proc/self/exe").string());
}
