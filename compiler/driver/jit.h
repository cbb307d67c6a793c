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
  enum class Output {
    Cubin, ///< for a GPU
    Text,  ///< the CUDA text and the manifest alone; needs no NVRTC
  };
  explicit JitProvider(Environment environment, Output output = Output::Cubin)
      : environment(std::move(environment)), output(output) {}

  /// Errors: compile-error, whose notes are the diagnostics as text; file-read; nvrtc-missing, nvrtc-failed.
  Expected<Bundle> provide(const KernelRequest &request) override;

private:
  Environment environment;
  Output output;
};

} // namespace flashqla
