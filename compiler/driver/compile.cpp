#include "compiler/driver/compile.h"

#include "compiler/codegen/emit_manifest.h"
#include "compiler/driver/build_id.h"
#include "compiler/driver/protocol.h"
#include "compiler/driver/session.h"
#include "compiler/passes/pipeline.h"
#include "compiler/passes/show.h"
#include "compiler/syntax/dump.h"
#include "compiler/syntax/format.h"
#include "compiler/syntax/lexer.h"
#include "compiler/syntax/parser.h"
#include "runtime/cache.h"
#include "runtime/files.h"
#include "runtime/hash.h"

#include <algorithm>
#include <array>
#include <chrono>

namespace flashqla::driver {
namespace {

constexpr std::array<std::string_view, 10> stageNames = {"tokens", "ast", "tile", "layouts", "schedule",
                                                         "lowered", "cuda", "ptx", "cubin", "manifest"};

std::string printed(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text + "\n";
}

/// Advisories that mean a kernel runs slower than what was written (the `.tile` author can do something about it).
bool isSlow(const codegen::Advisory &advisory) {
  static constexpr std::array<std::string_view, 10> codes = {"C7508", "C7510", "C7511", "C7512", "C7513",
                                                             "C7514", "C7517", "C7519", "C7520", ""};
  return std::find(codes.begin(), codes.end(), advisory.code) != codes.end();
}

/// The `check` cases of a kernel with the parameters and static dims of this compile in place of their own.
std::vector<frontend::CheckCase> casesOf(const ast::Module &module, const std::string &kernel,
                                         const frontend::Bindings &bindings) {
  Diagnostics ignored; // `flashqlac check` reports mistakes in them
  std::vector<frontend::CheckCase> cases = frontend::checkCases(module, kernel, ignored);
  for (frontend::CheckCase &test : cases) {
    test.bindings = bindings;
    for (const auto &[name, value] : bindings)
      if (auto dim = test.dims.find(name); dim != test.dims.end() && std::holds_alternative<int64_t>(value))
        dim->second = std::get<int64_t>(value);
  }
  return cases;
}

} // namespace

std::string_view stageName(Stage stage) { return stageNames[static_cast<size_t>(stage)]; }

std::vector<const ast::Kernel *> kernelsOf(const ast::Module &module) {
  std::vector<const ast::Kernel *> kernels;
  for (const ast::TopLevel &item : module.items)
    if (const auto *kernel = std::get_if<ast::Kernel>(&item.node))
      kernels.push_back(kernel);
  return kernels;
}

Expected<std::string> chooseKernel(const ast::Module &module, const std::string &file, const std::string &wanted) {
  std::string all;
  std::vector<const ast::Kernel *> kernels = kernelsOf(module);
  for (const ast::Kernel *candidate : kernels)
    all += (all.empty() ? "`" : ", `") + candidate->name.text + "`";
  if (kernels.empty())
    return Error{"kernel-missing", fmt::format("{} has no kernel", file), {}};
  if (wanted.empty() && kernels.size() > 1)
    return Error{"kernel-missing", fmt::format("{} has {} kernels: name one of {}", file, kernels.size(), all), {}};
  const std::string name = wanted.empty() ? kernels.front()->name.text : wanted;
  if (!frontend::findKernel(module, name))
    return Error{"kernel-missing", fmt::format("{} has no kernel `{}`; it has {}", file, name, all), {}};
  return name;
}

std::optional<Stage> stageNamed(std::string_view name) {
  auto found = std::find(stageNames.begin(), stageNames.end(), name);
  if (found == stageNames.end())
    return std::nullopt;
  return static_cast<Stage>(found - stageNames.begin());
}

namespace {

/// One compile, stage by stage. Each step returns whether to go on.
class Compile {
public:
  Compile(Session::State &state, const CompileRequest &request) : state(state), request(request) {}
  CompileResult run();
  Expected<std::optional<CacheKey>> findKey();

private:
  bool readSource();
  bool parseSource();
  bool chooseKernel();
  bool lookUp();
  bool lower();
  bool emit();
  bool assemble();
  void finish();

  bool reached(Stage stage, const std::string &text) {
    if (request.onStage)
      request.onStage(stage, text);
    return stage != request.last;
  }
  bool fail(Error error) {
    result.error = std::move(error);
    return false;
  }
  CacheKey key(const codegen::Nvrtc &nvrtc) const;
  bool reportLog();

