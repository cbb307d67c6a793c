// What is read from the assembler's log.
#include "compiler/codegen/nvrtc.h"

#include <gtest/gtest.h>

using namespace flashqla;

namespace {

codegen::CompiledCuda read(const std::string &log) {
  codegen::CompiledCuda result;
  result.log = log;
  codegen::readLog(result);
  return result;
}

} // namespace

TEST(NvrtcLog, resources) {
  const codegen::CompiledCuda result =
      read("ptxas info    : Function properties for k\n"
           "ptxas         .     8 bytes stack frame, 4 bytes spill stores, 16 bytes spill loads\n"
           "ptxas info    : Used 168 registers, used 1 barriers\n");
  EXPECT_EQ(result.registers, 168);
  EXPECT_EQ(result.stackBytes, 8);
  EXPECT_EQ(result.spillStoreBytes, 4);
  EXPECT_EQ(result.spillLoadBytes, 16);
  EXPECT_TRUE(result.errors.empty());
}

TEST(NvrtcLog, errors_of_compiler_and_assembler) {
  EXPECT_EQ(read("k.cu(3): error: identifier \"x\" is undefined\n").errors.size(), 1u);
  EXPECT_EQ(
      read("ptxas application ptx input, line 4; error   : Unknown symbol 'foo'\n").errors.size(),
      1u);
  EXPECT_EQ(read("ptxas fatal   : Ptx assembly aborted due to errors\n").errors.size(), 1u);
}

TEST(NvrtcLog, a_kernel_may_have_error_in_its_name) {
  EXPECT_TRUE(read("ptxas info    : Compiling entry function 'error_feedback' for 'sm_90a'\n")
                  .errors.empty());
}
