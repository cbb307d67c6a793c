// Kernels of one CTA that tests write by hand, behind the compiler's prelude.
//
// The body sees `u32 *data` (ROWS × COLUMNS words of global memory), `const TensorMap map0` over it
// with boxes of 8 rows × 32 columns, the scalar `which` to tell cases apart – a text takes half a
// second to compile –, `shared`, `lane` and `warp`.
//
//     HandKernel kernel("if (which == 0) data[threadIdx.x] = lane;", {.threads = 64});
//     kernel.data[5] = 1;
//     EXPECT_EQ(kernel.run(0), "");
#pragma once

#include "compiler/codegen/instructions.h"
#include "flashqla/runtime.h"
#include "tests/emulation/options.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace flashqla::emulation {

class HandKernel {
public:
  static constexpr std::int64_t rows = 64, columns = 64;

  struct Shape {
    int threads = 32;
    int sharedBytes = 16 * 1024;
    codegen::Instructions instructions = {}; // products that the body uses
  };
  HandKernel(const std::string &body, Shape shape);

  /// The text of the error, empty if there is none.
  std::string run(int which, const Options &options = {});

  std::vector<std::uint32_t> data = std::vector<std::uint32_t>(rows * columns); // in and out
  float number(std::size_t index) const;
  void setNumber(std::size_t index, float x);

private:
  std::optional<Device> device;
  std::optional<Kernel> kernel;
  std::optional<DeviceBuffer> buffer;
};

} // namespace flashqla::emulation
