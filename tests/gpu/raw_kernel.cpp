#include "tests/gpu/raw_kernel.h"

#include "runtime/device_state.h"

#include <fmt/format.h>
#include <fstream>
#include <sstream>

namespace flashqla {

namespace {

const DeviceState &state() { return Gpu::instance().device->state(); }

} // namespace

std::string bundleFile(const std::string &name) {
  const std::string path = Gpu::instance().bundles + "/" + name;
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw std::runtime_error(path + " is missing: compile_gpu_cuda makes it");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

RawModule::RawModule(const std::string &name) {
  const std::string cubin = bundleFile(name + ".cubin");
  const ContextScope scope(state());
  must(state().check(state().api.moduleLoadData(&module, cubin.data()), "cuModuleLoadData"));
}

RawModule::~RawModule() {
  const ContextScope scope(state());
  state().api.moduleUnload(module);
}

void RawModule::launchWith(const std::string &entry, LaunchShape shape, void **parameters) const {
  const DriverApi &api = state().api;
  const ContextScope scope(state());
  CUfunction function = nullptr;
  must(state().check(api.moduleGetFunction(&function, module, entry.c_str()), entry.c_str()));
  must(state().check(api.funcSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                          static_cast<int>(shape.shared)),
                     entry.c_str()));
  CUlaunchConfig config = {};
  config.gridDimX = shape.blocks;
  config.blockDimX = shape.threads;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = shape.shared;
  must(state().check(api.launchKernelEx(&config, function, parameters, nullptr), entry.c_str()));
  must(state().check(api.ctxSynchronize(), entry.c_str()));
}

CUtensorMap encodeMap(void *memory, const MapShape &shape) {
  CUtensorMap map;
  const std::vector<std::uint32_t> steps(shape.extents.size(), 1);
  must(state().check(state().api.tensorMapEncodeTiled(
                         &map, shape.type, static_cast<unsigned>(shape.extents.size()), memory,
                         shape.extents.data(), shape.strides.data(), shape.box.data(), steps.data(),
                         CU_TENSOR_MAP_INTERLEAVE_NONE, shape.swizzle,
                         CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
                     "cuTensorMapEncodeTiled"));
  return map;
}

} // namespace flashqla
