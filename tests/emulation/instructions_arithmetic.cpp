// Conversions, selections, and the functions of the special-function unit. Those are computed
// exactly and rounded once; the hardware is a few units in the last place off.
#include "kernels/host_tensor.h"
#include "tests/emulation/instructions.h"

#include <cmath>
#include <limits>

namespace flashqla::emulation {

namespace {

/// .ftz: subnormal numbers are zero, with their sign.
double flushed(float x) {
  return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
}

template <class Function>
void unary(const Instruction &instruction, Frame &frame, Function function) {
  const double x = flushed(frame.getFloat(operand(instruction, 1)));
  frame.setFloat(operand(instruction, 0),
                 static_cast<float>(flushed(static_cast<float>(function(x)))));
}

void exponential(Cta &, const Instruction &instruction, Frame &frame) {
  unary(instruction, frame, [](double x) { return std::exp2(x); });
}
void logarithm(Cta &, const Instruction &instruction, Frame &frame) {
  unary(instruction, frame, [](double x) { return std::log2(x); });
}
void reciprocalRoot(Cta &, const Instruction &instruction, Frame &frame) {
  unary(instruction, frame, [](double x) { return 1 / std::sqrt(x); });
}
void root(Cta &, const Instruction &instruction, Frame &frame) {
  unary(instruction, frame, [](double x) { return std::sqrt(x); });
}
void hyperbolicTangent(Cta &, const Instruction &instruction, Frame &frame) {
  frame.setFloat(operand(instruction, 0), std::tanh(frame.getFloat(operand(instruction, 1))));
}
/// For a divisor of more than 2^126 the result is zero.
void divide(Cta &, const Instruction &instruction, Frame &frame) {
  const double x = flushed(frame.getFloat(operand(instruction, 1)));
  const double y = flushed(frame.getFloat(operand(instruction, 2)));
  const bool huge = std::fabs(y) > 0x1p126 && std::isfinite(y) && std::isfinite(x);
  frame.setFloat(operand(instruction, 0),
                 huge ? 0.0f : static_cast<float>(flushed(static_cast<float>(x / y))));
}

/// The first source is the upper half.
template <std::uint16_t (*round)(float)>
void pack(Cta &, const Instruction &instruction, Frame &frame) {
  const std::uint32_t high = round(frame.getFloat(operand(instruction, 1)));
  const std::uint32_t low = round(frame.getFloat(operand(instruction, 2)));
  frame.set(operand(instruction, 0), high << 16 | low);
}

void widenF16(Cta &, const Instruction &instruction, Frame &frame) {
  frame.setFloat(operand(instruction, 0),
                 fromF16(static_cast<std::uint16_t>(frame.get(operand(instruction, 1)))));
}

/// `mov.b32 {low, high}, x`
void unpack(Cta &, const Instruction &instruction, Frame &frame) {
  const std::uint32_t bits = frame.get32(operand(instruction, 1));
  frame.set(instruction.operands[0].at(0), bits & 0xffff);
  frame.set(instruction.operands[0].at(1), bits >> 16);
}

void select(Cta &, const Instruction &instruction, Frame &frame) {
  frame.set(operand(instruction, 0),
            frame.get(operand(instruction, frame.get(operand(instruction, 3)) ? 1 : 2)));
}

void setNotEqual(Cta &, const Instruction &instruction, Frame &frame) {
  frame.set(operand(instruction, 0),
            frame.get32(operand(instruction, 1)) != frame.get32(operand(instruction, 2)));
}

constexpr InstructionEntry table[] = {
    {"ex2.approx.ftz.f32", exponential},
    {"lg2.approx.ftz.f32", logarithm},
    {"rsqrt.approx.ftz.f32", reciprocalRoot},
    {"sqrt.approx.ftz.f32", root},
    {"tanh.approx.f32", hyperbolicTangent},
    {"div.approx.ftz.f32", divide},
    {"cvt.rn.bf16x2.f32", pack<toBf16>},
    {"cvt.rn.f16x2.f32", pack<toF16>},
    {"cvt.f32.f16", widenF16},
    {"mov.b32", unpack},
    {"selp.u32", select},
    {"setp.ne.b32", setNotEqual},
};

} // namespace

std::span<const InstructionEntry> arithmeticInstructions() { return table; }

} // namespace flashqla::emulation
