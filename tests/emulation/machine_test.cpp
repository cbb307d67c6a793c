// The parts of an emulated CTA by themselves: PTX, barriers, shared memory, the text for g++.
#include "tests/emulation/barriers.h"
#include "tests/emulation/fibers.h"
#include "tests/emulation/host_text.h"
#include "tests/emulation/ptx.h"
#include "tests/emulation/shared_memory.h"
#include "tests/emulation/violation.h"

#include <gtest/gtest.h>

#include <functional>

using namespace flashqla::emulation;

namespace {

std::string violationOf(const std::function<void()> &action) {
  try {
    action();
  } catch (const Violation &violation) {
    return violation.what();
  }
  return "";
}

} // namespace

TEST(EmulatedPtx, InstructionsOperandsAndRegisters) {
  const Statement elect =
      decodePtx("{.reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p;}");
  ASSERT_EQ(elect.code.size(), 2u);
  EXPECT_EQ(elect.registers, 1u);
  EXPECT_EQ(elect.code[0].opcode, "elect.sync");
  ASSERT_EQ(elect.code[0].operands.size(), 2u);
  ASSERT_EQ(elect.code[0].operands[0].size(), 2u);
  EXPECT_EQ(elect.code[0].operands[0][0].kind, PtxValue::Kind::Sink);
  EXPECT_EQ(elect.code[0].operands[0][1].kind, PtxValue::Kind::Register);
  EXPECT_EQ(elect.code[0].operands[1][0].constant, 0xffffffffu);

  const Statement load = decodePtx("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::"
                                   "complete_tx::bytes [%0], [%1, {%3, %4}], [%2];");
  ASSERT_EQ(load.code.size(), 1u);
  ASSERT_EQ(load.code[0].operands.size(), 3u);
  ASSERT_EQ(load.code[0].operands[1].size(), 3u);
  EXPECT_EQ(load.code[0].operands[1][2].index, 4u);

  const Statement wait =
      decodePtx("{\n.reg .pred done;\nSPIN_%=:\nmbarrier.try_wait.parity.shared::"
                "cta.b64 done, [%0], %1;\n@!done bra SPIN_%=;\n}");
  ASSERT_EQ(wait.code.size(), 2u);
  EXPECT_TRUE(wait.code[1].guarded && wait.code[1].guardNegated);
  EXPECT_EQ(wait.code[1].target, 0u);
}

TEST(EmulatedPtx, WhatIsNotKnownIsRefused) {
  EXPECT_EQ(violationOf([] { decodePtx("add.f32 %0, %1, %2;"); }),
            "the emulation does not know `add.f32 %0, %1, %2`");
  EXPECT_NE(
      violationOf([] { decodePtx("wgmma.mma_async.sync.aligned.m64n12k16.f32.bf16.bf16 %0;"); }),
      "");
  EXPECT_NE(violationOf([] { decodePtx("bar.sync %0, x;"); }), "");
  EXPECT_NE(violationOf([] { decodePtx("bra NOWHERE;"); }), "");
  EXPECT_NE(violationOf([] { decodePtx("exit"); }), "");
}

TEST(EmulatedText, AssemblyBecomesCalls) {
  const auto text = hostText("// asm volatile(\"exit;\");\n"
                             "void f(u32 a, float *x) {\n"
                             "#line 4 \"k.tile\"\n"
                             "  asm volatile(\"ld.\" TYPE \" %0, [%1];\"\n"
                             "               : \"=f\"(x[0]), \"+f\"(x[f(1, 2)])\n"
                             "               : \"r\"(a ? b : c)\n"
                             "               : \"memory\");\n"
                             "  asm(\"exit;\" ::: \"memory\");\n"
                             "}\n",
                             "f");
  ASSERT_TRUE(text);
  EXPECT_NE(text->find("#include \"host_prelude.h\"\n// asm volatile(\"exit;\");\n"
                       "void f(u32 a, float *x) {\n"
                       "FQ_LINE(4)\n#line 4 \"k.tile\"\n"
                       "  FQ_ASM(\"ld.\" TYPE \" %0, [%1];\", fq::out(x[0]), "
                       "fq::inOut(x[f(1, 2)]), fq::in(a ? b : c));\n"
                       "  FQ_ASM(\"exit;\");\n"),
            std::string::npos)
      << *text;
  EXPECT_FALSE(hostText("asm(\"mov %0, %1;\" : r(x));", "f"));
}

TEST(EmulatedText, NamesOfSharedMemory) {
  const SharedNames names("  constexpr u32 b_s_at = 512;\n  constexpr u32 full_at = 1024;\n");
  EXPECT_EQ(names.describe(sharedBase + 1032), "full + 8");
  EXPECT_EQ(names.describe(sharedBase + 512), "b_s");
  EXPECT_EQ(names.describe(sharedBase), "shared address 0x400");
}

namespace {

class BarrierTest : public testing::Test {
protected:
  SharedNames names;
  SharedMemory shared{4096, 64, names};
  Fibers fibers{64, [this](unsigned self) { body(self); }};
  Mbarriers barriers{shared, fibers};
  std::function<void(unsigned)> body;
  static constexpr std::uint32_t at = sharedBase + 64;
};

} // namespace

