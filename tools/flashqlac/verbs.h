// The verbs with their options as plain structs. Each returns an ExitCode and has reported what is
// wrong.
#pragma once

#include "compiler/driver/compile.h"
#include "compiler/frontend/frontend.h"
#include "tools/flashqlac/cli.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flashqla::cli {

/// Which kernel, and what is decided when compiling it.
struct KernelOptions {
  std::string file;                 ///< "-" reads `in`
  std::string kernel;               ///< empty: the only one of the file
  std::vector<std::string> defines; ///< NAME=VALUE
  std::string arch = "sm_90a";
  std::string trace; ///< directory; empty: none
  bool allowSlow = false;
  bool noCache = false;
};

struct CompileOptions {
  KernelOptions kernel;
  std::string output; ///< .fqb, .cubin, .cu, or a directory; empty: none
  std::string emit;   ///< name of a stage; empty: none
  bool instrument = false;
};
int compileVerb(Context &context, const CompileOptions &options);

struct FormatOptions {
  std::vector<std::string> paths; ///< files and directories; "-" is a filter
  bool check = false;
};
int formatVerb(Context &context, const FormatOptions &options);

int checkVerb(Context &context, const std::vector<std::string> &paths, bool redundant);
int environmentVerb(Context &context);
/// An empty name lists all kinds.
int explainVerb(Context &context, std::string name);

int cacheListVerb(Context &context);
struct CollectOptions {
  std::uint64_t maxMegabytes = 1024;
  std::int64_t maxDays = 30;
};
int cacheCollectVerb(Context &context, const CollectOptions &options);
int cacheVerifyVerb(Context &context);
int cacheWhyVerb(Context &context, const KernelOptions &options);

/// Where `run` runs (target.h).
struct DeviceOptions {
  std::string name = "auto";
  unsigned threads = 0; ///< of the simulator; 0: one for each core
};

struct RunOptions {
  KernelOptions kernel;
  std::string inputs, outputs;      ///< safetensors
  std::vector<std::string> scalars; ///< NAME=VALUE
  std::vector<std::string> dims;    ///< NAME=VALUE
  DeviceOptions device;
};
int runVerb(Context &context, const RunOptions &options);

struct TraceOptions {
  KernelOptions kernel;
  std::vector<std::string> dims;   ///< NAME=VALUE
  std::vector<std::string> values; ///< NAME=VALUE of scalars and integer tensors
  std::size_t number = 1;          ///< of the `check` case
  std::int64_t block = 0;
  std::int64_t resident = 0;   ///< 0: what the kernel promises
  std::string output, svg;     ///< files; empty: none
  std::string costs;           ///< file; empty: those of an H200
  std::string device = "none"; ///< gpu: measured as well
};
int traceVerb(Context &context, const TraceOptions &options);

/// Of `run gdn.forward`. The numbers and types of the second half describe made inputs.
struct GdnOptions {
  std::string inputs, outputs; ///< safetensors; no inputs: made ones; no outputs: not kept
  std::string scale;           ///< empty: K^-1/2
  std::string stateLayout = "k-first";
  std::string gate = "log";
  bool sigmoidBeta = false;
  bool noFinalState = false;
  bool noCache = false;
  bool noRun = false;
  std::string bundles; ///< directory for the kernels; empty: not kept
  int valueBlock = 0;
  int repeat = 1;
  bool check = false;
  double tolerance = 0; ///< 0: that of the element type
  DeviceOptions device;

  int headsQk = 1, headsV = 1, dimK = 128, dimV = 128;
  std::string lengths = "1024";
  bool batch = false;
  bool initialState = false;
  std::string dtype = "bf16";
  std::uint64_t seed = 1;
};
int runGdnVerb(Context &context, const GdnOptions &options);

// ------------------------------------------------------------------------------ what verbs share

/// Reports an error; the exit code that fits its code.
int fail(Context &context, const Error &error);
/// Something worth knowing that is no mistake; for people only.
void note(Context &context, const std::string &text);
/// An error about the command line; its code is "usage".
Error usageError(std::string message);

/// Prints what a compile found, if anything.
void report(Context &context, const Diagnostics &diagnostics);

/// "1 file", "2 files".
std::string counted(std::size_t count, std::string_view noun);

/// A file with its text; "-" reads `in` and is called `<stdin>`.
struct Source {
  std::string name;
  std::string text;
};
/// Error: file-read.
Expected<Source> readSource(Context &context, const std::string &path);

/// The files among the paths, and the `.tile` files below the directories, sorted. Error:
/// file-read.
Expected<std::vector<std::string>> tileFiles(const std::vector<std::string> &paths);

/// "NAME=VALUE" in two. Error: usage; `option` names the flag in it.
struct Definition {
  std::string name, value;
};
Expected<std::vector<Definition>> parseDefinitions(const std::vector<std::string> &texts,
                                                   std::string_view option);
/// The values of -D. Error: usage.
Expected<frontend::Bindings> parseBindings(const std::vector<std::string> &texts);

/// A request with its source read and its bindings parsed. Errors: file-read, usage.
Expected<driver::CompileRequest> makeRequest(Context &context, const KernelOptions &options);

/// Compiles, reports, and writes a trace where `trace` names a directory. The exit code says
/// whether all stages up to the last one wanted were reached.
int compileAndReport(Context &context, driver::CompileRequest request, const std::string &trace,
                     driver::CompileResult &result);

} // namespace flashqla::cli
