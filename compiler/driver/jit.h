/// Kernels compiled when they are first asked for: the compiler behind the runtime's interface.
///
///     JitProvider provider(Environment::read());
///     Expected<Kernel> kernel = Kernel::load(device, provider, {.file = "gemm.tile", .kernel = "gemm_nt"});
#pragma once

#include "flashqla/bundle.h"
#include "flashqla/environment.h"

namespace flashqla {

class JitProvider final : public KernelProvider {
public:
  explicit JitProvider(Environment environment) : environment(std::move(environment)) {}

  /// Errors: compile-error, whose notes are the diagnostics as text; file-read; nvrtc-missing, nvrtc-failed.
  Expected<Bundle> provide(const KernelRequest &request) override;

private:
  Environment environment;
};

} // namespace flashqla
