// flashqla_bench: times the kernels on a GPU.
//
//     flashqla_bench --bundles DIR                        everything
//     flashqla_bench --bundles DIR gdn --filter 16/64     the rows with 16 q/k and 64 value heads
//     flashqla_bench --list-bundles                       what DIR has to hold; needs no GPU
#include "flashqla/environment.h"
#include "kernels/bundle_directory.h"
#include "tools/bench/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <set>
#include <string>
#include <string_view>
#include <vector>

using namespace flashqla;

namespace {

constexpr const char *usage =
    "usage: flashqla_bench [gdn] [gemm] [memory] [OPTION VALUE]...\n"
    "  --bundles DIR       compiled kernels (default: bundles)\n"
    "  --filter TEXT       gdn: only rows whose line contains TEXT\n"
    "  --csv FILE          gdn: results also to FILE\n"
    "  --replays N         graph replays per measurement, the median counts (default: 25)\n"
    "  --seed N            seed of the data (default: 1)\n"
    "  --libcublas FILE    gemm: the cuBLAS library (default: where the loader finds it)\n"
    "  --list-bundles      print the kernels that DIR has to hold, and exit\n";

struct Section {
  std::string_view name;
  void (*run)(const bench::BenchContext &);
  std::vector<KernelRequest> (*requests)();
};
constexpr Section sections[] = {
    {"memory", bench::benchMemory, bench::memoryBenchRequests},
    {"gemm", bench::benchGemm, bench::gemmBenchRequests},
    {"gdn", bench::benchGdn, bench::gdnBenchRequests},
};

struct CommandLine {
  std::set<std::string_view> wanted; // sections; empty: all
  std::string bundles = "bundles", filter, csv, libcublas;
  int replays = 25;
  std::uint64_t seed = 1;
  bool list = false;

  /// False if the arguments cannot be understood.
  bool parse(int argc, char **argv) {
    for (int i = 1; i < argc; ++i) {
      const std::string_view word = argv[i];
      const bool section = std::ranges::any_of(
          sections, [&](const Section &candidate) { return candidate.name == word; });
      if (section)
        wanted.insert(word);
      else if (word == "--list-bundles")
        list = true;
      else if (++i >= argc || !set(word, argv[i]))
        return false;
    }
    return true;
  }

  bool set(std::string_view option, const char *value) {
    if (option == "--bundles")
      bundles = value;
    else if (option == "--filter")
      filter = value;
    else if (option == "--csv")
      csv = value;
    else if (option == "--libcublas")
      libcublas = value;
    else if (option == "--replays")
      replays = std::max(1, std::stoi(value));
    else if (option == "--seed")
      seed = std::stoull(value);
    else
      return false;
    return true;
  }
};

int listBundles() {
  std::vector<KernelRequest> requests;
  for (const Section &section : sections)
    std::ranges::move(section.requests(), std::back_inserter(requests));
  std::fputs(bundleList(requests).c_str(), stdout);
  return 0;
}

int run(const CommandLine &line) {
  const Device device = bench::must(Device::open(0, Environment::read().libcuda));
  BundleDirectory kernels(line.bundles);
  bench::BenchContext context{device,   kernels,       {}, line.seed, line.filter,
                              line.csv, line.libcublas};
  context.timing.replays = line.replays;
  fmt::print("{}, {} multiprocessors\n", device.properties().name,
             device.properties().multiprocessors);
  int status = 0;
  for (const Section &section : sections) {
    if (!line.wanted.empty() && !line.wanted.contains(section.name))
      continue;
    fmt::print("\n");
    try {
      section.run(context);
    } catch (const std::exception &error) { // the other sections may still work
      fmt::print(stderr, "{}: {}\n", section.name, error.what());
      status = 1;
    }
    std::fflush(stdout);
  }
  return status;
}

} // namespace

int main(int argc, char **argv) {
  CommandLine line;
  try {
    if (!line.parse(argc, argv)) {
      std::fputs(usage, stderr);
      return 2;
    }
    return line.list ? listBundles() : run(line);
  } catch (const std::exception &error) {
    fmt::print(stderr, "flashqla_bench: {}\n", error.what());
    return 1;
  }
}
