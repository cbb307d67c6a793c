// Which variants of which kernels the tests on the GPU use. A machine with a GPU need not have the
// compiler: `gpu_tests --list-bundles` prints this list, and tools/pack_gpu_bundle.sh compiles it.
#pragma once

#include "flashqla/bundle.h"

#include <string>
#include <utility>
#include <vector>

namespace flashqla::requests {

using Params = std::vector<std::pair<std::string, std::string>>;

KernelRequest copy2d(const char *element);
KernelRequest transpose2d(const char *element);
KernelRequest rowSoftmax(const char *element);
KernelRequest rowSoftmaxLong(const char *element);
KernelRequest rmsNorm(const char *element, int columns);
KernelRequest gemmNt(const Params &params = {});
KernelRequest gemm(const Params &params = {});
KernelRequest gemmSiluA(const Params &params = {});
KernelRequest linearAttn(int heads, int dimV);

/// Every variant that a test loads, GDN included.
std::vector<KernelRequest> all();

} // namespace flashqla::requests
