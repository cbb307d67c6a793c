#include "compiler/driver/trace.h"
#include "compiler/support/render.h"
#include "runtime/files.h"
#include "tools/flashqlac/verbs.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <ostream>
#include <set>

namespace flashqla::cli {

namespace fs = std::filesystem;

namespace {

/// Codes, or beginnings of codes that end with `-`, of what no other input could help.
constexpr std::array<std::string_view, 8> outsideCodes = {
    "driver-", "nvrtc-", "device-", "file-", "cache-", "kernel-arch", "kernel-load", "memory"};
constexpr std::array<std::string_view, 2> usageCodes = {"usage", "kernel-missing"};

ExitCode exitCodeOf(std::string_view code) {
  if (std::ranges::find(usageCodes, code) != usageCodes.end())
    return Usage;
  const auto matches = [&](std::string_view prefix) { return code.starts_with(prefix); };
  return std::ranges::any_of(outsideCodes, matches) ? Failed : Mistakes;
}

} // namespace

int fail(Context &context, const Error &error) {
  if (context.jsonDiagnostics) {
    nlohmann::ordered_json object = {
        {"severity", "error"}, {"kind", error.code}, {"message", error.message}};
    object["notes"] = nlohmann::ordered_json::array();
    for (const std::string &note : error.notes)
      object["notes"].push_back({{"text", note}});
    // Names of files may be any bytes; JSON holds UTF-8.
    using nlohmann::json;
    context.err << object.dump(-1, ' ', false, json::error_handler_t::replace) << "\n";
  } else {
    const char *mark = context.errIsTerminal ? "\x1b[1;31merror:\x1b[0m" : "error:";
    context.err << fmt::format("{} {}\n", mark, error.text());
  }
  return exitCodeOf(error.code);
}

void note(Context &context, const std::string &text) {
  if (!context.jsonDiagnostics)
    context.err << "note: " << text << "\n";
}

Error usageError(std::string message) { return Error{"usage", std::move(message), {}}; }

void report(Context &context, const Diagnostics &diagnostics) {
  if (diagnostics.all().empty())
    return;
  RenderOptions options;
  options.colors = context.errIsTerminal;
  context.err << (context.jsonDiagnostics ? renderJson(diagnostics)
                                          : renderText(diagnostics, options));
}

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

Expected<Source> readSource(Context &context, const std::string &path) {
  if (path == "-")
    return Source{"<stdin>", std::string(std::istreambuf_iterator<char>(context.in), {})};
  std::error_code error;
  if (fs::is_directory(path, error))
    return Error{"file-read", fmt::format("{} is a directory", path), {}};
  Expected<std::string> text = readFile(path);
  if (!text)
    return text.error();
  if (text->find('\0') != std::string::npos)
    return Error{"file-read", fmt::format("{} is no text", path), {}};
  return Source{path, std::move(*text)};
}

Expected<std::vector<std::string>> tileFiles(const std::vector<std::string> &paths) {
  std::vector<std::string> files;
  for (const std::string &path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    std::set<std::string> found;
    fs::recursive_directory_iterator item(path, error), end;
    for (; !error && item != end; item.increment(error))
      if (item->path().extension() == ".tile")
        found.insert(item->path().string());
    if (error)
      return Error{"file-read", fmt::format("{}: {}", path, error.message()), {}};
    if (found.empty())
      return Error{"file-missing", fmt::format("there is no .tile file below {}", path), {}};
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

Expected<std::vector<Definition>> parseDefinitions(const std::vector<std::string> &texts,
                                                   std::string_view option) {
  std::vector<Definition> definitions;
  for (const std::string &text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
      return usageError(fmt::format("{} takes NAME=VALUE, not `{}`", option, text));
    Definition definition{text.substr(0, equals), text.substr(equals + 1)};
    if (std::ranges::find(definitions, definition.name, &Definition::name) != definitions.end())
      return usageError(fmt::format("{} gives `{}` twice", option, definition.name));
    definitions.push_back(std::move(definition));
  }
  return definitions;
}

Expected<frontend::Bindings> parseBindings(const std::vector<std::string> &texts) {
  const Expected<std::vector<Definition>> definitions = parseDefinitions(texts, "-D");
  if (!definitions)
    return definitions.error();
  frontend::Bindings bindings;
  for (const auto &[name, value] : *definitions) {
    const std::optional<frontend::Constant> constant = frontend::parseConstant(value);
    if (!constant)
      return usageError(fmt::format("-D {}={}: a value is a number, true, false or an element type "
                                    "such as bf16",
                                    name, value));
    bindings.emplace(name, *constant);
  }
  return bindings;
}

Expected<driver::CompileRequest> makeRequest(Context &context, const KernelOptions &options) {
  Expected<frontend::Bindings> bindings = parseBindings(options.defines);
  if (!bindings)
    return bindings.error();
  if (options.arch != driver::CompileRequest{}.arch)
    return usageError(fmt::format("--arch {}: the architecture that kernels are compiled for is "
                                  "sm_90a",
                                  options.arch));
  Expected<Source> source = readSource(context, options.file);
  if (!source)
    return source.error();
  driver::CompileRequest request;
  request.file = std::move(source->name);
  request.source = source->text.empty() ? "\n" : std::move(source->text); // empty would mean: read
  request.kernel = options.kernel;
  request.bindings = std::move(*bindings);
  request.arch = options.arch;
  request.allowSlow = options.allowSlow;
  request.useCache = !options.noCache;
  return request;
}

int compileAndReport(Context &context, driver::CompileRequest request, const std::string &trace,
                     driver::CompileResult &result) {
  driver::Session session(context.environment);
  const std::string directory =
      trace.empty() ? driver::traceDirectory(context.environment, request) : trace;
  result = driver::compileTraced(session, std::move(request), directory);
  report(context, session.diagnostics());
  if (result.error && result.error->code == "kernel-missing")
    return fail(context, Error(*result.error).withNote("-k KERNEL names the one to compile"));
  if (result.error)
    return fail(context, *result.error);
  return session.diagnostics().hasErrors() ? Mistakes : Done;
}

} // namespace flashqla::cli
