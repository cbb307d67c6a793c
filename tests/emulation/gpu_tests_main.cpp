// emulated_gpu_tests [--gtest_…]
//
// The tests of tests/gpu on the host: the same cases and tolerances, with kernels that are compiled
// when they are asked for. Copies and products take effect as late as they can.
#include "compiler/driver/jit.h"
#include "tests/emulation/emulator.h"
#include "tests/gpu/gpu_harness.h"

using namespace flashqla;

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  Gpu &gpu = Gpu::instance();
  JitProvider compiler(Environment(), JitProvider::Output::Text);
  gpu.kernels = std::make_unique<emulation::HostProvider>(compiler, emulation::testFolder());
  if (emulation::hasCompiler())
    gpu.device = must(emulation::openDevice());
  else
    gpu.whyNot = "no C++ compiler for the emulation (c++)";
  emulation::launchOptions().timing = emulation::Timing::Late;
  const int status = RUN_ALL_TESTS();
  gpu.device.reset();
  return status;
}
