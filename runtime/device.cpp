#include "flashqla/device.h"
#include "flashqla/executor.h"
#include "runtime/device_state.h"
#include "runtime/host_driver.h"

#include <fmt/format.h>
#include <utility>

namespace flashqla {

namespace {

Expected<void> readProperties(DeviceState &state, int index) {
  const DriverApi &api = state.api;
  DeviceProperties &properties = state.properties;
  properties.index = index;
  const std::pair<int *, CUdevice_attribute> attributes[] = {
      {&properties.major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
      {&properties.minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
      {&properties.multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
      {&properties.sharedBytesPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN}};
  for (const auto &[value, attribute] : attributes)
    if (auto done = state.check(api.deviceGetAttribute(value, attribute, state.device),
                                "cuDeviceGetAttribute");
        !done)
      return done;
  char name[256] = "";
  if (auto done =
          state.check(api.deviceGetName(name, sizeof name, state.device), "cuDeviceGetName");
      !done)
    return done;
  properties.name = name;
  std::size_t bytes = 0;
  if (auto done = state.check(api.deviceTotalMem(&bytes, state.device), "cuDeviceTotalMem"); !done)
    return done;
  properties.memoryBytes = static_cast<std::int64_t>(bytes);
  return state.check(api.driverGetVersion(&properties.driverVersion), "cuDriverGetVersion");
}

/// The device number of the current context, or −1 without one.
int currentIndex(const DriverApi &api) {
  CUcontext context = nullptr;
  CUdevice device = 0;
  if (api.ctxGetCurrent(&context) == CUDA_SUCCESS && context &&
      api.ctxGetDevice(&device) == CUDA_SUCCESS)
    return device;
  return -1;
}

} // namespace

Device::Device(std::unique_ptr<DeviceState> state) : owned(std::move(state)) {}
Device::Device(Device &&) noexcept = default;
Device &Device::operator=(Device &&) noexcept = default;

Device::~Device() {
  if (owned && owned->retained)
    owned->api.primaryCtxRelease(owned->device);
}

Expected<Device> Device::openWith(const DriverApi &api, int index) {
  Device result(std::make_unique<DeviceState>());
  DeviceState &state = *result.owned;
  state.api = api;
  int count = 0;
  if (auto done = state.check(api.deviceGetCount(&count), "cuDeviceGetCount"); !done)
    return std::move(done).error();
  if (index < 0 || index >= count)
    return Error{"device-index", fmt::format("there is no device {}: {} found", index, count), {}};
  if (auto done = state.check(api.deviceGet(&state.device, index), "cuDeviceGet"); !done)
    return std::move(done).error();
  if (auto done = readProperties(state, index); !done)
    return std::move(done).error();

  if (currentIndex(api) == state.device) {
    api.ctxGetCurrent(&state.context);
    return result;
  }
  if (auto done = state.check(api.primaryCtxRetain(&state.context, state.device),
                              "cuDevicePrimaryCtxRetain");
      !done)
    return std::move(done).error();
  state.retained = true;
  if (auto done = state.check(api.ctxSetCurrent(state.context), "cuCtxSetCurrent"); !done)
    return std::move(done).error();
  return result;
}

Expected<Device> Device::open(int index, const std::string &libcuda) {
  Expected<DriverApi> api = loadDriver(libcuda);
  if (!api)
    return std::move(api).error();
  return openWith(*api, index);
}

Expected<Device> Device::current(const std::string &libcuda) {
  Expected<DriverApi> api = loadDriver(libcuda);
  if (!api)
    return std::move(api).error();
  const int index = currentIndex(*api);
  return openWith(*api, index < 0 ? 0 : index);
}

Device Device::on(Executor &executor) {
  Device result(std::make_unique<DeviceState>());
  DeviceState &state = *result.owned;
  state.api = hostDriver();
  state.executor = &executor;
  state.properties = executor.properties();
  return result;
}

const DeviceProperties &Device::properties() const { return owned->properties; }

Expected<void> Device::synchronize() const {
  const ContextScope scope(*owned);
  return owned->check(owned->api.ctxSynchronize(), "cuCtxSynchronize");
}

// DeviceBuffer

Expected<DeviceBuffer> DeviceBuffer::allocate(const Device &device, std::size_t bytes) {
  const DeviceState &state = device.state();
  const ContextScope scope(state);
  CUdeviceptr pointer = 0;
  if (bytes)
    if (auto done = state.check(state.api.memAlloc(&pointer, bytes), "cuMemAlloc"); !done)
      return Error{"device-memory",
                   fmt::format("{} bytes of device memory: {}", bytes, done.error().message),
                   {}};
  return DeviceBuffer(&state, reinterpret_cast<void *>(pointer), bytes);
}

Expected<DeviceBuffer> DeviceBuffer::upload(const Device &device, const void *source,
                                            std::size_t bytes) {
  Expected<DeviceBuffer> buffer = allocate(device, bytes);
  if (!buffer)
    return buffer;
  if (auto done = buffer->copyFrom(source, bytes); !done)
    return std::move(done).error();
  return buffer;
}

DeviceBuffer::DeviceBuffer(DeviceBuffer &&other) noexcept
    : device(other.device), pointer(std::exchange(other.pointer, nullptr)),
      byteCount(std::exchange(other.byteCount, 0)) {}

DeviceBuffer &DeviceBuffer::operator=(DeviceBuffer &&other) noexcept {
  std::swap(device, other.device);
  std::swap(pointer, other.pointer);
  std::swap(byteCount, other.byteCount);
  return *this;
}

DeviceBuffer::~DeviceBuffer() {
  if (!pointer)
    return;
  const ContextScope scope(*device);
  device->api.memFree(reinterpret_cast<CUdeviceptr>(pointer));
}

Expected<void> DeviceBuffer::copyFrom(const void *source, std::size_t count,
                                      std::size_t offset) const {
  assert(offset + count <= byteCount && "a copy stays inside its buffer");
  if (!count)
    return {};
  const ContextScope scope(*device);
  return device->check(
      device->api.memcpyHtoD(reinterpret_cast<CUdeviceptr>(pointer) + offset, source, count),
      "cuMemcpyHtoD");
}

Expected<void> DeviceBuffer::copyTo(void *target, std::size_t count, std::size_t offset) const {
  assert(offset + count <= byteCount && "a copy stays inside its buffer");
  if (!count)
    return {};
  const ContextScope scope(*device);
  return device->check(
      device->api.memcpyDtoH(target, reinterpret_cast<CUdeviceptr>(pointer) + offset, count),
      "cuMemcpyDtoH");
}

Expected<void> DeviceBuffer::fill(std::uint8_t value) const {
  if (!byteCount)
    return {};
  const ContextScope scope(*device);
  return device->check(
      device->api.memsetD8(reinterpret_cast<CUdeviceptr>(pointer), value, byteCount), "cuMemsetD8");
}

// Stream

Expected<Stream> Stream::create(const Device &device) {
  const DeviceState &state = device.state();
  const ContextScope scope(state);
  CUstream stream = nullptr;
  if (auto done =
          state.check(state.api.streamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
      !done)
    return std::move(done).error();
  return Stream(&state, stream);
}

Stream::Stream(Stream &&other) noexcept
    : device(other.device), stream(std::exchange(other.stream, nullptr)) {}

Stream &Stream::operator=(Stream &&other) noexcept {
  std::swap(device, other.device);
  std::swap(stream, other.stream);
  return *this;
}

Stream::~Stream() {
  if (!stream)
    return;
  const ContextScope scope(*device);
  device->api.streamDestroy(stream);
}

Expected<void> Stream::synchronize() const {
  const ContextScope scope(*device);
  return device->check(device->api.streamSynchronize(stream), "cuStreamSynchronize");
}

// Event

Expected<Event> Event::create(const Device &device) {
  const DeviceState &state = device.state();
  const ContextScope scope(state);
  CUevent event = nullptr;
  if (auto done = state.check(state.api.eventCreate(&event, CU_EVENT_DEFAULT), "cuEventCreate");
      !done)
    return std::move(done).error();
  return Event(&state, event);
}

Event::Event(Event &&other) noexcept
    : device(other.device), event(std::exchange(other.event, nullptr)) {}

Event &Event::operator=(Event &&other) noexcept {
  std::swap(device, other.device);
  std::swap(event, other.event);
  return *this;
}

Event::~Event() {
  if (!event)
    return;
  const ContextScope scope(*device);
  device->api.eventDestroy(event);
}

Expected<void> Event::record(StreamHandle stream) const {
  const ContextScope scope(*device);
  return device->check(device->api.eventRecord(event, stream), "cuEventRecord");
}

Expected<float> Event::elapsedMs(const Event &earlier) const {
  const ContextScope scope(*device);
  if (auto done = device->check(device->api.eventSynchronize(event), "cuEventSynchronize"); !done)
    return std::move(done).error();
  float result = 0;
  if (auto done = device->check(device->api.eventElapsedTime(&result, earlier.event, event),
                                "cuEventElapsedTime");
      !done)
    return std::move(done).error();
  return result;
}

// Graph

Expected<Graph> Graph::capture(const Device &device, const Stream &stream,
                               const std::function<Expected<void>()> &body) {
  const DeviceState &state = device.state();
  const ContextScope scope(state);
  if (auto done = state.check(
          state.api.streamBeginCapture(stream.handle(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
          "cuStreamBeginCapture");
      !done)
    return std::move(done).error();
  Expected<void> recorded = body();
  // The capture ends even when the body failed: the stream must be usable again.
  CUgraph graph = nullptr;
  Expected<void> done =
      state.check(state.api.streamEndCapture(stream.handle(), &graph), "cuStreamEndCapture");
  CUgraphExec executable = nullptr;
  if (recorded && done)
    done = state.check(state.api.graphInstantiate(&executable, graph, 0),
                       "cuGraphInstantiateWithFlags");
  if (graph)
    state.api.graphDestroy(graph);
  if (!recorded)
    return std::move(recorded).error();
  if (!done)
    return std::move(done).error();
  return Graph(&state, executable);
}

Graph::Graph(Graph &&other) noexcept
    : device(other.device), graph(std::exchange(other.graph, nullptr)) {}

Graph &Graph::operator=(Graph &&other) noexcept {
  std::swap(device, other.device);
  std::swap(graph, other.graph);
  return *this;
}

Graph::~Graph() {
  if (!graph)
    return;
  const ContextScope scope(*device);
  device->api.graphExecDestroy(graph);
}

Expected<void> Graph::launch(StreamHandle stream) const {
  const ContextScope scope(*device);
  return device->check(device->api.graphLaunch(graph, stream), "cuGraphLaunch");
}

// Timing

Expected<std::vector<float>> timeByEvents(const Device &device, StreamHandle stream, int warmup,
                                          int repeats,
                                          const std::function<Expected<void>()> &body) {
  std::vector<Event> events;
  for (int i = 0; i < 2 * repeats; ++i) {
    Expected<Event> event = Event::create(device);
    if (!event)
      return std::move(event).error();
    events.push_back(*std::move(event));
  }
  for (int i = -warmup; i < repeats; ++i) {
    Expected<void> done = i < 0 ? Expected<void>() : events[2 * i].record(stream);
    if (done)
      done = body();
    if (done && i >= 0)
      done = events[2 * i + 1].record(stream);
    if (!done)
      return std::move(done).error();
  }
  std::vector<float> result;
  for (int i = 0; i < repeats; ++i) {
    Expected<float> elapsed = events[2 * i + 1].elapsedMs(events[2 * i]);
    if (!elapsed)
      return std::move(elapsed).error();
    result.push_back(*elapsed);
  }
  return result;
}

} // namespace flashqla
