// What `Device` owns and everything made from it points to.
#pragma once

#include "flashqla/device.h"
#include "runtime/driver_api.h"

namespace flashqla {

class Executor;

struct DeviceState {
  DriverApi api;
  Executor *executor = nullptr; // runs the kernels in the place of a GPU
  CUdevice device = 0;
  CUcontext context = nullptr;
  bool retained = false; // the primary context is ours to release
  DeviceProperties properties;

  Expected<void> check(CUresult status, const char *call) const {
    return checkDriver(api, status, call);
  }
};

/// Makes the device's context current while it lives, for threads that have none or another one.
class ContextScope {
public:
  explicit ContextScope(const DeviceState &state) : state(state) {
    CUcontext current = nullptr;
    if (state.api.ctxGetCurrent(&current) != CUDA_SUCCESS || current != state.context)
      pushed = state.api.ctxPushCurrent(state.context) == CUDA_SUCCESS;
  }
  ~ContextScope() {
    CUcontext popped = nullptr;
    if (pushed)
      state.api.ctxPopCurrent(&popped);
  }
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;

private:
  const DeviceState &state;
  bool pushed = false;
};

} // namespace flashqla
