// One case of the GDN forward on a device.
#pragma once

#include "tests/engines/kernel_cases.h"
#include "tests/gpu/gdn_cases.h"
#include "tests/gpu/gpu_harness.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace flashqla {

/// The tensors of a case. Outputs and the workspace are full of NaN at first.
class GdnRun {
public:
  GdnRun(const Device &device, const GdnCase &item, const reference::GdnInputs &inputs);

  void launch(const gdn::Forward &forward, StreamHandle stream = nullptr,
              const gdn::RunOptions &options = {});
  const HostTensor &output() { return o.download(); }
  const HostTensor &state() { return finalState->download(); }
  /// o and, where there is one, the final state.
  std::vector<HostTensor> results();
  /// The same as bytes.
  std::vector<std::byte> resultBytes();

  gdn::Arguments args;

private:
  std::optional<TensorRef> keep(std::optional<HostTensor> tensor);

  const Device &device;
  GdnCase item;
  DeviceTensor q, k, v, gate, beta, o;
  std::unique_ptr<DeviceTensor> finalState;
  std::vector<std::unique_ptr<DeviceTensor>> kept;
  std::size_t workspaceBytes;
  DeviceBuffer workspace;
};

/// What `GdnRun::results` must be.
std::vector<Wanted> wantedResults(const GdnCase &item, const reference::GdnInputs &inputs);

} // namespace flashqla
