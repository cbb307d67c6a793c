#include "runtime/host_driver.h"

#include <chrono>
#include <cstdlib>
#include <cstring>

namespace flashqla {

namespace {

using Time = std::chrono::steady_clock::time_point;

/// What cuMemAlloc promises, and more than a tensor map needs.
constexpr std::size_t alignment = 256;

/// Not a number in every float type: what is read before it is written shows in the results.
constexpr int poison = 0xff;

void *allocate(std::size_t bytes) {
  void *memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory)
    std::memset(memory, poison, bytes);
  return memory;
}

CUresult errorName(CUresult status, const char **name) {
  *name = status == CUDA_ERROR_OUT_OF_MEMORY   ? "CUDA_ERROR_OUT_OF_MEMORY"
          : status == CUDA_ERROR_NOT_SUPPORTED ? "CUDA_ERROR_NOT_SUPPORTED"
                                               : "CUDA_ERROR_UNKNOWN";
  return CUDA_SUCCESS;
}

void fillMemory(DriverApi &api) {
  api.memAlloc = [](CUdeviceptr *pointer, std::size_t bytes) {
    *pointer = reinterpret_cast<CUdeviceptr>(allocate(bytes));
    return *pointer ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  };
  api.memFree = [](CUdeviceptr pointer) {
    return std::free(reinterpret_cast<void *>(pointer)), CUDA_SUCCESS;
  };
  api.memcpyHtoD = [](CUdeviceptr target, const void *source, std::size_t bytes) {
    return std::memcpy(reinterpret_cast<void *>(target), source, bytes), CUDA_SUCCESS;
  };
  api.memcpyDtoH = [](void *target, CUdeviceptr source, std::size_t bytes) {
    return std::memcpy(target, reinterpret_cast<const void *>(source), bytes), CUDA_SUCCESS;
  };
  api.memsetD8 = [](CUdeviceptr pointer, unsigned char value, std::size_t bytes) {
    return std::memset(reinterpret_cast<void *>(pointer), value, bytes), CUDA_SUCCESS;
  };
  api.memAllocHost = [](void **pointer, std::size_t bytes) {
    *pointer = allocate(bytes);
    return *pointer ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  };
  api.memFreeHost = [](void *pointer) { return std::free(pointer), CUDA_SUCCESS; };
  api.tensorMapEncodeTiled = [](CUtensorMap *map, auto...) { return *map = {}, CUDA_SUCCESS; };
}

void fillStreams(DriverApi &api) {
  api.streamCreate = [](CUstream *stream, unsigned) { return *stream = nullptr, CUDA_SUCCESS; };
  api.streamDestroy = [](CUstream) { return CUDA_SUCCESS; };
  api.streamSynchronize = [](CUstream) { return CUDA_SUCCESS; };
  api.streamBeginCapture = [](CUstream, CUstreamCaptureMode) { return CUDA_ERROR_NOT_SUPPORTED; };
  api.eventCreate = [](CUevent *event, unsigned) {
    return *event = reinterpret_cast<CUevent>(new Time()), CUDA_SUCCESS;
  };
  api.eventDestroy = [](CUevent event) {
    return delete reinterpret_cast<Time *>(event), CUDA_SUCCESS;
  };
  api.eventRecord = [](CUevent event, CUstream) {
    return *reinterpret_cast<Time *>(event) = std::chrono::steady_clock::now(), CUDA_SUCCESS;
  };
  api.eventSynchronize = [](CUevent) { return CUDA_SUCCESS; };
  api.eventElapsedTime = [](float *milliseconds, CUevent from, CUevent to) {
    const auto elapsed = *reinterpret_cast<Time *>(to) - *reinterpret_cast<Time *>(from);
    *milliseconds = std::chrono::duration<float, std::milli>(elapsed).count();
    return CUDA_SUCCESS;
  };
}

} // namespace

DriverApi hostDriver() {
  DriverApi api;
  api.getErrorName = errorName;
  // There is no context, which is the current one in every thread.
  api.ctxGetCurrent = [](CUcontext *context) { return *context = nullptr, CUDA_SUCCESS; };
  api.ctxSynchronize = [] { return CUDA_SUCCESS; };
  fillMemory(api);
  fillStreams(api);
  return api;
}

} // namespace flashqla
