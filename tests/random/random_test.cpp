// Random programs in a fixed range of seeds: accepted by every check, and the same results from the program as written,
// as lowered, and from its CUDA text on the emulated machine. Longer runs are those of random_programs.
#include "tests/random/generate.h"
#include "tests/random/judge.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace flashqla::random;

namespace {

/// What a failure says: where to look, how to see it again, the program.
std::string told(const Program &program, const Verdict &verdict, const std::string &flag) {
  return fmt::format("random program {}: {} {}\n{}\nthe mistake is in {}\n"
                     "again, and smaller: random_programs --seed {} --count 1 --minimise{}\n\n{}",
                     program.seed, verdict.kind == Verdict::Kind::Refused ? "refused," : "differs,", verdict.name, verdict.text,
                     layerOf(verdict), program.seed, flag, program.text());
}

void agree(Judge &judge, std::uint64_t first, std::uint64_t count, const std::string &flag) {
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Program program = generate(seed);
    if (const Verdict verdict = judge(program); !verdict.good())
      ADD_FAILURE() << told(program, verdict, flag);
  }
}

} // namespace

/// The parameter is the first seed of a block.
class RandomPrograms : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomPrograms, WrittenAndLoweredAgree) {
  Judge judge({});
  agree(judge, GetParam(), 50, "");
}
INSTANTIATE_TEST_SUITE_P(From, RandomPrograms, testing::Values(1, 51, 101, 151), testing::PrintToStringParamName());

class EmulatedRandomPrograms : public testing::TestWithParam<std::uint64_t> {};

TEST_P(EmulatedRandomPrograms, TextAgrees) {
  Judge judge({.emulated = true});
  if (!judge.missing().empty())
    GTEST_SKIP() << judge.missing();
  agree(judge, GetParam(), 5, " --emulated");
}
INSTANTIATE_TEST_SUITE_P(From, EmulatedRandomPrograms, testing::Values(1001, 1006), testing::PrintToStringParamName());

/// A generator that depends on anything but the seed would make failures that cannot be seen again.
TEST(Generator, DependsOnTheSeedAlone) {
  EXPECT_EQ(generate(7).text(), generate(7).text());
  EXPECT_NE(generate(7).text(), generate(8).text());
}

TEST(Judge, NamesTheLayer) {
  const Program program = generate(7);
  const std::string text = told(program, {Verdict::Kind::Differs, "surface-lowered", "y0[3] is 1 and should be 2"}, "");
  EXPECT_NE(text.find("random program 7"), std::string::npos);
  EXPECT_NE(text.find("the mistake is in a pass that lowers it"), std::string::npos);
}
