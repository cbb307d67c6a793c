/// From `.tile` text to a bundle, in one call, stopping at any stage.
///
///     Session session(environment);                       // files, NVRTC, diagnostics
///     CompileRequest request{.file = "gemm.tile", .kernel = "gemm_nt"};
///     CompileResult result = session.compile(request);
///     if (!result.bundle) std::fputs(renderText(session.diagnostics()).c_str(), stderr);
///
/// Mistakes in the text are diagnostics; what goes wrong around it (a file, NVRTC) is the result's error.
#pragma once

#include "compiler/frontend/frontend.h"
#include "compiler/support/diagnostics.h"
#include "flashqla/bundle.h"
#include "flashqla/environment.h"
#include "flashqla/error.h"
#include "runtime/cache.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flashqla::driver {

/// What a compile can print or stop at, in order.
enum class Stage {
  Tokens,   ///< the lexer's view
  Ast,      ///< the syntax tree
  Tile,     ///< surface IR of the instantiation
  Layouts,  ///< swizzles, fragment layouts, the map of shared memory
  Schedule, ///< what was written, with everything that was derived
  Lowered,  ///< lowered IR
  Cuda,     ///< CUDA text
  Ptx,      ///< NVRTC's PTX
  Cubin,    ///< machine code
  Manifest, ///< the manifest's JSON
};

/// "tokens" … "manifest".
std::string_view stageName(Stage stage);
std::optional<Stage> stageNamed(std::string_view name);

struct CompileRequest {
  std::string file;                 ///< name of the source in messages; read when `source` is empty
  std::string source;               ///< text
  std::string kernel;               ///< empty: the only kernel of the file
  frontend::Bindings bindings;      ///< parameters and static dims
  std::string arch = "sm_90a";
  bool allowSlow = false;           ///< keep a kernel that serialises products or spills; still reported, as warnings
  bool instrument = false;          ///< records when the statements of roles begin and end; see Kernel::takeTimeline
  bool useCache = true;             ///< look for the bundle in the cache, and leave it there
  bool assemble = true;             ///< otherwise NVRTC is not used: a bundle without cubin, never cached
  Stage last = Stage::Manifest;     ///< where to stop
  /// Called with each stage's text (the cubin's bytes) as it is reached. Bypasses the cache.
  std::function<void(Stage, const std::string &)> onStage;
};

struct CompileResult {
  std::optional<Bundle> bundle;     ///< present when all stages were reached without errors
  std::optional<Error> error;       ///< environment: file, NVRTC
  bool cached = false;              ///< the bundle came from the cache
  double milliseconds = 0;          ///< of this call
};

struct TimelineRequest; ///< timeline.h
struct TimelineResult;

/// Source files and their diagnostics over several compiles. Not thread-safe; use one per thread.
class Session {
public:
  explicit Session(const Environment &environment);
  ~Session();

  CompileResult compile(const CompileRequest &request);
  /// What the cache would hold this request's bundle under; nothing where the text has mistakes, which are reported.
  /// Errors: those of `compile`.
  Expected<std::optional<CacheKey>> cacheKey(const CompileRequest &request);
  /// Parses, type-checks every kernel at its `check` cases, runs the static rules, and simulates the cases and few trip
  /// counts of each loop. False after errors. `redundant`: remarks for waits that other waits imply.
  bool check(const std::string &file, const std::string &source, bool redundant = false);

  /// One CTA of a kernel simulated in time (timeline.h).
  TimelineResult timeline(const TimelineRequest &request);

  const Diagnostics &diagnostics() const;

  struct State; ///< defined where it is used

private:
  std::unique_ptr<State> state;
};

} // namespace flashqla::driver
