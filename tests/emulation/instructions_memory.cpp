// Loads and stores of shared and global memory, and the exchange of 8 × 8 matrices.
#include "tests/emulation/instructions.h"
#include "tests/emulation/violation.h"

#include <cstring>

namespace flashqla::emulation {

namespace {

constexpr unsigned maxBytes = 16;

/// COUNT elements of BYTES each, which go to or come from one operand in braces or none.
template <unsigned bytes, unsigned count>
void loadShared(Cta &cta, const Instruction &instruction, Frame &frame) {
  std::byte data[maxBytes];
  cta.shared.read(frame.get32(operand(instruction, 1)), data, bytes * count);
  for (unsigned i = 0; i < count; ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, data + i * bytes, bytes);
    frame.set(instruction.operands[0].at(i), bits);
  }
}

template <unsigned bytes, unsigned count>
void storeShared(Cta &cta, const Instruction &instruction, Frame &frame) {
  std::byte data[maxBytes];
  for (unsigned i = 0; i < count; ++i) {
    const std::uint64_t bits = frame.get(instruction.operands[1].at(i));
    std::memcpy(data + i * bytes, &bits, bytes);
  }
  cta.shared.write(cta.thread(), frame.get32(operand(instruction, 0)), data, bytes * count);
}

void *checkGlobal(Cta &cta, std::uint64_t address) {
  if (address % maxBytes)
    violate("16 bytes at {:#x}", address);
  if (!cta.memory.contains(address, maxBytes))
    violate("16 bytes at {:#x}, which are in no tensor", address);
  return reinterpret_cast<void *>(address);
}

void loadGlobal(Cta &cta, const Instruction &instruction, Frame &frame) {
  std::uint32_t data[4];
  std::memcpy(data, checkGlobal(cta, frame.get(operand(instruction, 1))), sizeof data);
  for (unsigned i = 0; i < 4; ++i)
    frame.set(instruction.operands[0].at(i), data[i]);
}

void storeGlobal(Cta &cta, const Instruction &instruction, Frame &frame) {
  std::uint32_t data[4];
  for (unsigned i = 0; i < 4; ++i)
    data[i] = frame.get32(instruction.operands[1].at(i));
  std::memcpy(checkGlobal(cta, frame.get(operand(instruction, 0))), data, sizeof data);
}

// Matrices. Lane l names row l mod 8 of matrix l / 8 and holds of each matrix the elements 2 (l mod
// 4) and the next of row l / 4; transposed, of column l / 4.

struct MatrixLane {
  std::uint32_t address;
  std::uint32_t registers[4];
};

/// Row and byte in it of half `half` of a lane's register.
struct MatrixPlace {
  unsigned row, byte;
};
MatrixPlace placeOf(unsigned lane, unsigned half, bool transposed) {
  const unsigned outer = lane / 4, inner = 2 * (lane % 4) + half;
  return transposed ? MatrixPlace{inner, 2 * outer} : MatrixPlace{outer, 2 * inner};
}

constexpr unsigned rowBytes = 16;

template <bool transposed>
void loadMatrices(Cta &cta, const Instruction &instruction, Frame &frame) {
  MatrixLane own{frame.get32(operand(instruction, 1)), {}};
  cta.together(&instruction, "ldmatrix", &own, [&](void *const(&data)[Cta::lanes]) {
    std::uint16_t rows[Cta::lanes][rowBytes / 2];
    for (unsigned lane = 0; lane < Cta::lanes; ++lane)
      cta.shared.read(static_cast<MatrixLane *>(data[lane])->address, rows[lane], rowBytes);
    for (unsigned lane = 0; lane < Cta::lanes; ++lane)
      for (unsigned matrix = 0; matrix < 4; ++matrix)
        for (unsigned half = 0; half < 2; ++half) {
          const MatrixPlace place = placeOf(lane, half, transposed);
          const std::uint32_t bits = rows[8 * matrix + place.row][place.byte / 2];
          static_cast<MatrixLane *>(data[lane])->registers[matrix] |= bits << 16 * half;
        }
  });
  for (unsigned matrix = 0; matrix < 4; ++matrix)
    frame.set(instruction.operands[0].at(matrix), own.registers[matrix]);
}

template <bool transposed>
void storeMatrices(Cta &cta, const Instruction &instruction, Frame &frame) {
  MatrixLane own{frame.get32(operand(instruction, 0)), {}};
  for (unsigned matrix = 0; matrix < 4; ++matrix)
    own.registers[matrix] = frame.get32(instruction.operands[1].at(matrix));
  cta.together(&instruction, "stmatrix", &own, [&](void *const(&data)[Cta::lanes]) {
    std::uint16_t rows[Cta::lanes][rowBytes / 2];
    for (unsigned lane = 0; lane < Cta::lanes; ++lane)
      for (unsigned matrix = 0; matrix < 4; ++matrix)
        for (unsigned half = 0; half < 2; ++half) {
          const MatrixPlace place = placeOf(lane, half, transposed);
          rows[8 * matrix + place.row][place.byte / 2] = static_cast<std::uint16_t>(
              static_cast<MatrixLane *>(data[lane])->registers[matrix] >> 16 * half);
        }
    const unsigned warp = cta.warp();
    for (unsigned lane = 0; lane < Cta::lanes; ++lane)
      cta.shared.write(warp * Cta::lanes + lane, static_cast<MatrixLane *>(data[lane])->address,
                       rows[lane], rowBytes);
  });
}

constexpr InstructionEntry table[] = {
    {"ld.shared.f32", loadShared<4, 1>},
    {"ld.shared.u32", loadShared<4, 1>},
    {"ld.shared.u16", loadShared<2, 1>},
    {"ld.shared.s64", loadShared<8, 1>},
    {"ld.shared.v2.f32", loadShared<4, 2>},
    {"ld.shared.v4.f32", loadShared<4, 4>},
    {"ld.shared.v4.u32", loadShared<4, 4>},
    {"st.shared.f32", storeShared<4, 1>},
    {"st.shared.u32", storeShared<4, 1>},
    {"st.shared.u16", storeShared<2, 1>},
    {"st.shared.s64", storeShared<8, 1>},
    {"st.shared.v2.f32", storeShared<4, 2>},
    {"st.shared.v4.f32", storeShared<4, 4>},
    {"st.shared.v4.u32", storeShared<4, 4>},
    {"ldmatrix.sync.aligned.m8n8.x4.shared::cta.b16", loadMatrices<false>},
    {"ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16", loadMatrices<true>},
    {"stmatrix.sync.aligned.m8n8.x4.shared::cta.b16", storeMatrices<false>},
    {"stmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16", storeMatrices<true>},
    {"ld.global.v4.u32", loadGlobal},
    {"st.global.v4.u32", storeGlobal},
};

} // namespace

std::span<const InstructionEntry> memoryInstructions() { return table; }

} // namespace flashqla::emulation