TEST_F(BarrierTest, PhasesCompleteWithArrivalsAndBytes) {
  barriers.init(at, 2);
  EXPECT_TRUE(barriers.isComplete(at, 1)); // the phase before the first
  EXPECT_FALSE(barriers.isComplete(at, 0));
  barriers.completeBytes(at, 100); // before they are announced
  barriers.arrive(at);
  EXPECT_FALSE(barriers.isComplete(at, 0));
  barriers.expectBytes(at, 356);
  barriers.arrive(at);
  EXPECT_FALSE(barriers.isComplete(at, 0));
  barriers.completeBytes(at, 256);
  EXPECT_TRUE(barriers.isComplete(at, 0));
  EXPECT_FALSE(barriers.isComplete(at, 1));
  barriers.arrive(at);
  barriers.arrive(at);
  EXPECT_TRUE(barriers.isComplete(at, 1));
  EXPECT_FALSE(barriers.isComplete(at, 0)); // one bit tells no more
}

TEST_F(BarrierTest, MistakesAreNamed) {
  EXPECT_EQ(violationOf([&] { barriers.arrive(at); }),
            "shared address 0x440 (0x440) is used as a barrier and was not initialised");
  barriers.init(at, 1);
  EXPECT_EQ(violationOf([&] { barriers.init(at, 1); }),
            "shared address 0x440 is initialised twice");
  barriers.expectBytes(at, 16);
  barriers.arrive(at);
  EXPECT_EQ(violationOf([&] { barriers.arrive(at); }),
            "shared address 0x440 gets more than its 1 arrivals in one phase; "
            "phase 0: 1 of 1 arrivals, 16 bytes outstanding");
  EXPECT_EQ(violationOf([&] { barriers.expectBytes(at, 16); }).substr(0, 55),
            "shared address 0x440 is told of bytes after the last ar");
  EXPECT_NE(violationOf([&] { barriers.init(at + 4, 1); }), ""); // alignment
  EXPECT_NE(violationOf([&] { barriers.init(at + 8, 0); }), "");
  EXPECT_NE(violationOf([&] { shared.write(0, at, "abcd", 4); }), "");
}

TEST_F(BarrierTest, SleepersWakeWhenThePhaseEnds) {
  barriers.init(at, 32);
  unsigned woken = 0;
  body = [&](unsigned self) {
    if (self < 32)
      return barriers.arrive(at);
    while (!barriers.isComplete(at, 0))
      barriers.sleep(at);
    ++woken;
  };
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    if (seed) { // the phase of this run has the other parity: start over
      barriers.reset();
      shared.reset();
      barriers.init(at, 32);
    }
    ASSERT_TRUE(fibers.run(random, [](bool) { return false; }));
    EXPECT_EQ(woken, 32 * (seed + 1));
  }
}

TEST_F(BarrierTest, DeadlocksEndTheRun) {
  barriers.init(at, 33);
  body = [&](unsigned self) { self < 32 ? barriers.arrive(at) : barriers.sleep(at); };
  Random random(0);
  EXPECT_FALSE(fibers.run(random, [](bool) { return false; }));
}

TEST_F(BarrierTest, NamedBarriersCountThreads) {
  NamedBarriers named(fibers);
  unsigned before = 0;
  bool early = false;
  body = [&](unsigned) {
    ++before;
    named.sync(3, 64);
    early |= before != 64;
  };
  Random random(1);
  EXPECT_TRUE(fibers.run(random, [](bool) { return false; }));
  EXPECT_FALSE(early);
  body = [&](unsigned self) { named.sync(3, self < 32 ? 64 : 96); };
  EXPECT_NE(violationOf([&] { fibers.run(random, [](bool) { return false; }); }), "");
}

TEST(EmulatedSharedMemory, BoundsAndAlignment) {
  const SharedNames names("constexpr u32 x_at = 0;");
  SharedMemory shared(64, 32, names);
  std::uint32_t word[4] = {1, 2, 3, 4};
  shared.write(0, sharedBase + 48, word, 16);
  EXPECT_EQ(violationOf([&] { shared.write(0, sharedBase + 8, word, 16); }),
            "write of 16 bytes at x + 8 (0x408), which is no multiple of 16");
  EXPECT_EQ(
      violationOf([&] { shared.read(sharedBase + 64, word, 4); }),
      "read of 4 bytes at x + 64 (0x440): the kernel has 64 bytes of shared memory from 0x400");
  EXPECT_NE(violationOf([&] { shared.read(0, word, 4); }), "");
}

TEST(EmulatedSharedMemory, AsynchronousAccessesAreFencedAndAlone) {
  const SharedNames names("constexpr u32 x_at = 0;");
  SharedMemory shared(64, 32, names);
  std::uint32_t word = 1;
  shared.write(7, sharedBase, &word, 4);
  EXPECT_EQ(violationOf([&] { shared.readAsync(sharedBase, &word, 4); }),
            "asynchronous access at x, which thread 7 wrote without a fence.proxy.async since");
  shared.fence(6);
  EXPECT_NE(violationOf([&] { shared.readAsync(sharedBase, &word, 4); }), "");
  shared.fence(7);
  shared.readAsync(sharedBase, &word, 4);
  shared.beginReading(sharedBase, 4);
  shared.read(sharedBase, &word, 4);
  EXPECT_EQ(violationOf([&] { shared.write(7, sharedBase, &word, 4); }),
            "write at x, which an asynchronous operation in flight still reads");
  shared.endReading(sharedBase, 4);
  shared.beginLanding(sharedBase, 4, /*fenced=*/true);
  EXPECT_EQ(violationOf([&] { shared.read(sharedBase, &word, 4); }),
            "read at x, where an asynchronous copy has not landed");
  shared.endLanding(sharedBase, 4);
  shared.read(sharedBase, &word, 4);
}
