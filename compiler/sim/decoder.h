/// Decoding, part by part: steps of roles in decode.cpp, windows and copies in decode_steps.cpp, scalars and maps in
/// decode_lanes.cpp.
#pragma once

#include "compiler/sim/decode.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace flashqla::sim {

class Decoder {
public:
  explicit Decoder(tile::KernelOp kernel) : kernel(kernel) {}
  DecodedKernel run();

private:
  // decode.cpp
  void declare(mlir::Operation &op);
  void decodeRole(tile::RoleOp role);
  void decodeBlock(mlir::Block &block);
  void decodeOp(mlir::Operation &op);
  void decodeFor(mlir::scf::ForOp loop);
  void decodeIf(mlir::scf::IfOp branch);
  bool decodeBarrierUse(mlir::Operation &op);
  bool decodeAwait(mlir::Operation &op);
  void decodeStep(mlir::Operation &op);

  // decode_steps.cpp
  Reference reference(mlir::Value addressable);
  void decodeCopy(tile::CopyOp copy);
  bool decodeBulk(mlir::Operation &op);
  void decodeProduct(mlir::Operation &op);
  Generation generation(mlir::Value base, uint64_t offset);

  // decode_lanes.cpp
  bool decodeScalar(mlir::Operation &op, std::vector<LaneInstr> &out);
  void decodeMap(tile::MapOp map);
  void decodeUniform(mlir::Operation &op);
  uint32_t decodeCode(mlir::Block &block);
  void decodeLaneOp(mlir::Operation &op, Code &code);
  void decodeLaneIf(mlir::scf::IfOp branch, Code &code);
  void noteAccess(mlir::Value addressable, uint32_t access, bool write);
  IndexForm indexForm(mlir::Value index, bool &dense);
  bool dependsOnData(mlir::Value value);

  Step &step(StepKind kind, mlir::Operation &op);
  Where place(mlir::Operation *op);
  Reg reg(mlir::Value value);
  Reg newReg(bool real, bool lane);
  void define(mlir::Value value, bool lane) { registers[value] = newReg(isRealType(value.getType()), lane); }
  static bool isRealType(mlir::Type type) { return mlir::isa<mlir::FloatType>(type); }
  static Element element(mlir::Type type);

  tile::KernelOp kernel;
  DecodedKernel result;
  Program &program = result.program;
  std::vector<Step> *steps = nullptr;
  MapBody *map = nullptr;                  ///< being decoded
  int conditional = 0;                     ///< depth of branches in the map
  std::vector<std::pair<mlir::Value, const Reduction *>> reductions; ///< around, innermost last
  llvm::DenseMap<mlir::Value, Reg> registers;
  llvm::DenseMap<mlir::Operation *, uint32_t> objects;
  llvm::DenseMap<mlir::Operation *, Where> wheres;
  llvm::DenseMap<mlir::Value, bool> onData;
};

} // namespace flashqla::sim
