// The driver's functions over the emulator: memory, modules, tensor maps, launches. Everything else
// is a function that records and does nothing, as in the tests of the runtime.
#include "tests/emulation/cta.h"
#include "tests/emulation/emulator.h"
#include "tests/emulation/global_memory.h"
#include "tests/emulation/host_code.h"
#include "tests/emulation/map_image.h"
#include "tests/emulation/violation.h"
#include "tests/unit/runtime_fake_driver.h"

#include <dlfcn.h>
#include <memory>

namespace flashqla::emulation {

namespace {

/// A loaded kernel; the handle of its module and of its function.
struct Module {
  Program program;
  void *library = nullptr;

  Module() = default;
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;
  ~Module() {
    if (library)
      dlclose(library);
  }
};

/// The driver's functions have no other way to find it.
struct State {
  GlobalMemory memory;
  Options options;
  std::string report; // of the last launch that failed
};

State &state() {
  static State instance;
  return instance;
}

CUresult load(CUmodule *handle, const void *image) {
  const std::optional<HostCode> code = HostCode::deserialize(static_cast<const char *>(image));
  auto module = std::make_unique<Module>();
  if (!code || !(module->library = dlopen(code->library.c_str(), RTLD_NOW | RTLD_LOCAL)))
    return CUDA_ERROR_INVALID_IMAGE;
  Program &program = module->program;
  program.kernel = reinterpret_cast<Program::Kernel>(dlsym(module->library, "fq_kernel"));
  program.machine = static_cast<Interface **>(dlsym(module->library, "fq_machine"));
  if (!program.kernel || !program.machine)
    return CUDA_ERROR_INVALID_IMAGE;
  program.names = SharedNames(code->cuda);
  program.source = sourceName(code->cuda);
  *handle = reinterpret_cast<CUmodule>(module.release());
  return CUDA_SUCCESS;
}

CUresult launch(const CUlaunchConfig *config, CUfunction function, void **parameters, void **) {
  try {
    const FaultGuard guard;
    Cta cta(reinterpret_cast<Module *>(function)->program, config->blockDimX,
            config->sharedMemBytes, state().memory, state().options);
    for (unsigned block = 0; block < config->gridDimX; ++block)
      cta.run(block, parameters);
  } catch (const std::exception &failure) {
    state().report = failure.what();
    return CUDA_ERROR_LAUNCH_FAILED;
  }
  return CUDA_SUCCESS;
}

DriverApi driver() {
  DriverApi api = testing::fakeDriver();
  api.getErrorName = [](CUresult status, const char **name) {
    *name = status == CUDA_ERROR_LAUNCH_FAILED   ? "CUDA_ERROR_LAUNCH_FAILED"
            : status == CUDA_ERROR_INVALID_IMAGE ? "CUDA_ERROR_INVALID_IMAGE"
            : status == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
                                                 : "CUDA_ERROR_INVALID_VALUE";
    return CUDA_SUCCESS;
  };
  api.getErrorString = [](CUresult status, const char **text) {
    *text =
        status == CUDA_ERROR_LAUNCH_FAILED ? state().report.c_str() : "not possible on the host";
    return CUDA_SUCCESS;
  };
  api.memAlloc = [](CUdeviceptr *pointer, size_t bytes) {
    *pointer = reinterpret_cast<CUdeviceptr>(state().memory.allocate(bytes));
    return *pointer ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  };
  api.memFree = [](CUdeviceptr pointer) {
    state().memory.release(reinterpret_cast<void *>(pointer));
    return CUDA_SUCCESS;
  };
  api.moduleLoadData = load;
  api.moduleUnload = [](CUmodule module) {
    delete reinterpret_cast<Module *>(module);
    return CUDA_SUCCESS;
  };
  api.moduleGetFunction = [](CUfunction *function, CUmodule module, const char *) {
    *function = reinterpret_cast<CUfunction>(module);
    return CUDA_SUCCESS;
  };
  api.tensorMapEncodeTiled = encodeMap;
  api.launchKernelEx = launch;
  return api;
}

} // namespace

Expected<Device> openDevice() { return Device::openWith(driver(), 0); }

Options &launchOptions() { return state().options; }

} // namespace flashqla::emulation
