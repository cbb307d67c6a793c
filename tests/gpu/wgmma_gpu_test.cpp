// The layouts of wgmma as this chip has them are those of the golden file, on which the compiler's
// model is tested without a GPU (tests/codegen/wgmma_layout_test.cpp).
#include "tests/gpu/raw_kernel.h"
#include "tests/gpu/wgmma_probe.h"

#include <fstream>

using namespace flashqla;

class WgmmaTest : public GpuTest {};

TEST_F(WgmmaTest, ReadsAndWritesWhereTheGoldenFileSays) {
  const std::string found = printLayouts(probeWgmma());
  const std::string path = Gpu::instance().bundles + "/wgmma_layout.found.txt";
  std::ofstream(path) << found;
  EXPECT_TRUE(bundleFile("wgmma_layout.txt") == found) << "what was found is in " << path;
}
