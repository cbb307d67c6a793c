#include "compiler/codegen/instructions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace flashqla::codegen {
namespace {

std::string wgmmaName(const WgmmaShape &s) {
  return fmt::format("wgmma_m64n{}k16_{}_{}{}{}{}", s.n, s.registerA ? "rs" : "ss", s.f16 ? "f16" : "bf16",
                     s.transposeA ? "_ta" : "", s.transposeB ? "_tb" : "",
                     s.negate ? "_sub" : (s.overwrite ? "_set" : ""));
}

/// `"+f"(d[0]), "+f"(d[1]), …`
std::string operands(const std::string &constraint, const std::string &array, int64_t count) {
  std::vector<std::string> list;
  for (int64_t i = 0; i < count; ++i)
    list.push_back(fmt::format("\"{}\"({}[{}])", constraint, array, i));
  return fmt::format("{}", fmt::join(list, ", "));
}

/// `%0, %1, …`
std::string placeholders(int64_t first, int64_t count) {
  std::vector<std::string> list;
  for (int64_t i = 0; i < count; ++i)
    list.push_back(fmt::format("%{}", first + i));
  return fmt::format("{}", fmt::join(list, ", "));
}

std::string wgmmaFunction(const WgmmaShape &s) {
  int64_t accumulators = s.n / 2;
  std::string type = s.f16 ? "f16" : "bf16";
  std::string a = s.registerA ? fmt::format("{{{}}}", placeholders(accumulators, 4)) : fmt::format("%{}", accumulators);
  int64_t b = accumulators + (s.registerA ? 4 : 1);
  std::string majors = s.registerA ? fmt::format("{}", int(s.transposeB))
                                   : fmt::format("{}, {}", int(s.transposeA), int(s.transposeB));
  // Of A in registers with known contents the assembler of CUDA 13.0 negates pairs as if they were 32-bit integers.
  const int sign = s.negate ? -1 : 1, scaleA = s.registerA ? 1 : sign, scaleB = s.registerA ? sign : 1;
  // With scale-d false the old accumulator is not an input, so that it is not kept alive.
  return fmt::format("DEVICE void {}(float *d, {}, u64 b) {{\n"
                     "  asm volatile(\"{{.reg .pred p; setp.ne.b32 p, {}, 0; \"\n"
                     "               \"wgmma.mma_async.sync.aligned.m64n{}k16.f32.{}.{} {{{}}}, {}, %{}, p, {}, {}, {};}}\"\n"
                     "               : {}\n"
                     "               : {}, \"l\"(b));\n"
                     "}}\n",
                     wgmmaName(s), s.registerA ? "const u32 *a" : "u64 a", int(!s.overwrite), s.n, type, type,
                     placeholders(0, accumulators), a, b, scaleA, scaleB, majors,
                     operands(s.overwrite ? "=f" : "+f", "d", accumulators),
                     s.registerA ? operands("r", "a", 4) : std::string("\"l\"(a)"));
}

std::string waitName(int64_t keep, const std::vector<int64_t> &registers) {
  return fmt::format("wgmma_wait_group_{}{}{}", keep, registers.empty() ? "" : "_", fmt::join(registers, "_"));
}

std::string waitFunction(int64_t keep, const std::vector<int64_t> &registers) {
  std::vector<std::string> parameters, lists;
  for (size_t i = 0; i < registers.size(); ++i) {
    parameters.push_back(fmt::format("float *x{}", i));
    lists.push_back(operands("+f", fmt::format("x{}", i), registers[i]));
  }
  return fmt::format("DEVICE void {}({}) {{\n  asm volatile(\"wgmma.wait_group.sync.aligned {};\" : {} : : \"memory\");\n}}\n",
                     waitName(keep, registers), fmt::join(parameters, ", "), keep, fmt::join(lists, ", "));
}

} // namespace

std::string Instructions::wgmma(const WgmmaShape &shape) {
  products.insert(shape);
  return wgmmaName(shape);
}

std::string Instructions::waitGroup(int64_t keep, const std::vector<int64_t> &registers) {
  waits.insert({keep, registers});
  return waitName(keep, registers);
}

void Instructions::needInverse() {
  inverse = true;
  for (bool overwrite : {true, false})
    wgmma({32, /*f16=*/true, /*registerA=*/true, false, false, overwrite, false});
  waitGroup(0, {16});
}

std::string Instructions::text() const {
  std::string result;
  for (const WgmmaShape &shape : products)
    result += wgmmaFunction(shape);
  for (const auto &[keep, registers] : waits)
    result += waitFunction(keep, registers);
  if (inverse)
    result += "\n" + std::string(inverseText());
  if (timeline)
    result += "\n" + std::string(timelineText());
  return result;
}

} // namespace flashqla::codegen
