// Kernels from a directory of `.fqb` files, for programs without a compiler.
//
// A bundle's name says which kernel it holds and with which parameters, so that whoever compiles
// and whoever loads agree without a table:
//
//     gemm_nt.BM128-BN256-STAGES3.fqb
//
//     BundleDirectory kernels("/opt/flashqla/kernels");
//     Expected<gdn::Forward> forward = gdn::Forward::create(*device, kernels, config);
#pragma once

#include "flashqla/bundle.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace flashqla {

using KernelParams = std::vector<std::pair<std::string, std::string>>;
using KernelDims = std::vector<std::pair<std::string, std::int64_t>>;

/// A request for a kernel of the source tree: `file` is relative to its root.
KernelRequest tileKernel(std::string file, std::string kernel, KernelParams params = {},
                         KernelDims staticDims = {});

/// The name of the bundle for this request: the kernel, then static dims and parameters as they
/// stand in the request, "NAMEvalue" joined by "-". A parameter that the request leaves to its
/// default is not part of it.
std::string bundleFileName(const KernelRequest &request);

/// The arguments of `flashqlac compile` that make this bundle, without the output: "FILE -k KERNEL
/// -D NAME=VALUE …".
std::string compileArguments(const KernelRequest &request);

/// "FILE NAME<tab>arguments of `flashqlac compile`" for each different bundle, sorted: what a
/// binary prints for tools/compile_bundles.sh.
std::string bundleList(const std::vector<KernelRequest> &requests);

/// Reads bundles from a directory; never compiles.
class BundleDirectory : public KernelProvider {
public:
  explicit BundleDirectory(std::string directory) : directory(std::move(directory)) {}
  /// Errors: those of `Bundle::read`, with a note that says how to make the bundle.
  Expected<Bundle> provide(const KernelRequest &request) override;

private:
  std::string directory;
};

} // namespace flashqla
