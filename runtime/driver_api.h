// The functions of the CUDA driver that the runtime calls, as a table of pointers.
//
// Nothing links libcuda: `loadDriver` opens it at run time, so that one binary runs with and
// without a driver. All calls go through a table, so that a test can fill one with functions that
// record what they got.
//
//     Expected<DriverApi> api = loadDriver("libcuda.so.1");
//     if (Expected<void> done = checkDriver(*api, api->ctxSynchronize(), "cuCtxSynchronize");
//     !done)
//       return done.error();
//
// This header needs cuda.h: for .cpp files of the runtime and its tests only.
#pragma once

#include "flashqla/error.h"

#include <cuda.h>
#include <cudaTypedefs.h>
#include <string>

namespace flashqla {

/// X(member, symbol, version): the symbol is asked of cuGetProcAddress with the version of its PFN
/// type.
#define FQ_DRIVER_FUNCTIONS(X)                                                                     \
  X(getErrorName, cuGetErrorName, 6000)                                                            \
  X(getErrorString, cuGetErrorString, 6000)                                                        \
  X(driverGetVersion, cuDriverGetVersion, 2020)                                                    \
  X(deviceGet, cuDeviceGet, 2000)                                                                  \
  X(deviceGetCount, cuDeviceGetCount, 2000)                                                        \
  X(deviceGetName, cuDeviceGetName, 2000)                                                          \
  X(deviceGetAttribute, cuDeviceGetAttribute, 2000)                                                \
  X(deviceTotalMem, cuDeviceTotalMem, 3020)                                                        \
  X(primaryCtxRetain, cuDevicePrimaryCtxRetain, 7000)                                              \
  X(primaryCtxRelease, cuDevicePrimaryCtxRelease, 11000)                                           \
  X(ctxGetCurrent, cuCtxGetCurrent, 4000)                                                          \
  X(ctxSetCurrent, cuCtxSetCurrent, 4000)                                                          \
  X(ctxPushCurrent, cuCtxPushCurrent, 4000)                                                        \
  X(ctxPopCurrent, cuCtxPopCurrent, 4000)                                                          \
  X(ctxGetDevice, cuCtxGetDevice, 2000)                                                            \
  X(ctxSynchronize, cuCtxSynchronize, 2000)                                                        \
  X(moduleLoadData, cuModuleLoadData, 2000)                                                        \
  X(moduleUnload, cuModuleUnload, 2000)                                                            \
  X(moduleGetFunction, cuModuleGetFunction, 2000)                                                  \
  X(funcSetAttribute, cuFuncSetAttribute, 9000)                                                    \
  X(memAlloc, cuMemAlloc, 3020)                                                                    \
  X(memFree, cuMemFree, 3020)                                                                      \
  X(memcpyHtoD, cuMemcpyHtoD, 3020)                                                                \
  X(memcpyDtoH, cuMemcpyDtoH, 3020)                                                                \
  X(memsetD8, cuMemsetD8, 3020)                                                                    \
  X(memAllocHost, cuMemAllocHost, 3020)                                                            \
  X(memFreeHost, cuMemFreeHost, 2000)                                                              \
  X(streamCreate, cuStreamCreate, 2000)                                                            \
  X(streamDestroy, cuStreamDestroy, 4000)                                                          \
  X(streamSynchronize, cuStreamSynchronize, 2000)                                                  \
  X(streamBeginCapture, cuStreamBeginCapture, 10010)                                               \
  X(streamEndCapture, cuStreamEndCapture, 10000)                                                   \
  X(eventCreate, cuEventCreate, 2000)                                                              \
  X(eventDestroy, cuEventDestroy, 4000)                                                            \
  X(eventRecord, cuEventRecord, 2000)                                                              \
  X(eventSynchronize, cuEventSynchronize, 2000)                                                    \
  X(eventElapsedTime, cuEventElapsedTime, 2000)                                                    \
  X(graphInstantiate, cuGraphInstantiateWithFlags, 11040)                                          \
  X(graphDestroy, cuGraphDestroy, 10000)                                                           \
  X(graphExecDestroy, cuGraphExecDestroy, 10000)                                                   \
  X(graphLaunch, cuGraphLaunch, 10000)                                                             \
  X(launchKernelEx, cuLaunchKernelEx, 11060)                                                       \
  X(tensorMapEncodeTiled, cuTensorMapEncodeTiled, 12000)

struct DriverApi {
#define FQ_DECLARE(member, symbol, version) PFN_##symbol##_v##version member = nullptr;
  FQ_DRIVER_FUNCTIONS(FQ_DECLARE)
#undef FQ_DECLARE
};

/// Opens the library (empty: "libcuda.so.1"), initialises the driver and fills the table. The
/// library stays open. Errors: driver-missing (no such library), driver-old (a function is
/// missing), driver-call (cuInit).
Expected<DriverApi> loadDriver(const std::string &library);

/// Success, or driver-call with the name and the description of the status: "cuMemAlloc: …".
Expected<void> checkDriver(const DriverApi &api, CUresult status, const char *call);

} // namespace flashqla
