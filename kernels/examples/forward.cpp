#include "kernels/examples/forward.h"

#include "kernels/reference.h"

#include <cmath>
#include <cstdio>

namespace flashqla::example {

namespace {

constexpr const char *scaleSource = R"tile(
/// y = factor · x
kernel scale[N]<W = 1024>(
    x: in  f32[N],
    y: out f32[N],
    factor: f32)
  grid (p: ceildiv(N, W))
  check (N = 1024), (N = 1500)
{
  warpgroup work regs 64 {
    frag v: f32[W]
    copy v <- x[p*W +: W]                          // zeros beyond N
    v *= factor
    copy y[p*W +: W] <- v                          // clipped at N
  }
}
)tile";

/// A tensor's storage on the device.
Expected<DeviceBuffer> upload(const Device &device, const HostTensor &tensor) {
  return DeviceBuffer::upload(device, tensor.bytes().data(), tensor.bytes().size());
}

} // namespace

Expected<void> runScale(const Device &device, KernelProvider &provider) {
  KernelRequest request;
  request.file = "scale.tile"; // stands in messages
  request.source = scaleSource;
  request.kernel = "scale";
  const Expected<Kernel> kernel = Kernel::load(device, provider, request);
  if (!kernel)
    return kernel.error();
  HostTensor x(DType::F32, {1500}), y(DType::F32, {1500});
  fillNormal(x, 1);
  const Expected<DeviceBuffer> onDevice = upload(device, x);
  const Expected<DeviceBuffer> result = upload(device, y);
  if (!onDevice || !result)
    return onDevice ? result.error() : onDevice.error();
  if (auto done = kernel->launch(nullptr, {x.ref(onDevice->data()), y.ref(result->data()), 3.0f});
      !done)
    return done;
  if (auto done = result->copyTo(y.bytes().data(), y.bytes().size()); !done)
    return done;
  std::vector<double> want = x.values();
  for (double &value : want)
    value *= 3;
  std::printf("scale: relative error %.1e\n", relativeError(y.values(), want));
  return {};
}

namespace {

/// Random inputs for two sequences of 100 and 1000 tokens.
reference::GdnInputs makeInputs(const gdn::Config &config) {
  const std::int64_t tokens = 1100, dim = 128;
  reference::GdnInputs in{.q = HostTensor(DType::BF16, {1, tokens, config.headsQk, dim}),
                          .k = HostTensor(DType::BF16, {1, tokens, config.headsQk, dim}),
                          .v = HostTensor(DType::BF16, {1, tokens, config.headsV, dim}),
                          .gate = HostTensor(DType::F32, {1, tokens, config.headsV}),
                          .beta = HostTensor(DType::F32, {1, tokens, config.headsV}),
                          .aLog = std::nullopt,
                          .dtBias = std::nullopt,
                          .initialState = std::nullopt,
                          .cuSeqlens = {0, 100, tokens}};
  fillNormal(in.q, 1);
  fillNormal(in.k, 2);
  fillNormal(in.v, 3);
  normalizeRows(in.q);
  normalizeRows(in.k);
  fillUniform(in.gate, 4, -0.1, 0);
  fillUniform(in.beta, 5, 0, 1);
  in.scale = 1 / std::sqrt(128.0);
  return in;
}

} // namespace

Expected<void> runForward(const Device &device, KernelProvider &provider) {
  const gdn::Config config = forwardConfig();
  // An engine does this once; `run` below is what it does per step.
  const Expected<gdn::Forward> forward = gdn::Forward::create(device, provider, config);
  if (!forward)
    return forward.error();

  const reference::GdnInputs in = makeInputs(config);
  const HostTensor offsets = HostTensor::integers(DType::I32, in.cuSeqlens);
  HostTensor o = in.v, state(DType::F32, {2, config.headsV, 128, 128});
  std::vector<DeviceBuffer> buffers;
  const HostTensor *const tensors[] = {&in.q,    &in.k,    &in.v, &in.gate,
                                       &in.beta, &offsets, &o,    &state};
  for (const HostTensor *tensor : tensors) {
    Expected<DeviceBuffer> buffer = upload(device, *tensor);
    if (!buffer)
      return buffer.error();
    buffers.push_back(std::move(*buffer));
  }
  const gdn::Extents extents{.batch = 1, .tokens = in.q.sizes()[1], .sequences = 2};
  const std::size_t bytes = gdn::workspaceBytes(config, extents);
  const Expected<DeviceBuffer> workspace = DeviceBuffer::allocate(device, bytes);
  if (!workspace)
    return workspace.error();

  gdn::Arguments args;
  args.q = in.q.ref(buffers[0].data());
  args.k = in.k.ref(buffers[1].data());
  args.v = in.v.ref(buffers[2].data());
  args.gate = in.gate.ref(buffers[3].data());
  args.beta = in.beta.ref(buffers[4].data());
  args.cuSeqlens = offsets.ref(buffers[5].data());
  args.o = o.ref(buffers[6].data());
  args.finalState = state.ref(buffers[7].data());
  if (auto done = forward->run(nullptr, args, workspace->data(), bytes); !done)
    return done;
  if (auto done = buffers[6].copyTo(o.bytes().data(), o.bytes().size()); !done)
    return done;
  if (auto done = buffers[7].copyTo(state.bytes().data(), state.bytes().size()); !done)
    return done;
  const reference::GdnOutputs want = reference::gdn(in);
  std::printf("gdn forward: relative error of o %.1e, of the final state %.1e\n",
              relativeError(o.values(), want.o), relativeError(state.values(), want.finalState));
  return {};
}

gdn::Config forwardConfig() {
  gdn::Config config;
  config.headsQk = 2;
  config.headsV = 4;
  return config;
}

int report(const Expected<void> &done) {
  if (!done)
    std::fprintf(stderr, "%s\n", done.error().text().c_str());
  return done ? 0 : 1;
}

} // namespace flashqla::example
