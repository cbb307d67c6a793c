/// What the CTAs of a launch share: registers set from dims and scalars, the grid, the tensors.
///
///     PreparedLaunch prepared(program, launch);
///     if (Expected<void> ready = prepared.prepare(); !ready) …
///     Interpreter cta({program, prepared.tensors, prepared.registersOf(7), 7, launch.values});
#pragma once

#include "compiler/sim/simulate.h"

namespace flashqla::sim {

class PreparedLaunch {
public:
  /// `owners`: note which CTA touches which element of a tensor, so that CTAs are told from each other.
  PreparedLaunch(const Program &program, SimLaunch &launch, bool owners)
      : program(program), launch(launch), owners(owners) {}

  /// Error: sim-launch.
  Expected<void> prepare();
  /// The registers with which a CTA starts.
  Registers registersOf(int64_t block) const;

  int64_t blocks = 0; ///< CTAs; where there are none, the tensors are left alone
  std::vector<GlobalTensor> tensors;

private:
  Expected<void> setRegisters();
  Expected<void> setGrid();
  std::vector<std::vector<int64_t>> tensorExtents();
  Expected<void> setTensors();

  const Program &program;
  SimLaunch &launch;
  bool owners;
  Registers common;
  std::vector<int64_t> grid;
  std::vector<TensorValues> made; ///< of arguments that the launch does not have
};

} // namespace flashqla::sim
