#include "tools/bench/cublas.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <optional>
#include <vector>

namespace flashqla::bench {

namespace {

// cublas_api.h and library_types.h.
constexpr int opNone = 0, opTranspose = 1, typeBf16 = 14, compute32f = 68, defaultAlgorithm = -1;
constexpr std::size_t workspaceBytes = 32 << 20; // what PyTorch gives it on Hopper

Expected<void> check(int status, const char *call) {
  if (status == 0)
    return {};
  return Error{"cublas-call", fmt::format("{} failed with status {}", call, status), {}};
}

} // namespace

struct Cublas::Library {
  void *handle = nullptr; // of dlopen
  void *context = nullptr;
  std::optional<DeviceBuffer> workspace;
  int (*create)(void **) = nullptr;
  int (*destroy)(void *) = nullptr;
  int (*getVersion)(void *, int *) = nullptr;
  int (*setStream)(void *, StreamHandle) = nullptr;
  int (*setWorkspace)(void *, void *, std::size_t) = nullptr;
  int (*gemmEx)(void *, int, int, int, int, int, const void *, const void *, int, int, const void *,
                int, int, const void *, void *, int, int, int, int) = nullptr;

  ~Library() {
    if (context)
      destroy(context);
  }

  bool load(const char *name) {
    handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      return false;
    auto find = [this](auto &function, const char *symbol) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, symbol));
      return function != nullptr;
    };
    return find(create, "cublasCreate_v2") && find(destroy, "cublasDestroy_v2") &&
           find(getVersion, "cublasGetVersion_v2") && find(setStream, "cublasSetStream_v2") &&
           find(setWorkspace, "cublasSetWorkspace_v2") && find(gemmEx, "cublasGemmEx");
  }
};

Cublas::Cublas(std::unique_ptr<Library> library) : library(std::move(library)) {}
Cublas::Cublas(Cublas &&) noexcept = default;
Cublas::~Cublas() = default;

Expected<Cublas> Cublas::open(const Device &device, const std::string &name) {
  std::vector<std::string> names = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"};
  if (!name.empty())
    names = {name};
  auto library = std::make_unique<Library>();
  bool found = false;
  for (std::size_t i = 0; i < names.size() && !found; ++i)
    found = library->load(names[i].c_str());
  if (!found) {
    const char *reason = dlerror();
    return Error{"cublas-missing",
                 fmt::format("no cuBLAS library: {}", reason ? reason : "a function is missing"),
                 {}};
  }
  if (auto done = check(library->create(&library->context), "cublasCreate"); !done)
    return std::move(done).error();
  Expected<DeviceBuffer> workspace = DeviceBuffer::allocate(device, workspaceBytes);
  if (!workspace)
    return std::move(workspace).error();
  library->workspace.emplace(std::move(*workspace));
  return Cublas(std::move(library));
}

int Cublas::version() const {
  int version = 0;
  library->getVersion(library->context, &version);
  return version;
}

Expected<void> Cublas::gemmNt(StreamHandle stream, const void *a, const void *b, void *c,
                              std::int64_t m, std::int64_t n, std::int64_t k) const {
  if (auto done = check(library->setStream(library->context, stream), "cublasSetStream"); !done)
    return done;
  // Setting a stream resets the workspace.
  if (auto done =
          check(library->setWorkspace(library->context, library->workspace->data(), workspaceBytes),
                "cublasSetWorkspace");
      !done)
    return done;
  // cuBLAS is column-major: there Cᵀ [n, m] = B · Aᵀ, and B [n, k] row-major is its transpose.
  const float one = 1, zero = 0;
  const auto rows = static_cast<int>(n), columns = static_cast<int>(m), depth = static_cast<int>(k);
  return check(library->gemmEx(library->context, opTranspose, opNone, rows, columns, depth, &one, b,
                               typeBf16, depth, a, typeBf16, depth, &zero, c, typeBf16, rows,
                               compute32f, defaultAlgorithm),
               "cublasGemmEx");
}

} // namespace flashqla::bench
