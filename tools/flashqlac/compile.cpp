#include "runtime/files.h"
#include "runtime/manifest.h"
#include "tools/flashqlac/verbs.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <ostream>
#include <string>

namespace flashqla::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view stageNames =
    "tokens, ast, tile, layouts, schedule, lowered, cuda, ptx, cubin, manifest";

bool isDirectoryName(const std::string &path) {
  std::error_code error;
  return path.ends_with('/') || fs::is_directory(path, error);
}

/// "gemm_nt.BM128-BN256.fqb": the kernel, then what -D gives.
std::string defaultName(const Manifest &manifest, const driver::CompileRequest &request) {
  std::string name = manifest.kernel;
  char separator = '.';
  for (const auto &[key, value] : request.bindings) {
    name += separator + key + frontend::constantText(value);
    separator = '-';
  }
  return name + ".fqb";
}

Expected<void> writeOutput(const std::string &path, const Bundle &bundle) {
  if (path.ends_with(".fqb"))
    return bundle.write(path);
  return writeFile(path, path.ends_with(".cubin") ? bundle.cubin : bundle.cuda);
}

/// "gemm_nt for sm_90a: 384 threads, 168 registers, 167936 bytes of shared memory, no spills,
/// compiled in 310 ms".
std::string resourceLine(const Manifest &manifest, const driver::CompileResult &result) {
  const KernelResources &used = manifest.resources;
  const std::string spills = used.spillStoreBytes + used.spillLoadBytes == 0
                                 ? "no spills"
                                 : fmt::format("spills of {} bytes stored and {} loaded",
                                               used.spillStoreBytes, used.spillLoadBytes);
  const std::string origin =
      result.cached
          ? fmt::format("from the cache ({:.0f} ms when it was compiled)", manifest.compileMs)
          : fmt::format("compiled in {:.0f} ms", result.milliseconds);
  return fmt::format("{} for {}: {} threads, {} registers, {} bytes of shared memory, {}, {}",
                     manifest.kernel, manifest.arch, manifest.blockThreads, used.registers,
                     used.staticSharedBytes + manifest.dynamicSharedBytes, spills, origin);
}

Expected<void> checkOutputName(const CompileOptions &options) {
  const std::string &path = options.output;
  if (path.empty() || !options.emit.empty() || isDirectoryName(path) || path.ends_with(".fqb") ||
      path.ends_with(".cubin") || path.ends_with(".cu"))
    return {};
  return usageError(
      fmt::format("-o {}: the name says what to write: .fqb (bundle), .cubin, .cu, or "
                  "a directory for a bundle named after the kernel",
                  path));
}

int emitStage(Context &context, const CompileOptions &options, driver::CompileRequest request) {
  const std::optional<driver::Stage> stage = driver::stageNamed(options.emit);
  if (!stage)
    return fail(context,
                usageError(fmt::format("--emit={}: the stages are {}", options.emit, stageNames)));
  if (stage == driver::Stage::Cubin && options.output.empty() && context.outIsTerminal)
    return fail(context, usageError("a cubin is no text: write it to a file with -o, or pipe it"));
  std::optional<std::string> text;
  request.last = *stage;
  request.onStage = [&](driver::Stage reached, const std::string &contents) {
    if (reached == *stage)
      text = contents;
  };
  driver::CompileResult result;
  const int status = compileAndReport(context, std::move(request), options.kernel.trace, result);
  // The tokens and the tree of a text with mistakes are worth seeing.
  if (!text)
    return status;
  if (options.output.empty()) {
    context.out << *text;
    return status;
  }
  const Expected<void> written = writeFile(options.output, *text);
  return written ? status : fail(context, written.error());
}

} // namespace

int compileVerb(Context &context, const CompileOptions &options) {
  if (const Expected<void> fits = checkOutputName(options); !fits)
    return fail(context, fits.error());
  Expected<driver::CompileRequest> request = makeRequest(context, options.kernel);
  if (!request)
    return fail(context, request.error());
  request->instrument = options.instrument;
  if (!options.emit.empty())
    return emitStage(context, options, std::move(*request));
  driver::CompileResult result;
  const int status = compileAndReport(context, *request, options.kernel.trace, result);
  if (status != Done)
    return status;
  const Expected<Manifest> manifest = readManifest(result.bundle->manifest);
  if (!manifest)
    return fail(context, manifest.error());
  std::string output = options.output;
  if (!output.empty() && isDirectoryName(output))
    output = (fs::path(output) / defaultName(*manifest, *request)).string();
  if (!output.empty())
    if (const Expected<void> written = writeOutput(output, *result.bundle); !written)
      return fail(context, written.error());
  context.out << resourceLine(*manifest, result) << (output.empty() ? "" : ", in " + output)
              << "\n";
  return Done;
}

} // namespace flashqla::cli
