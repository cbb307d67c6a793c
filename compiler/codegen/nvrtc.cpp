#include "compiler/codegen/nvrtc.h"

#include <fmt/format.h>

#include <dlfcn.h>
#include <filesystem>
#include <map>
#include <mutex>
#include <regex>
#include <sstream>

namespace flashqla::codegen {

/// nvrtc.h, as far as it is used; declared here so that building needs no CUDA headers.
struct Nvrtc::Functions {
  using Program = struct ProgramTag *;
  int (*version)(int *major, int *minor);
  int (*createProgram)(Program *program, const char *text, const char *name, int headers, const char *const *sources,
                       const char *const *includeNames);
  int (*destroyProgram)(Program *program);
  int (*compileProgram)(Program program, int count, const char *const *options);
  int (*getLogSize)(Program program, size_t *bytes);
  int (*getLog)(Program program, char *log);
  int (*getCubinSize)(Program program, size_t *bytes);
  int (*getCubin)(Program program, char *cubin);
  int (*getPtxSize)(Program program, size_t *bytes);
  int (*getPtx)(Program program, char *ptx);
  const char *(*errorString)(int result);
};

namespace {

constexpr int compilationError = 6; // NVRTC_ERROR_COMPILATION

std::string fetch(int (*size)(struct ProgramTag *, size_t *), int (*get)(struct ProgramTag *, char *),
                  struct ProgramTag *program) {
  size_t bytes = 0;
  if (size(program, &bytes) != 0 || bytes == 0)
    return {};
  std::string text(bytes, '\0');
  get(program, text.data());
  return text;
}

std::string withoutNul(std::string text) {
  while (!text.empty() && text.back() == '\0')
    text.pop_back();
  return text;
}

/// NVRTC asks the loader for its builtins by their name alone. Where it was itself found by a path, they lie beside it,
/// and a library that is loaded already is found by its name.
void openBuiltins(const std::string &library) {
  std::error_code error;
  std::filesystem::directory_iterator item(std::filesystem::path(library).parent_path(), error), end;
  for (; !error && item != end; item.increment(error))
    if (item->path().filename().string().starts_with("libnvrtc-builtins.so."))
      dlopen(item->path().c_str(), RTLD_NOW | RTLD_LOCAL);
}

void *openLibrary(const std::string &path, std::string &found, std::string &failure) {
  std::vector<std::string> candidates;
  if (!path.empty())
    candidates.push_back(path);
  else
    candidates = {"libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so.13",
                  "/usr/local/cuda/lib64/libnvrtc.so.12"};
  for (const std::string &candidate : candidates) {
    if (void *library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      found = candidate;
      if (candidate.find('/') != std::string::npos)
        openBuiltins(candidate);
      return library;
    }
    if (failure.empty())
      failure = dlerror();
  }
  return nullptr;
}

/// `.tile` lines by line of the PTX: what the last `.loc` before it says.
std::vector<int> tileLines(const std::string &ptx) {
  std::vector<int> lines{0};
  std::istringstream stream(ptx);
  std::string text;
  int current = 0;
  while (std::getline(stream, text)) {
    int file = 0, line = 0;
    if (size_t at = text.find(".loc"); at != std::string::npos &&
                                       std::sscanf(text.c_str() + at, ".loc %d %d", &file, &line) == 2 && line > 0)
      current = line;
    lines.push_back(current);
  }
  return lines;
}

} // namespace

const std::vector<std::string> &Nvrtc::flags() {
  // -lineinfo costs nothing at run time and lets profilers and the log's line numbers find the `.tile` line.
  static const std::vector<std::string> options = {"--std=c++20",         "-default-device",
                                                   "-lineinfo",           "--ptxas-options=-v",
                                                   "--ptxas-options=--warn-on-spills", "-diag-suppress=177,550"};
  return options;
}

Expected<Nvrtc> Nvrtc::open(const std::string &path) {
  static std::mutex mutex;
  static std::map<std::string, Nvrtc> opened;
  std::scoped_lock lock(mutex);
  if (auto found = opened.find(path); found != opened.end())
    return found->second;
  std::string name, failure;
  void *library = openLibrary(path, name, failure);
  if (!library)
    return Error{"nvrtc-missing",
                 "NVRTC, which turns CUDA text into machine code, was not found: " + failure,
                 {"install the CUDA toolkit 12.8 or newer, or the PyPI package nvidia-cuda-nvrtc, and name its "
                  "libnvrtc.so in FLASHQLA_LIBNVRTC"}};
  auto functions = std::make_unique<Functions>();
  bool complete = true;
  auto bind = [&](auto &function, const char *symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
    complete &= function != nullptr;
  };
  bind(functions->version, "nvrtcVersion");
  bind(functions->createProgram, "nvrtcCreateProgram");
  bind(functions->destroyProgram, "nvrtcDestroyProgram");
  bind(functions->compileProgram, "nvrtcCompileProgram");
  bind(functions->getLogSize, "nvrtcGetProgramLogSize");
  bind(functions->getLog, "nvrtcGetProgramLog");
  bind(functions->getCubinSize, "nvrtcGetCUBINSize");
  bind(functions->getCubin, "nvrtcGetCUBIN");
  bind(functions->getPtxSize, "nvrtcGetPTXSize");
  bind(functions->getPtx, "nvrtcGetPTX");
  bind(functions->errorString, "nvrtcGetErrorString");
  int major = 0, minor = 0;
  if (!complete || functions->version(&major, &minor) != 0)
    return Error{"nvrtc-missing", fmt::format("{} is not an NVRTC library that this program can use", name), {}};
  if (major < 12 || (major == 12 && minor < 8))
    return Error{"nvrtc-missing", fmt::format("{} is NVRTC {}.{}; 12.8 or newer is needed", name, major, minor), {}};
  Nvrtc nvrtc;
  nvrtc.functions = functions.release();
  nvrtc.versionText = fmt::format("{}.{} ({})", major, minor, name);
  opened.emplace(path, nvrtc);
  return nvrtc;
}

Expected<CompiledCuda> Nvrtc::compile(const std::string &text, const std::string &name, const std::string &arch) const {
  Functions::Program program = nullptr;
  if (int status = functions->createProgram(&program, text.c_str(), name.c_str(), 0, nullptr, nullptr))
    return Error{"nvrtc-failed", fmt::format("NVRTC: {}", functions->errorString(status)), {}};
  std::string archOption = "--gpu-architecture=" + arch;
  std::vector<const char *> options{archOption.c_str()};
  for (const std::string &flag : flags())
    options.push_back(flag.c_str());
  int status = functions->compileProgram(program, static_cast<int>(options.size()), options.data());
  CompiledCuda result;
  result.log = withoutNul(fetch(functions->getLogSize, functions->getLog, program));
  if (status == 0) {
    result.ptx = withoutNul(fetch(functions->getPtxSize, functions->getPtx, program));
    result.cubin = fetch(functions->getCubinSize, functions->getCubin, program);
  }
  functions->destroyProgram(&program);
  if (status != 0 && status != compilationError)
    return Error{"nvrtc-failed", fmt::format("NVRTC: {}", functions->errorString(status)), {result.log}};
  readLog(result);
  if (status != 0 && result.errors.empty())
    result.errors.push_back({"", 0, result.log});
  return result;
}

void readLog(CompiledCuda &result) {
  static const std::regex resources(R"(Used (\d+) registers)"), code(R"(\((C7\d{3})\))"),
      spills(R"((\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads)"),
      place(R"(^(.*)\((\d+)\): (?:catastrophic )?error: (.*)$)"), ptxLine(R"(line (\d+))"),
      assembler(R"(^ptxas.*\b(?:error|fatal) *: )");
  std::vector<int> lines = tileLines(result.ptx);
  std::istringstream stream(result.log);
  std::string text;
  std::smatch match;
  while (std::getline(stream, text)) {
    if (std::regex_search(text, match, resources)) {
      result.registers = std::stoi(match[1]);
    } else if (std::regex_search(text, match, spills)) {
      result.stackBytes = std::stoi(match[1]);
      result.spillStoreBytes = std::stoi(match[2]);
      result.spillLoadBytes = std::stoi(match[3]);
    } else if (std::regex_search(text, match, place)) {
      result.errors.push_back({match[1], std::stoi(match[2]), match[3]});
    } else if (std::regex_search(text, match, code) || text.find("Potential Performance Loss") != std::string::npos) {
      Advisory advisory{match.empty() ? "" : match[1].str(), text, 0};
      if (std::regex_search(text, match, ptxLine))
        if (size_t line = std::stoul(match[1]); line < lines.size())
          advisory.line = lines[line];
      result.advisories.push_back(std::move(advisory));
    } else if (std::regex_search(text, assembler)) { // not every line with "error": kernels have names
      result.errors.push_back({"", 0, text});
    }
  }
}

} // namespace flashqla::codegen
