/// Tensors of a launch as the simulator holds them, and back.
#pragma once

#include "compiler/sim/storage.h"
#include "flashqla/tensor.h"

namespace flashqla::driver {

/// All elements, row-major; whatever strides the tensor has.
sim::TensorValues readTensor(const TensorRef &tensor);

/// Stores the elements that are others than those in memory: what a kernel does not write keeps its bits.
void writeTensor(const sim::TensorValues &values, const TensorRef &tensor);

} // namespace flashqla::driver
