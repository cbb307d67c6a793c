// A driver table that records what it is called with: argument checks, parameter packing and tensor
// maps are tested with it on any machine. It says nothing about what a GPU does.
#pragma once

#include "runtime/driver_api.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace flashqla::testing {

struct RecordedMap {
  CUtensorMapDataType type;
  unsigned rank;
  void *address;
  std::vector<std::uint64_t> extents, strides;
  std::vector<std::uint32_t> box;
  CUtensorMapSwizzle swizzle;
  CUtensorMapL2promotion promotion;
  CUtensorMapFloatOOBfill fill;
};

struct RecordedLaunch {
  CUlaunchConfig config;
  bool dependent;
  std::vector<std::string> params; // bytes, of the sizes in Recorder::paramBytes
};

struct Recorder {
  std::vector<std::size_t> paramBytes; // set by the test: what the CUDA function takes
  std::vector<RecordedMap> maps;
  std::vector<RecordedLaunch> launches;
  int maxDynamicShared = -1;
  std::string entry;
  int liveAllocations = 0; // device, pinned, modules, streams, events, graphs, contexts
  int contextPushes = 0;
  int major = 9, minor = 0;
  CUcontext current = nullptr;
  CUresult moduleStatus = CUDA_SUCCESS;
  CUresult encodeStatus = CUDA_SUCCESS;
};

/// The recorder of the running test; the driver's functions have no other way to find it.
inline Recorder recorder;

inline CUcontext primaryContext() { return reinterpret_cast<CUcontext>(0x1000); }

inline void fillDeviceFunctions(DriverApi &api) {
  api.getErrorName = [](CUresult status, const char **name) {
    *name = status == CUDA_ERROR_INVALID_IMAGE ? "CUDA_ERROR_INVALID_IMAGE"
                                               : "CUDA_ERROR_INVALID_VALUE";
    return CUDA_SUCCESS;
  };
  api.getErrorString = [](CUresult, const char **text) {
    *text = "as the test asked";
    return CUDA_SUCCESS;
  };
  api.driverGetVersion = [](int *version) { return *version = 13000, CUDA_SUCCESS; };
  api.deviceGet = [](CUdevice *device, int index) { return *device = index, CUDA_SUCCESS; };
  api.deviceGetCount = [](int *count) { return *count = 2, CUDA_SUCCESS; };
  api.deviceGetName = [](char *name, int, CUdevice) {
    std::strcpy(name, "Test GPU");
    return CUDA_SUCCESS;
  };
  api.deviceTotalMem = [](size_t *bytes, CUdevice) { return *bytes = 1 << 30, CUDA_SUCCESS; };
  api.deviceGetAttribute = [](int *value, CUdevice_attribute attribute, CUdevice) {
    *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? recorder.major
             : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? recorder.minor
             : attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT     ? 132
                                                                         : 227 * 1024;
    return CUDA_SUCCESS;
  };
  api.primaryCtxRetain = [](CUcontext *context, CUdevice) {
    ++recorder.liveAllocations;
    return *context = primaryContext(), CUDA_SUCCESS;
  };
  api.primaryCtxRelease = [](CUdevice) { return --recorder.liveAllocations, CUDA_SUCCESS; };
  api.ctxGetCurrent = [](CUcontext *context) { return *context = recorder.current, CUDA_SUCCESS; };
  api.ctxSetCurrent = [](CUcontext context) { return recorder.current = context, CUDA_SUCCESS; };
  api.ctxPushCurrent = [](CUcontext) { return ++recorder.contextPushes, CUDA_SUCCESS; };
  api.ctxPopCurrent = [](CUcontext *) { return CUDA_SUCCESS; };
  api.ctxGetDevice = [](CUdevice *device) { return *device = 1, CUDA_SUCCESS; };
  api.ctxSynchronize = [] { return CUDA_SUCCESS; };
  api.memAlloc = [](CUdeviceptr *pointer, size_t bytes) {
    *pointer = reinterpret_cast<CUdeviceptr>(::operator new(bytes, std::align_val_t(256)));
    return ++recorder.liveAllocations, CUDA_SUCCESS;
  };
  api.memFree = [](CUdeviceptr pointer) {
    ::operator delete(reinterpret_cast<void *>(pointer), std::align_val_t(256));
    return --recorder.liveAllocations, CUDA_SUCCESS;
  };
  api.memcpyHtoD = [](CUdeviceptr target, const void *source, size_t bytes) {
    return std::memcpy(reinterpret_cast<void *>(target), source, bytes), CUDA_SUCCESS;
  };
  api.memcpyDtoH = [](void *target, CUdeviceptr source, size_t bytes) {
    return std::memcpy(target, reinterpret_cast<void *>(source), bytes), CUDA_SUCCESS;
  };
  api.memsetD8 = [](CUdeviceptr pointer, unsigned char value, size_t bytes) {
    return std::memset(reinterpret_cast<void *>(pointer), value, bytes), CUDA_SUCCESS;
  };
  api.memAllocHost = [](void **pointer, size_t bytes) {
    return *pointer = ::operator new(bytes), ++recorder.liveAllocations, CUDA_SUCCESS;
  };
  api.memFreeHost = [](void *pointer) {
    return ::operator delete(pointer), --recorder.liveAllocations, CUDA_SUCCESS;
  };
}

