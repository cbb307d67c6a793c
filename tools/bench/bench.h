// The benchmarks of `flashqla_bench`; each prints a table. Errors are exceptions.
#pragma once

#include "flashqla/runtime.h"
#include "tools/bench/timing.h"

#include <cstdint>
#include <string>
#include <vector>

namespace flashqla::bench {

struct BenchContext {
  const Device &device;
  KernelProvider &kernels;
  TimingOptions timing;
  std::uint64_t seed = 1;
  std::string filter;    // GDN: rows whose line in the table contains this text; empty: all
  std::string csv;       // GDN: results also to this file; empty: none
  std::string libcublas; // library to load; empty: the usual names
};

/// GDN forward on the published rows, against published times and the floor of the hardware.
void benchGdn(const BenchContext &context);
std::vector<KernelRequest> gdnBenchRequests();

/// gemm_nt at 8192³ in several tilings, and cuBLAS in the same process if it is found.
void benchGemm(const BenchContext &context);
std::vector<KernelRequest> gemmBenchRequests();

/// Copy, transpose, softmax, RMS norm: bytes per second against a copy by the driver.
void benchMemory(const BenchContext &context);
std::vector<KernelRequest> memoryBenchRequests();

} // namespace flashqla::bench
