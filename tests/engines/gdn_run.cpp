#include "tests/engines/gdn_run.h"

#include <limits>
#include <utility>

namespace flashqla {

namespace {

constexpr double quietNan = std::numeric_limits<double>::quiet_NaN();

} // namespace

GdnRun::GdnRun(const Device &device, const GdnCase &item, const reference::GdnInputs &inputs)
    : device(device), item(item), q(device, inputs.q), k(device, inputs.k), v(device, inputs.v),
      gate(device, inputs.gate), beta(device, inputs.beta),
      o(device, inputs.v, quietNan), // with the gaps of v
      workspaceBytes(gdn::workspaceBytes(item.config, item.extents())),
      workspace(must(DeviceBuffer::allocate(device, workspaceBytes))) {
  must(workspace.fill(0xff));
  args.q = q.ref();
  args.k = k.ref();
  args.v = v.ref();
  args.gate = gate.ref();
  args.beta = beta.ref();
  args.o = o.ref();
  args.cuSeqlens = item.config.packed
                       ? keep(HostTensor::integers(item.config.indexType, inputs.cuSeqlens))
                       : std::nullopt;
  args.aLog = keep(inputs.aLog);
  args.dtBias = keep(inputs.dtBias);
  args.initialState = keep(inputs.initialState);
  if (item.config.finalState) {
    const std::int64_t dimK = item.config.dimK, dimV = item.config.dimV;
    const bool keyFirst = item.config.stateLayout == gdn::StateLayout::KeyFirst;
    const HostTensor state(item.config.stateType, {item.extents().sequences, item.config.headsV,
                                                   keyFirst ? dimK : dimV, keyFirst ? dimV : dimK});
    finalState = std::make_unique<DeviceTensor>(device, state, quietNan);
    args.finalState = finalState->ref();
  }
}

std::optional<TensorRef> GdnRun::keep(std::optional<HostTensor> tensor) {
  if (!tensor)
    return std::nullopt;
  kept.push_back(std::make_unique<DeviceTensor>(device, std::move(*tensor)));
  return kept.back()->ref();
}

void GdnRun::launch(const gdn::Forward &forward, StreamHandle stream,
                    const gdn::RunOptions &options) {
  must(forward.run(stream, args, workspace.data(), workspaceBytes, options));
}

std::vector<HostTensor> GdnRun::results() {
  std::vector<HostTensor> tensors = {output()};
  if (finalState)
    tensors.push_back(state());
  return tensors;
}

std::vector<std::byte> GdnRun::resultBytes() {
  std::vector<std::byte> bytes;
  for (const HostTensor &tensor : results())
    bytes.insert(bytes.end(), tensor.bytes().begin(), tensor.bytes().end());
  return bytes;
}

std::vector<Wanted> wantedResults(const GdnCase &item, const reference::GdnInputs &inputs) {
  reference::GdnOutputs want = reference::gdn(inputs);
  std::vector<Wanted> wanted = {{"o", std::move(want.o), item.tolerance(), quietNan}};
  if (item.config.finalState)
    wanted.push_back({"final_state", std::move(want.finalState), item.tolerance(), quietNan});
  return wanted;
}

} // namespace flashqla