inline void fillStreamFunctions(DriverApi &api) {
  api.streamCreate = [](CUstream *stream, unsigned) {
    return *stream = reinterpret_cast<CUstream>(0x2000), ++recorder.liveAllocations, CUDA_SUCCESS;
  };
  api.streamDestroy = [](CUstream) { return --recorder.liveAllocations, CUDA_SUCCESS; };
  api.streamSynchronize = [](CUstream) { return CUDA_SUCCESS; };
  api.streamBeginCapture = [](CUstream, CUstreamCaptureMode) { return CUDA_SUCCESS; };
  api.streamEndCapture = [](CUstream, CUgraph *graph) {
    return *graph = reinterpret_cast<CUgraph>(0x3000), ++recorder.liveAllocations, CUDA_SUCCESS;
  };
  api.eventCreate = [](CUevent *event, unsigned) {
    return *event = reinterpret_cast<CUevent>(0x4000), ++recorder.liveAllocations, CUDA_SUCCESS;
  };
  api.eventDestroy = [](CUevent) { return --recorder.liveAllocations, CUDA_SUCCESS; };
  api.eventRecord = [](CUevent, CUstream) { return CUDA_SUCCESS; };
  api.eventSynchronize = [](CUevent) { return CUDA_SUCCESS; };
  api.eventElapsedTime = [](float *ms, CUevent, CUevent) { return *ms = 0.5f, CUDA_SUCCESS; };
  api.graphInstantiate = [](CUgraphExec *graph, CUgraph, unsigned long long) {
    return *graph = reinterpret_cast<CUgraphExec>(0x5000), ++recorder.liveAllocations, CUDA_SUCCESS;
  };
  api.graphDestroy = [](CUgraph) { return --recorder.liveAllocations, CUDA_SUCCESS; };
  api.graphExecDestroy = [](CUgraphExec) { return --recorder.liveAllocations, CUDA_SUCCESS; };
  api.graphLaunch = [](CUgraphExec, CUstream) { return CUDA_SUCCESS; };
}

inline void fillLaunchFunctions(DriverApi &api) {
  api.moduleLoadData = [](CUmodule *module, const void *) {
    if (recorder.moduleStatus == CUDA_SUCCESS) {
      *module = reinterpret_cast<CUmodule>(0x6000);
      ++recorder.liveAllocations;
    }
    return recorder.moduleStatus;
  };
  api.moduleUnload = [](CUmodule) { return --recorder.liveAllocations, CUDA_SUCCESS; };
  api.moduleGetFunction = [](CUfunction *function, CUmodule, const char *name) {
    recorder.entry = name;
    return *function = reinterpret_cast<CUfunction>(0x7000), CUDA_SUCCESS;
  };
  api.funcSetAttribute = [](CUfunction, CUfunction_attribute, int value) {
    return recorder.maxDynamicShared = value, CUDA_SUCCESS;
  };
  api.tensorMapEncodeTiled = [](CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                void *address, const cuuint64_t *extents, const cuuint64_t *strides,
                                const cuuint32_t *box, const cuuint32_t *, CUtensorMapInterleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                CUtensorMapFloatOOBfill fill) {
    recorder.maps.push_back({type,
                             rank,
                             address,
                             {extents, extents + rank},
                             {strides, strides + rank - 1},
                             {box, box + rank},
                             swizzle,
                             promotion,
                             fill});
    std::memset(map, int(recorder.maps.size()), sizeof *map); // tells which encode made it
    return recorder.encodeStatus;
  };
  api.launchKernelEx = [](const CUlaunchConfig *config, CUfunction, void **params, void **) {
    RecordedLaunch launch{*config, config->numAttrs == 1, {}};
    for (std::size_t i = 0; i < recorder.paramBytes.size(); ++i)
      launch.params.emplace_back(static_cast<const char *>(params[i]), recorder.paramBytes[i]);
    recorder.launches.push_back(std::move(launch));
    return CUDA_SUCCESS;
  };
}

inline DriverApi fakeDriver() {
  DriverApi api;
  fillDeviceFunctions(api);
  fillStreamFunctions(api);
  fillLaunchFunctions(api);
  return api;
}

} // namespace flashqla::testing
