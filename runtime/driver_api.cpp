#include "runtime/driver_api.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace flashqla {

namespace {

template <class Function> Function symbolOf(void *library, const char *name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

} // namespace

Expected<DriverApi> loadDriver(const std::string &library) {
  const std::string name = library.empty() ? "libcuda.so.1" : library;
  void *handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return Error{"driver-missing",
                 fmt::format("the CUDA driver was not found: {}", dlerror()),
                 {"compiling works without a GPU; running kernels needs an NVIDIA driver"}};
  const auto getProcAddress = symbolOf<PFN_cuGetProcAddress_v12000>(handle, "cuGetProcAddress_v2");
  const auto init = symbolOf<PFN_cuInit_v2000>(handle, "cuInit");
  if (!getProcAddress || !init)
    return Error{"driver-old",
                 fmt::format("{} has no {}: it is older than CUDA 12.0 or no CUDA driver", name,
                             init ? "cuGetProcAddress_v2" : "cuInit"),
                 {}};

  DriverApi api;
  // The link stub answers cuInit, and nothing after it: call it before anything is looked up.
  if (const CUresult status = init(0); status != CUDA_SUCCESS) {
    api.getErrorName = symbolOf<PFN_cuGetErrorName_v6000>(handle, "cuGetErrorName");
    return checkDriver(api, status, "cuInit").error();
  }
  // Never dlsym for what is missing here: plain names such as cuMemAlloc are an older ABI.
  CUdriverProcAddressQueryResult found;
#define FQ_LOAD(member, symbol, version)                                                           \
  if (getProcAddress(#symbol, reinterpret_cast<void **>(&api.member), version,                     \
                     CU_GET_PROC_ADDRESS_DEFAULT, &found) != CUDA_SUCCESS ||                       \
      !api.member)                                                                                 \
    return Error{"driver-old", fmt::format("{} has no {}", name, #symbol), {}};
  FQ_DRIVER_FUNCTIONS(FQ_LOAD)
#undef FQ_LOAD
  return api;
}

Expected<void> checkDriver(const DriverApi &api, CUresult status, const char *call) {
  if (status == CUDA_SUCCESS)
    return {};
  const char *name = nullptr, *description = nullptr;
  if (api.getErrorName)
    api.getErrorName(status, &name);
  if (api.getErrorString)
    api.getErrorString(status, &description);
  std::string message = fmt::format("{}: ", call);
  message += name ? std::string(name) : fmt::format("status {}", int(status));
  if (description)
    message += fmt::format(" ({})", description);
  return Error{"driver-call", std::move(message), {}};
}

} // namespace flashqla
