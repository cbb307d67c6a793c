// The texts of wgmma functions, where the hardware or its assembler leaves one way to write them.
#include "compiler/codegen/instructions.h"

#include <gtest/gtest.h>

using namespace flashqla::codegen;

namespace {

std::string textOf(bool registerA, bool negate) {
  Instructions instructions;
  instructions.wgmma({64, /*f16=*/true, registerA, /*transposeA=*/false, /*transposeB=*/false, /*overwrite=*/false, negate});
  return instructions.text();
}

} // namespace

/// docs/hopper.md, "Products": ptxas 13.0 negates a register of A whose contents it knows as a 32-bit integer.
TEST(Instructions, products_with_registers_negate_b) {
  EXPECT_NE(textOf(true, true).find("p, 1, -1, 0;"), std::string::npos) << textOf(true, true);
  EXPECT_NE(textOf(true, false).find("p, 1, 1, 0;"), std::string::npos);
  EXPECT_NE(textOf(false, true).find("p, -1, 1, 0, 0;"), std::string::npos) << textOf(false, true);
}