  Session::State &state;
  const CompileRequest &request;
  CompileResult result;
  const SourceFile *file = nullptr;
  ast::Module module;
  std::string kernelName;
  std::optional<codegen::Nvrtc> nvrtc;
  mlir::OwningOpRef<mlir::ModuleOp> ir;
  tile::KernelOp kernel;
  std::optional<codegen::EmittedKernel> emitted;
  codegen::CompiledCuda compiled;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

double millisecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

bool Compile::readSource() {
  std::string text = request.source;
  if (text.empty()) {
    Expected<std::string> contents = readFile(request.file);
    if (!contents)
      return fail(contents.error());
    text = std::move(*contents);
  }
  file = &state.add(request.file, std::move(text));
  return true;
}

bool Compile::parseSource() {
  if (request.onStage && !reached(Stage::Tokens, dumpTokens(*file, state.diags)))
    return false;
  module = parse(*file, state.diags);
  if (state.diags.hasErrors())
    return false;
  return !request.onStage || reached(Stage::Ast, dumpAst(module));
}

bool Compile::chooseKernel() {
  Expected<std::string> chosen = driver::chooseKernel(module, request.file, request.kernel);
  if (!chosen)
    return fail(chosen.error());
  kernelName = std::move(*chosen);
  return true;
}

CacheKey Compile::key(const codegen::Nvrtc &nvrtc) const {
  CacheKey key;
  key.kernel = kernelName;
  key.arch = request.arch;
  for (const auto &[name, value] : request.bindings)
    key.params.push_back({name, frontend::constantText(value)});
  key.tools = {{"compiler", buildId()}, {"nvrtc", nvrtc.version()}, {"slow", request.allowSlow ? "allowed" : "refused"}};
  if (request.instrument)
    key.tools.push_back({"instrumented", "yes"});
  for (const std::string &flag : codegen::Nvrtc::flags())
    key.tools.push_back({"flag", flag});
  key.source = format(module);
  return key;
}

bool Compile::lookUp() {
  if (request.last < Stage::Ptx || !request.assemble)
    return true;
  Expected<codegen::Nvrtc> opened = codegen::Nvrtc::open(state.environment.libnvrtc);
  if (!opened)
    return fail(opened.error());
  nvrtc = *opened;
  bool use = request.useCache && !request.onStage && request.last == Stage::Manifest && !state.environment.alwaysCompile;
  if (!use)
    return true;
  Cache::Lookup found = Cache(state.environment.cacheDir).load(key(*nvrtc));
  if (!found.bundle)
    return true;
  result.bundle = std::move(found.bundle);
  result.cached = true;
  return false;
}

bool Compile::lower() {
  ir = frontend::instantiate(module, kernelName, request.bindings, state.mlir(), state.diags);
  if (!ir)
    return false;
  if (request.onStage && !reached(Stage::Tile, printed(*ir)))
    return false;
  kernel = *ir->getOps<tile::KernelOp>().begin();
  passes::Context context{state.byName, state.diags};
  if (!passes::checkAndPlan(kernel, context))
    return false;
  if (request.onStage && !reached(Stage::Layouts, passes::showLayouts(kernel)))
    return false;
  const std::vector<frontend::CheckCase> cases = casesOf(module, kernelName, request.bindings);
  const ProtocolCheck protocol{.redundant = false, .tripCounts = false, .tolerant = true};
  if (!checkProtocol(kernel, cases, state.byName, state.diags, protocol) || !passes::lowerKernel(kernel, context) ||
      !checkProtocol(kernel, cases, state.byName, state.diags, protocol))
    return false;
  if (request.onStage && !reached(Stage::Schedule, passes::showSchedule(kernel, state.byName)))
    return false;
  return !request.onStage || reached(Stage::Lowered, printed(*ir));
}

bool Compile::emit() {
  emitted = codegen::emitKernel(kernel, state.byName, state.diags, {.instrument = request.instrument});
  if (!emitted)
    return false;
  return !request.onStage || reached(Stage::Cuda, emitted->text);
}

/// Turns the assembler's log into diagnostics. What makes the kernel slow is an error unless it was allowed.
bool Compile::reportLog() {
  auto at = [&](int line) -> SourceRange {
    if (line <= 0 || line > static_cast<int>(file->lineCount()))
      return frontend::findKernel(module, kernelName)->name.range;
    std::string_view text = file->line(line);
    size_t first = std::min(text.find_first_not_of(" \t"), text.size());
    uint32_t begin = file->lineBegin(line);
    return {file, begin + static_cast<uint32_t>(first), begin + static_cast<uint32_t>(text.size())};
  };
  for (const codegen::CudaError &error : compiled.errors)
    state.diags.error(DiagnosticKind::CudaError, at(error.file == file->name() ? error.line : 0),
                      fmt::format("the emitted CUDA text does not compile: {}", error.text))
        .note("this is a fault of flashqlac, not of the kernel");
  auto slow = [&](DiagnosticKind kind, SourceRange range, std::string text) {
    if (request.allowSlow)
      state.diags.warning(kind, range, std::move(text));
    else
      state.diags.error(kind, range, std::move(text)).note("`--allow-slow` compiles it all the same");
  };
  for (const codegen::Advisory &advisory : compiled.advisories)
    if (isSlow(advisory))
      slow(DiagnosticKind::AssemblerSlow, at(advisory.line), advisory.text);
  if (compiled.spillStoreBytes || compiled.spillLoadBytes)
    slow(DiagnosticKind::RegisterSpill, frontend::findKernel(module, kernelName)->name.range,
         fmt::format("`{}` spills registers to memory: {} bytes stored, {} bytes loaded", kernelName,
                     compiled.spillStoreBytes, compiled.spillLoadBytes));
  return !state.diags.hasErrors();
}

bool Compile::assemble() {
  Expected<codegen::CompiledCuda> done = nvrtc->compile(emitted->text, kernelName + ".cu", request.arch);
  if (!done)
    return fail(done.error());
  compiled = std::move(*done);
  if (!reportLog())
    return false;
  if (request.onStage && !reached(Stage::Ptx, compiled.ptx))
    return false;
  return !request.onStage || reached(Stage::Cubin, compiled.cubin);
}

void Compile::finish() {
  Manifest manifest = codegen::makeManifest(kernel, *emitted, compiled, request.file, request.arch);
  manifest.compiler = std::string("flashqla ") + FLASHQLA_VERSION;
  manifest.compileMs = millisecondsSince(start);
  Bundle bundle;
  bundle.manifest = writeManifest(manifest);
  bundle.cubin = compiled.cubin;
  bundle.cuda = emitted->text;
  bundle.source = std::string(file->text());
  bundle.log = compiled.log;
  if (request.onStage)
    reached(Stage::Manifest, bundle.manifest);
  else if (request.useCache && request.assemble)
    (void)Cache(state.environment.cacheDir).store(key(*nvrtc), bundle); // without a cache the compile still stands
  result.bundle = std::move(bundle);
}

Expected<std::optional<CacheKey>> Compile::findKey() {
  if (!readSource() || !parseSource() || !chooseKernel()) {
    if (result.error)
      return *result.error;
    return std::optional<CacheKey>();
  }
  Expected<codegen::Nvrtc> opened = codegen::Nvrtc::open(state.environment.libnvrtc);
  if (!opened)
    return opened.error();
  return std::optional(key(*opened));
}

CompileResult Compile::run() {
  if (readSource() && parseSource() && chooseKernel() && lookUp() && lower() && emit() &&
      (!request.assemble || assemble()))
    finish();
  result.milliseconds = millisecondsSince(start);
  return std::move(result);
}

} // namespace

/// Says that a kernel has no `check` case. Whether it can be instantiated all the same.
static bool reportNoCase(const ast::Kernel &kernel, Diagnostics &diags) {
  const bool hasDefaults = std::ranges::none_of(kernel.dims, &ast::Dim::isStatic);
  std::string values;
  for (const ast::Dim &dim : kernel.dims)
    values += fmt::format("{}{} = ..", values.empty() ? "" : ", ", dim.name.text);
  auto report = diags.report(DiagnosticKind::NoCheckCase, kernel.name.range,
                             fmt::format("`{}` has no `check` case: {}", kernel.name.text,
                                         hasDefaults ? "it is not simulated" : "only its syntax is checked"));
  if (!values.empty())
    report.help(fmt::format("`check ({})` gives it shapes", values));
  return hasDefaults;
}

Session::Session(const Environment &environment) : state(std::make_unique<State>(environment)) {}
Session::~Session() = default;

CompileResult Session::compile(const CompileRequest &request) { return Compile(*state, request).run(); }

Expected<std::optional<CacheKey>> Session::cacheKey(const CompileRequest &request) {
  return Compile(*state, request).findKey();
}

const Diagnostics &Session::diagnostics() const { return state->diags; }

bool Session::check(const std::string &name, const std::string &source, bool redundant) {
  size_t before = state->diags.errorCount();
  const SourceFile &file = state->add(name, source);
  ast::Module module = parse(file, state->diags);
  if (state->diags.errorCount() != before || !frontend::checkModule(module, state->mlir(), state->diags))
    return false;
  passes::Context context{state->byName, state->diags};
  for (const ast::Kernel *kernel : kernelsOf(module)) {
    std::map<frontend::Bindings, std::vector<frontend::CheckCase>> instances;
    for (frontend::CheckCase &test : frontend::checkCases(module, kernel->name.text, state->diags))
      instances[test.bindings].push_back(std::move(test));
    if (instances.empty() && reportNoCase(*kernel, state->diags))
      instances[{}] = {}; // the static rules look at all shapes
    for (const auto &[bindings, cases] : instances) {
      auto ir = frontend::instantiate(module, kernel->name.text, bindings, state->mlir(), state->diags);
      if (!ir)
        continue;
      tile::KernelOp op = *ir->getOps<tile::KernelOp>().begin();
      ProtocolCheck protocol;
      protocol.redundant = redundant;
      if (!passes::checkAndPlan(op, context) || !checkProtocol(op, cases, state->byName, state->diags, protocol))
        continue;
      protocol.redundant = false;
      if (passes::lowerKernel(op, context))
        checkProtocol(op, cases, state->byName, state->diags, protocol);
    }
  }
  return state->diags.errorCount() == before;
}

} // namespace flashqla::driver
