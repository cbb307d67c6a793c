// compile_gpu_cuda [--if-gpu] SOURCE_DIR OUT_DIR: compiles the CUDA text of tests/gpu/cuda to
// OUT_DIR/NAME.cubin, each behind the compiler's own prelude, the products that it calls, and
// common.cuh, and copies the golden data of tests/gpu/golden beside them, so that the tests on the
// GPU need nothing else. `wgmma_probe` also gets one kernel for each form of a product. What is
// newer than its source and than this program is left alone. --if-gpu: does nothing where there is
// no NVIDIA device.
#include "compiler/codegen/emit_kernel.h"
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/nvrtc.h"
#include "flashqla/environment.h"
#include "tests/gpu/wgmma_forms.h"

#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <regex>
#include <sstream>
#include <string_view>

using namespace flashqla;
namespace fs = std::filesystem;

namespace {

std::string readText(const fs::path &path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// A struct with the constants and the product of a form, and its kernel.
std::string formText(const WgmmaForm &form) {
  codegen::Instructions names;
  const std::string product =
      names.wgmma({form.n, form.f16, form.registerA, form.transposeA, form.transposeB,
                   /*overwrite=*/true, /*negate=*/false});
  const std::string wait = names.waitGroup(0, {form.n / 2});
  return fmt::format(
      "struct {0} {{\n"
      "  static constexpr int n = {1};\n"
      "  static constexpr bool f16 = {2}, register_a = {3}, transpose_a = {4}, transpose_b = {5};\n"
      "  DEVICE static void product(float *d, const u32 *a, u64 a_descriptor, u64 b_descriptor) "
      "{{\n"
      "    wgmma_fence();\n"
      "    {6}(d, {7}, b_descriptor);\n"
      "    wgmma_commit_group();\n"
      "    {8}(d);\n"
      "  }}\n"
      "}};\n"
      "extern \"C\" __global__ void __launch_bounds__(128) probe_{0}(const OperandCase *cases, u8 "
      "*out,\n"
      "                                                              u64 *descriptors) {{\n"
      "  probe<{0}>(cases[blockIdx.x], out + (u64)blockIdx.x * (3 * 16 * 64 * {0}::n), descriptors "
      "+ blockIdx.x);\n"
      "}}\n",
      form.name(), form.n, form.f16, form.registerA, form.transposeA, form.transposeB, product,
      form.registerA ? "a" : "a_descriptor", wait);
}

/// The products and waits that a text calls, by their names.
std::string calledProducts(const std::string &text) {
  static const std::regex product("wgmma_m64n(\\d+)k16_(ss|rs)_(bf16|f16)(_ta)?(_tb)?(_set)?\\b"),
      wait("wgmma_wait_group_(\\d+)_(\\d+)\\b");
  codegen::Instructions called;
  for (std::sregex_iterator match(text.begin(), text.end(), product), end; match != end; ++match)
    called.wgmma({std::stoi((*match)[1]), (*match)[3] == "f16", (*match)[2] == "rs",
                  (*match)[4].matched, (*match)[5].matched, (*match)[6].matched, /*negate=*/false});
  for (std::sregex_iterator match(text.begin(), text.end(), wait), end; match != end; ++match)
    called.waitGroup(std::stoi((*match)[1]), {std::stoi((*match)[2])});
  return called.text();
}

std::string textOf(const fs::path &source) {
  std::string text = readText(source);
  if (source.stem() == "wgmma_probe")
    for (const WgmmaForm &form : wgmmaForms())
      text += formText(form);
  return std::string(codegen::prelude()) + calledProducts(text) +
         readText(source.parent_path() / "common.cuh") + text;
}

bool compile(const codegen::Nvrtc &nvrtc, const fs::path &source, const fs::path &target) {
  const Expected<codegen::CompiledCuda> compiled =
      nvrtc.compile(textOf(source), source.filename().string(), "sm_90a");
  if (!compiled || !compiled->errors.empty()) {
    std::fprintf(stderr, "%s: %s\n", source.c_str(),
                 compiled ? compiled->log.c_str() : compiled.error().text().c_str());
    return false;
  }
  for (const codegen::Advisory &advisory : compiled->advisories)
    std::fprintf(stderr, "%s: %s\n", source.c_str(), advisory.text.c_str());
  std::ofstream(target, std::ios::binary) << compiled->cubin;
  std::printf("%s\n", target.c_str());
  return true;
}

bool isNewer(const fs::path &file, const fs::path &than) {
  return fs::exists(file) && fs::last_write_time(file) > fs::last_write_time(than);
}

} // namespace

int main(int argc, char **argv) {
  const bool ifGpu = argc > 1 && std::string_view(argv[1]) == "--if-gpu";
  if (argc != (ifGpu ? 4 : 3)) {
    std::fprintf(stderr, "usage: compile_gpu_cuda [--if-gpu] SOURCE_DIR OUT_DIR\n");
    return 2;
  }
  if (ifGpu && !fs::exists("/dev/nvidiactl"))
    return 0;
  const fs::path folder = argv[argc - 2], out = argv[argc - 1];
  Expected<codegen::Nvrtc> nvrtc = codegen::Nvrtc::open(Environment::read().libnvrtc);
  if (!nvrtc) {
    std::fprintf(stderr, "%s\n", nvrtc.error().text().c_str());
    return 1;
  }
  fs::create_directories(out);
  bool good = true;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder / "cuda")) {
    if (entry.path().stem() == "common")
      continue;
    const fs::path target = out / entry.path().stem().concat(".cubin");
    if (!isNewer(target, entry.path()) || !isNewer(target, fs::read_symlink("/proc/self/exe")))
      good = compile(*nvrtc, entry.path(), target) && good;
  }
  for (const fs::directory_entry &entry : fs::directory_iterator(folder / "golden"))
    fs::copy_file(entry.path(), out / entry.path().filename(),
                  fs::copy_options::overwrite_existing);
  return good ? 0 : 1;
}
