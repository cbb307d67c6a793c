// What the simulator finds does not depend on the order in which it runs the roles: kernels of the tree are clean in
// every order, and mistakes are found in each (docs/simulator.md, "Why one run is nearly a proof").

#include "compiler/driver/case_launch.h"
#include "compiler/sim/decode.h"
#include "compiler/sim/interpret.h"
#include "compiler/sim/launch.h"
#include "tests/sim/kernel_checker.h"
#include "tests/sim/mutations.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

#include <random>

using namespace flashqla;
using namespace fq_test;

namespace {

/// A role at a time, for some steps; which one and how many follow from the seed.
std::vector<sim::Finding> run(const sim::Program &program, const frontend::CheckCase &test, unsigned seed) {
  sim::SimLaunch launch = driver::launchOf(test, program);
  launch.stepLimit = 1'000'000;
  sim::PreparedLaunch prepared(program, launch, /*owners=*/false);
  if (!prepared.prepare() || prepared.blocks == 0)
    return {};
  const int64_t block = prepared.blocks - 1;
  sim::Interpreter cta({program, prepared.tensors, prepared.registersOf(block), static_cast<int32_t>(block), launch.values,
                        launch.stepLimit});
  std::mt19937 random(seed);
  const unsigned longest = seed % 2 ? 4 : 200;
  std::vector<bool> waits(program.roles.size());
  cta.start();
  for (;;) {
    std::vector<uint32_t> ready;
    for (uint32_t role = 0; role < program.roles.size(); ++role)
      if (!waits[role] && cta.next(role))
        ready.push_back(role);
    if (ready.empty())
      break;
    const uint32_t role = ready[random() % ready.size()];
    for (unsigned count = 1 + random() % longest; count > 0 && cta.next(role); --count) {
      waits[role] = !cta.step(role);
      if (waits[role])
        break;
      waits.assign(waits.size(), false);
    }
  }
  cta.finish();
  return cta.machine().findings();
}

class Schedules : public testing::TestWithParam<std::string> {};

} // namespace

TEST_P(Schedules, the_kernel_is_right_in_all) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  const SourceFile file(GetParam(), readKernelFile(GetParam()));
  Checker checker(context, file);
  for (const std::string &kernel : kernelNames(checker.ast))
    for (Instance &instance : checker.instances(kernel))
      for (bool lowered : {false, true}) {
        if (lowered && (!checker.rules(instance) || !checker.lower(instance)))
          continue;
        const sim::DecodedKernel decoded = sim::decode(instance.kernel());
        for (const frontend::CheckCase &test : instance.cases)
          for (unsigned seed = 1; seed <= 6; ++seed)
            for (const sim::Finding &finding : run(decoded.program, test, seed))
              ADD_FAILURE() << kernel << ", seed " << seed << ": " << finding.message;
      }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Schedules, testing::ValuesIn(kernelFiles()), [](const auto &info) {
  std::string name = info.param.substr(0, info.param.rfind('.'));
  std::ranges::replace(name, '/', '_');
  return name;
});

TEST(ScheduleOfMistakes, all_find_something_or_none_does) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  const SourceFile file("kernels/linear_attn.tile", readKernelFile("kernels/linear_attn.tile"));
  Checker original(context, file);
  unsigned mistakes = 0;
  for (const Mutation &mutation : mutationsOf(original.ast)) {
    const SourceFile changed(file.name(), mutated(file, mutation));
    Checker checker(context, changed);
    if (checker.diags.hasErrors())
      continue;
    for (Instance &instance : checker.instances("linear_attn")) {
      const sim::DecodedKernel decoded = sim::decode(instance.kernel());
      for (const frontend::CheckCase &test : instance.cases) {
        const bool found = !run(decoded.program, test, 0).empty();
        mistakes += found;
        for (unsigned seed = 1; seed <= 20; ++seed)
          EXPECT_EQ(!run(decoded.program, test, seed).empty(), found) << mutation.name << ", seed " << seed;
      }
    }
  }
  EXPECT_GT(mistakes, 40u);
}
