// Which variants of which kernels the tests on the GPU use. A machine with a GPU need not have the
// compiler: `gpu_tests --list-bundles` prints this list, and tools/pack_gpu_bundle.sh compiles it.
#pragma once

#include "kernels/bundle_directory.h"

#include <vector>

namespace flashqla::requests {

KernelRequest copy2d(const char *element);
KernelRequest transpose2d(const char *element);
KernelRequest rowSoftmax(const char *element);
KernelRequest rowSoftmaxLong(const char *element);
KernelRequest rmsNorm(const char *element, int columns);
KernelRequest gemmNt(const KernelParams &params = {});
KernelRequest gemm(const KernelParams &params = {});
KernelRequest gemmSiluA(const KernelParams &params = {});
KernelRequest linearAttn(int heads, int dimV);

/// Every variant that a test loads, GDN included.
std::vector<KernelRequest> all();

} // namespace flashqla::requests
