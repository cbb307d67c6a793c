// A GPU, its memory, streams, events and graphs: thin owners of what the CUDA driver hands out.
//
// The driver library is opened at run time; without it `Device::open` returns an error and nothing
// else fails. Everything made from a `Device` must be destroyed before it. Handles are those of the
// driver, so that streams and pointers of other CUDA code in the process can be used as they are.
#pragma once

#include "flashqla/error.h"
#include "flashqla/tensor.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

struct CUstream_st;
struct CUevent_st;
struct CUgraphExec_st;

namespace flashqla {

struct DriverApi;   // runtime/driver_api.h: the table of driver functions
struct DeviceState; // table, context, device number
class Executor;     // flashqla/executor.h: runs kernels where there is no GPU

/// The driver's CUstream, which is also the CUDA runtime's cudaStream_t. Null is the default
/// stream.
using StreamHandle = CUstream_st *;

struct DeviceProperties {
  std::string name;
  int index = 0;
  int major = 0, minor = 0; // compute capability
  int multiprocessors = 0;
  std::int64_t memoryBytes = 0;
  int sharedBytesPerBlock = 0; // opt-in maximum
  int driverVersion = 0;       // 13000 is CUDA 13.0
};

class Device {
public:
  /// The device with this number. Uses the thread's current context when that is one of this
  /// device, else retains the primary context and makes it current. `libcuda` names another driver
  /// library. Errors: driver-missing, driver-old, driver-call, device-index.
  static Expected<Device> open(int index, const std::string &libcuda = {});
  /// The device of the thread's current context, or number 0 without one. Errors as `open`.
  static Expected<Device> current(const std::string &libcuda = {});
  /// On a given table of driver functions, which is copied; for tests that record the calls.
  static Expected<Device> openWith(const DriverApi &api, int index);
  /// In the memory of this process, without a GPU. The executor must outlive the device.
  static Device on(Executor &executor);

  Device(Device &&) noexcept;
  Device &operator=(Device &&) noexcept;
  ~Device();

  const DeviceProperties &properties() const;
  /// Waits for all work of the context. Error: driver-call, which includes faults of earlier
  /// kernels.
  Expected<void> synchronize() const;
  const DeviceState &state() const { return *owned; }

private:
  explicit Device(std::unique_ptr<DeviceState> state);
  std::unique_ptr<DeviceState> owned;
};

/// Device memory. Copies are synchronous and ordered after earlier work of the default stream.
class DeviceBuffer {
public:
  /// Zero bytes give a null pointer. Error: device-memory.
  static Expected<DeviceBuffer> allocate(const Device &device, std::size_t bytes);
  /// Allocates and copies. Error: device-memory.
  static Expected<DeviceBuffer> upload(const Device &device, const void *source, std::size_t bytes);

  DeviceBuffer(DeviceBuffer &&other) noexcept;
  DeviceBuffer &operator=(DeviceBuffer &&other) noexcept;
  ~DeviceBuffer();

  void *data() const { return pointer; }
  std::size_t bytes() const { return byteCount; }
  /// The offset plus the byte count may not exceed `bytes()`. Error: driver-call.
  Expected<void> copyFrom(const void *source, std::size_t count, std::size_t offset = 0) const;
  Expected<void> copyTo(void *target, std::size_t count, std::size_t offset = 0) const;
  /// Sets every byte. Error: driver-call.
  Expected<void> fill(std::uint8_t value) const;

private:
  DeviceBuffer(const DeviceState *state, void *pointer, std::size_t bytes)
      : device(state), pointer(pointer), byteCount(bytes) {}
  const DeviceState *device;
  void *pointer;
  std::size_t byteCount;
};

class Stream {
public:
  /// A stream that does not synchronise with the default stream. Error: driver-call.
  static Expected<Stream> create(const Device &device);
  Stream(Stream &&other) noexcept;
  Stream &operator=(Stream &&other) noexcept;
  ~Stream();

  StreamHandle handle() const { return stream; }
  /// Waits for the work given so far. Error: driver-call.
  Expected<void> synchronize() const;
  const DeviceState &state() const { return *device; }

private:
  Stream(const DeviceState *state, StreamHandle stream) : device(state), stream(stream) {}
  const DeviceState *device;
  StreamHandle stream;
};

class Event {
public:
  /// Error: driver-call.
  static Expected<Event> create(const Device &device);
  Event(Event &&other) noexcept;
  Event &operator=(Event &&other) noexcept;
  ~Event();

  Expected<void> record(StreamHandle stream) const;
  /// Milliseconds from `earlier` to this event; waits for this event. Error: driver-call.
  Expected<float> elapsedMs(const Event &earlier) const;

private:
  Event(const DeviceState *state, CUevent_st *event) : device(state), event(event) {}
  const DeviceState *device;
  CUevent_st *event;
};

/// Work given to a stream, recorded once and launched many times without its launch costs.
class Graph {
public:
  /// Records what `body` gives to `stream` without running it. Errors: those of `body`,
  /// driver-call.
  static Expected<Graph> capture(const Device &device, const Stream &stream,
                                 const std::function<Expected<void>()> &body);
  Graph(Graph &&other) noexcept;
  Graph &operator=(Graph &&other) noexcept;
  ~Graph();

  Expected<void> launch(StreamHandle stream) const;

private:
  Graph(const DeviceState *state, CUgraphExec_st *graph) : device(state), graph(graph) {}
  const DeviceState *device;
  CUgraphExec_st *graph;
};

/// Runs `body` `warmup` times, then `repeats` times between two events each: milliseconds of each
/// repeat, in order. Errors: those of `body`, driver-call.
Expected<std::vector<float>> timeByEvents(const Device &device, StreamHandle stream, int warmup,
                                          int repeats, const std::function<Expected<void>()> &body);

} // namespace flashqla
