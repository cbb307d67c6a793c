// Runs compiled kernels on the CPU, for tests without a GPU.
//
// The CUDA text of a kernel is compiled by g++ and run thread by thread, with its inline assembly
// interpreted (ptx.h, cta.h): addresses, descriptors, swizzles, fragments, phases, predicates and
// tensor maps are those of the text. The device below is an ordinary `Device` of the runtime, on a
// table of driver functions that emulate; launches are checked and packed by the runtime itself:
//
//     JitProvider compiler(environment, JitProvider::Output::Text);   // needs no NVRTC
//     emulation::HostProvider provider(compiler, folder);
//     Expected<Device> device = emulation::openDevice();
//     Expected<Kernel> kernel = Kernel::load(*device, provider, request);
//     emulation::launchOptions() = {.timing = emulation::Timing::Late, .seed = 7};
//     Expected<void> done = kernel->launch(nullptr, {…});
//
// A launch has ended when it returns. Violations – a deadlock, a wrong address, a wait that is
// missing – are its error (driver-call) and name thread, line and barrier. What cannot be noticed
// gives wrong numbers, at the latest with `Timing::Late`.
//
// Not emulated: CTAs beside each other, registers and their limits, time, the memory model of
// ordinary loads and stores, graphs (a captured launch runs at once, a launched graph does
// nothing).
#pragma once

#include "flashqla/bundle.h"
#include "flashqla/device.h"
#include "flashqla/error.h"
#include "tests/emulation/options.h"

#include <string>

namespace flashqla::emulation {

/// An H200 that emulates. All of them share one memory and the options below.
Expected<Device> openDevice();

/// How the launches that follow are emulated.
Options &launchOptions();

/// Whether there is a C++ compiler (`c++`) for the texts.
bool hasCompiler();

/// Where tests keep what they compile: a folder of the build tree, so that a text is compiled once
/// and not by every test. What was made more than a day ago is removed from it.
std::string testFolder();

/// The bundle with host code where the cubin was. What is compiled stays in `folder`, which is
/// made, under the hash of the text. Errors: emulation-compiler, emulation-text, file-write,
/// manifest-….
Expected<Bundle> hostBundle(Bundle bundle, const std::string &folder);

/// Makes host bundles of those of another provider.
class HostProvider final : public KernelProvider {
public:
  HostProvider(KernelProvider &provider, std::string folder)
      : provider(provider), folder(std::move(folder)) {}
  Expected<Bundle> provide(const KernelRequest &request) override;

private:
  KernelProvider &provider;
  std::string folder;
};

} // namespace flashqla::emulation
