// Asynchronous copies.
#include "tests/emulation/instructions.h"
#include "tests/emulation/violation.h"

namespace flashqla::emulation {

namespace {

/// An operand in brackets: `[map, {c0, c1}]`.
struct Box {
  const MapImage &map;
  int coordinates[5] = {};
};

Box readBox(const Instruction &instruction, std::size_t index, const Frame &frame) {
  const PtxOperand &values = instruction.operands.at(index);
  Box box{*reinterpret_cast<const MapImage *>(frame.get(values.at(0)))};
  const std::size_t count = values.size() - 1;
  const char digit = instruction.opcode[sizeof "cp.async.bulk.tensor." - 1];
  if (count != static_cast<std::size_t>(digit - '0') || count != box.map.rank)
    violate("`{}` with {} coordinates through a tensor map of rank {}", instruction.opcode, count,
            box.map.rank);
  for (std::size_t i = 0; i < count; ++i)
    box.coordinates[i] = static_cast<int>(frame.get32(values[i + 1]));
  return box;
}

void loadBox(Cta &cta, const Instruction &instruction, Frame &frame) {
  const Box box = readBox(instruction, 1, frame);
  cta.copies.loadBox(cta.thread(), cta.line, box.map, box.coordinates,
                     frame.get32(operand(instruction, 0)), frame.get32(operand(instruction, 2)));
}

void storeBox(Cta &cta, const Instruction &instruction, Frame &frame) {
  const Box box = readBox(instruction, 0, frame);
  cta.copies.storeBox(cta.thread(), cta.line, box.map, box.coordinates,
                      frame.get32(operand(instruction, 1)));
}

void prefetchMap(Cta &, const Instruction &instruction, Frame &frame) {
  const std::uint64_t map = frame.get(operand(instruction, 0));
  if (reinterpret_cast<const MapImage *>(map)->magic != MapImage::validMagic)
    violate("prefetch.tensormap of a parameter that is no tensor map");
}

void commitStores(Cta &cta, const Instruction &, Frame &) { cta.copies.commitStores(cta.thread()); }

void waitStores(Cta &cta, const Instruction &instruction, Frame &frame) {
  cta.copies.waitStores(cta.thread(), frame.get32(operand(instruction, 0)));
}

void copyPiece(Cta &cta, const Instruction &instruction, Frame &frame) {
  cta.copies.copyPiece(cta.thread(), cta.line, frame.get32(operand(instruction, 0)),
                       reinterpret_cast<const void *>(frame.get(operand(instruction, 1))),
                       frame.get32(operand(instruction, 2)), frame.get32(operand(instruction, 3)));
}

void commitPieces(Cta &cta, const Instruction &, Frame &) { cta.copies.commitPieces(cta.thread()); }

void waitPieces(Cta &cta, const Instruction &instruction, Frame &frame) {
  cta.copies.waitPieces(cta.thread(), frame.get32(operand(instruction, 0)));
}

#define FQ_TENSOR_COPY(rank)                                                                       \
  {"cp.async.bulk.tensor." rank ".shared::cluster.global.tile.mbarrier::complete_tx::bytes",       \
   loadBox},                                                                                       \
  {                                                                                                \
    "cp.async.bulk.tensor." rank ".global.shared::cta.tile.bulk_group", storeBox                   \
  }

constexpr InstructionEntry table[] = {
    FQ_TENSOR_COPY("1d"),
    FQ_TENSOR_COPY("2d"),
    FQ_TENSOR_COPY("3d"),
    FQ_TENSOR_COPY("4d"),
    FQ_TENSOR_COPY("5d"),
    {"prefetch.tensormap", prefetchMap},
    {"cp.async.bulk.commit_group", commitStores},
    {"cp.async.bulk.wait_group.read", waitStores},
    {"cp.async.bulk.wait_group", waitStores},
    {"cp.async.ca.shared.global", copyPiece},
    {"cp.async.commit_group", commitPieces},
    {"cp.async.wait_group", waitPieces},
};

#undef FQ_TENSOR_COPY

} // namespace

std::span<const InstructionEntry> copyInstructions() { return table; }

} // namespace flashqla::emulation
