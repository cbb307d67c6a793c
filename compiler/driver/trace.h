// All stages of one compile as numbered files, for reading them side by side.
//
//     00-source.tile 01-tokens.txt 02-ast.txt 03-tile.mlir … 07-cuda.cu 08-ptx.ptx 09-cubin.cubin
//
// The first line of each file is a comment with the command that makes its contents again; the
// command of the cubin, which has no lines, stands in 09-cubin.txt. JSON has no comments: the
// manifest is 10-manifest.jsonc.
//
//     Expected<Trace> trace = Trace::create("dumps", request);
//     request.onStage = [&](Stage stage, const std::string &text) { trace->add(stage, text); };
#pragma once

#include "compiler/driver/compile.h"

#include <string>
#include <string_view>

namespace flashqla::driver {

/// The arguments of `flashqlac` that compile this request, quoted for a shell: "compile gemm.tile
/// -k gemm_nt -D BM=128".
std::string compileCommand(const CompileRequest &request);

class Trace {
public:
  /// Makes the directory, removes the stages of an earlier trace, and writes the source. Error:
  /// file-write.
  static Expected<Trace> create(const std::string &directory, const CompileRequest &request);

  void add(Stage stage, const std::string &text);
  /// The first file that could not be written. Error: file-write.
  const Expected<void> &status() const { return firstError; }

private:
  Trace(std::string directory, std::string command)
      : directory(std::move(directory)), command(std::move(command)) {}
  void write(const std::string &name, const std::string &contents);

  std::string directory;
  std::string command; ///< without the stage
  Expected<void> firstError;
};

/// `session.compile` with a trace in that directory, without one where the name is empty. A file
/// that cannot be written is the result's error.
CompileResult compileTraced(Session &session, CompileRequest request, const std::string &directory);

/// Where a compile leaves a trace if FLASHQLA_TRACE asks for one: a directory per kernel and set of
/// bindings; empty if not.
std::string traceDirectory(const Environment &environment, const CompileRequest &request);

} // namespace flashqla::driver
