#include "compiler/driver/trace.h"

#include "runtime/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace flashqla::driver {

namespace fs = std::filesystem;

namespace {

constexpr const char *sourceName = "00-source.tile";

/// As one word of a shell.
std::string quoted(const std::string &word) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-./=+,:@%").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, plain))
    return word;
  std::string result = "'";
  for (const char c : word)
    result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string_view extension(Stage stage) {
  switch (stage) {
  case Stage::Tokens:
  case Stage::Ast:
  case Stage::Layouts:
  case Stage::Schedule:
    return "txt";
  case Stage::Tile:
  case Stage::Lowered:
    return "mlir";
  case Stage::Cuda:
    return "cu";
  case Stage::Ptx:
    return "ptx";
  case Stage::Cubin:
    return "cubin";
  case Stage::Manifest:
    return "jsonc";
  }
  __builtin_unreachable();
}

std::string fileName(Stage stage, std::string_view ending) {
  return fmt::format("{:02}-{}.{}", static_cast<int>(stage) + 1, stageName(stage), ending);
}

} // namespace

std::string compileCommand(const CompileRequest &request) {
  std::string command = "compile " + quoted(request.file == "<stdin>" ? "-" : request.file);
  if (!request.kernel.empty())
    command += " -k " + quoted(request.kernel);
  for (const auto &[name, value] : request.bindings)
    command += " -D " + quoted(fmt::format("{}={}", name, frontend::constantText(value)));
  if (request.arch != CompileRequest{}.arch)
    command += " --arch " + quoted(request.arch);
  if (request.allowSlow)
    command += " --allow-slow";
  return command;
}

Expected<Trace> Trace::create(const std::string &directory, const CompileRequest &request) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error)
    return Error{"file-write", fmt::format("{}: {}", directory, error.message()), {}};
  Trace trace(directory, "flashqlac " + compileCommand(request));
  // A compile that stops early must not leave the later stages of another one.
  for (int stage = 0; stage <= static_cast<int>(Stage::Manifest); ++stage)
    for (const std::string_view ending : {extension(Stage(stage)), std::string_view("txt")})
      fs::remove(fs::path(directory) / fileName(Stage(stage), ending), error);
  trace.write(sourceName, fmt::format("// {} --trace {}\n{}", trace.command, quoted(directory),
                                      request.source));
  if (!trace.firstError)
    return trace.firstError.error();
  return trace;
}

void Trace::add(Stage stage, const std::string &text) {
  const std::string comment = fmt::format("// {} --emit={}", command, stageName(stage));
  if (stage == Stage::Cubin) {
    write(fileName(stage, "txt"), comment + " -o FILE\n");
    write(fileName(stage, extension(stage)), text);
    return;
  }
  write(fileName(stage, extension(stage)), comment + "\n" + text);
}

void Trace::write(const std::string &name, const std::string &contents) {
  if (Expected<void> done = writeFile(directory + "/" + name, contents); !done && firstError)
    firstError = std::move(done);
}

CompileResult compileTraced(Session &session, CompileRequest request,
                            const std::string &directory) {
  if (directory.empty())
    return session.compile(request);
  if (request.source.empty())
    if (Expected<std::string> text = readFile(request.file); text)
      request.source = *std::move(text);
  CompileResult result;
  Expected<Trace> trace = Trace::create(directory, request);
  if (!trace) {
    result.error = trace.error();
    return result;
  }
  const auto inner = std::move(request.onStage);
  request.onStage = [&trace, &inner](Stage stage, const std::string &text) {
    trace->add(stage, text);
    if (inner)
      inner(stage, text);
  };
  result = session.compile(request);
  if (!result.error && !trace->status())
    result.error = trace->status().error();
  return result;
}

std::string traceDirectory(const Environment &environment, const CompileRequest &request) {
  if (environment.trace.empty())
    return "";
  std::string name =
      request.kernel.empty() ? fs::path(request.file).stem().string() : request.kernel;
  char separator = '.';
  for (const auto &[key, value] : request.bindings) {
    name += separator + key + frontend::constantText(value);
    separator = '-';
  }
  return environment.trace + "/" + name;
}

} // namespace flashqla::driver
