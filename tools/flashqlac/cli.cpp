#include "tools/flashqlac/cli.h"

#include "compiler/frontend/scope.h"
#include "tools/flashqlac/verbs.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <new>
#include <ostream>

namespace flashqla::cli {

namespace {

constexpr const char *exitCodesText =
    "Exit status:\n"
    "  0  done\n"
    "  1  mistakes in what was given: a kernel with errors, an unformatted file, results off\n"
    "  2  the command line cannot be understood\n"
    "  3  something around it is missing or failed: a file, NVRTC, the driver, a GPU\n";

/// A verb that was chosen, with everything it needs.
using Action = std::function<int(Context &)>;

/// The options of all verbs. Lives while the command line is parsed and run.
struct CommandLine {
  CLI::App app{"The compiler of the flashqla tile language for NVIDIA Hopper GPUs.", "flashqlac"};
  std::string diagnostics = "text";
  Action action;

  CompileOptions compile;
  FormatOptions format;
  std::vector<std::string> checkPaths;
  bool redundant = false;
  std::string explainName;
  CollectOptions collect;
  KernelOptions why;
  RunOptions run;
  TraceOptions trace;
  GdnOptions gdn;

  CommandLine();

private:
  CLI::App *verb(CLI::App &parent, const char *name, const char *description, Action action);
  void addKernelChoice(CLI::App &verb, KernelOptions &options);
  void addKernelOptions(CLI::App &verb, KernelOptions &options);
  void addCompile();
  void addSources();
  void addCache();
  void addRun();
  void addTrace();
  void addGdn(CLI::App &run);
  void addGdnData(CLI::App &verb);
  void addDevice(CLI::App &verb, DeviceOptions &options);
};

/// Refuses what is no integer of 63 bits from `least` on; `CLI::PositiveNumber` names its largest number in full.
CLI::Validator atLeast(std::int64_t least) {
  return {[least](const std::string &text) -> std::string {
            std::int64_t value = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
            if (error == std::errc::result_out_of_range)
              return fmt::format("{} is too large a number", text);
            if (error != std::errc() || end != text.data() + text.size())
              return fmt::format("{} is no integer", text);
            return value < least ? fmt::format("{} is less than {}", text, least) : "";
          },
          least > 0 ? "POSITIVE" : "NONNEGATIVE"};
}

/// A list option whose every value needs its flag, so that a file behind it is not swallowed.
CLI::Option *addList(CLI::App &verb, const char *name, std::vector<std::string> &values,
                     const char *description) {
  return verb.add_option(name, values, description)->allow_extra_args(false);
}

CommandLine::CommandLine() {
  app.set_version_flag("--version", std::string("flashqlac ") + FLASHQLA_VERSION);
  app.footer(exitCodesText);
  app.require_subcommand(1);
  addCompile();
  addSources();
  addRun();
  addTrace();
  addCache();
  verb(app, "env", "Show what was found: NVRTC, driver, GPU, cache, environment variables",
       [](Context &context) { return environmentVerb(context); });
}

CLI::App *CommandLine::verb(CLI::App &parent, const char *name, const char *description,
                            Action chosen) {
  CLI::App *added = parent.add_subcommand(name, description);
  // The innermost verb of a command line is called last, and wins.
  added->preparse_callback([this, chosen](std::size_t) { action = chosen; });
  return added;
}

void CommandLine::addKernelChoice(CLI::App &verb, KernelOptions &options) {
  verb.add_option("-k,--kernel", options.kernel, "Kernel; may be left out where there is only one")
      ->type_name("KERNEL");
  addList(verb, "-D,--define", options.defines,
          "A compile-time parameter or static dim; repeatable")
      ->type_name("NAME=VALUE");
}

void CommandLine::addKernelOptions(CLI::App &verb, KernelOptions &options) {
  addKernelChoice(verb, options);
  verb.add_option("--arch", options.arch, "GPU architecture (default: sm_90a)")->type_name("ARCH");
  verb.add_flag("--allow-slow", options.allowSlow,
                "Keep a kernel that spills or whose products the assembler serialises; warn only");
  verb.add_flag("--no-cache", options.noCache, "Neither look into the cache nor fill it");
  verb.add_option("--trace", options.trace, "Write every stage to a numbered file in DIR")
      ->type_name("DIR");
}

void CommandLine::addCompile() {
  CLI::App *added = verb(app, "compile", "Compile one kernel, to a file or to look at a stage",
                         [this](Context &context) { return compileVerb(context, compile); });
  added->add_option("FILE", compile.kernel.file, "Kernel file; - for standard input")->required();
  addKernelOptions(*added, compile.kernel);
  added
      ->add_option("-o,--output", compile.output,
                   "Bundle (.fqb), bare cubin (.cubin) or CUDA text (.cu); a directory: a bundle "
                   "named after the kernel")
      ->type_name("OUT");
  added
      ->add_option("--emit", compile.emit,
                   "Stop at a stage and print it: tokens, ast, tile, layouts, schedule, lowered, "
                   "cuda, ptx, cubin, manifest")
      ->type_name("STAGE");
  added->add_flag("--instrument", compile.instrument,
                  "Record when each statement begins and ends, for Kernel::takeTimeline");
  added->add_option("--diagnostics", diagnostics, "text, or json: one object per line");
}

void CommandLine::addSources() {
  CLI::App *fmt = verb(app, "fmt", "Bring kernel files into canonical form, in place",
                       [this](Context &context) { return formatVerb(context, format); });
  fmt->add_option("FILES", format.paths, "Files and directories; - filters standard input")
      ->required();
  fmt->add_flag("--check", format.check, "Change nothing; name the files that would change");
  fmt->add_option("--diagnostics", diagnostics, "text, or json: one object per line");
  CLI::App *check =
      verb(app, "check",
           "Parse, check types and the static rules, and simulate, at the shapes of `check`",
           [this](Context &context) { return checkVerb(context, checkPaths, redundant); });
  check->add_option("FILES", checkPaths, "Files and directories; - reads standard input")
      ->required();
  check->add_option("--diagnostics", diagnostics, "text, or json: one object per line");
  check->add_flag("--redundant", redundant, "Name waits that other waits imply");
  CLI::App *explain =
      verb(app, "explain", "Explain a diagnostic by its name in brackets; without one, list all",
           [this](Context &context) { return explainVerb(context, explainName); });
  explain->add_option("NAME", explainName, "Such as matmul-shape");
}

void CommandLine::addCache() {
  CLI::App *cache = app.add_subcommand("cache", "Look after the cache of compiled kernels");
  cache->require_subcommand(1);
  verb(*cache, "ls", "List the kernels with their last use and size",
       [](Context &context) { return cacheListVerb(context); });
  CLI::App *gc = verb(*cache, "gc", "Remove what is old or too much",
                      [this](Context &context) { return cacheCollectVerb(context, collect); });
  gc->add_option("--max-mb", collect.maxMegabytes,
                 "Keep at most this many megabytes (default: 1024)")
      ->check(atLeast(0));
  gc->add_option("--max-days", collect.maxDays, "Keep what was used in these days (default: 30)")
      ->check(atLeast(0));
  verb(*cache, "verify", "Compare every kernel with its checksums",
       [](Context &context) { return cacheVerifyVerb(context); });
  CLI::App *whyVerb = verb(*cache, "why", "Say why a compile would not come from the cache",
                           [this](Context &context) { return cacheWhyVerb(context, why); });
  whyVerb->add_option("FILE", why.file, "Kernel file; - for standard input")->required();
  addKernelOptions(*whyVerb, why);
}

void CommandLine::addRun() {
  CLI::App *added = verb(app, "run", "Run a kernel, or gdn.forward, on tensors of a file",
                         [this](Context &context) { return runVerb(context, run); });
  added->require_subcommand(0, 1);
  added->add_option("FILE", run.kernel.file, "Kernel file");
  addKernelOptions(*added, run.kernel);
  added->add_option("--inputs", run.inputs, "Tensors by the names of the kernel's arguments")
      ->type_name("SAFETENSORS");
  added->add_option("--outputs", run.outputs, "Where the `out` and `inout` tensors go")
      ->type_name("SAFETENSORS");
  addList(*added, "--set", run.scalars, "The value of a scalar argument; repeatable")
      ->type_name("NAME=VALUE");
  addList(*added, "--dim", run.dims, "A dim that no input tensor has; repeatable")
      ->type_name("NAME=VALUE");
  addDevice(*added, run.device);
  added->add_option("--diagnostics", diagnostics, "text, or json: one object per line");
  addGdn(*added);
}

void CommandLine::addDevice(CLI::App &verb, DeviceOptions &options) {
  verb.add_option("--device", options.name,
                  "gpu, sim (the simulator, on the CPU) or auto: sim where there is no GPU "
                  "(default: auto)");
  verb.add_option("--threads", options.threads,
                  "Threads of the simulator (default: one for each core)")
      ->check(atLeast(1));
}

void CommandLine::addTrace() {
  CLI::App *added = verb(
      app, "trace", "Show one CTA of a kernel in time, simulated or measured: who waits for whom",
      [this](Context &context) { return traceVerb(context, trace); });
  added->add_option("FILE", trace.kernel.file, "Kernel file; - for standard input")->required();
  addKernelChoice(*added, trace.kernel);
  added
      ->add_option("--case", trace.number,
                   "Which of the kernel's `check` cases gives the shape (default: 1)")
      ->check(atLeast(1));
  addList(*added, "--dim", trace.dims, "Another value for a dim of the case; repeatable")
      ->type_name("NAME=VALUE");
  addList(*added, "--set", trace.values,
          "The value of a scalar argument, or, with commas, the contents of an integer tensor; "
          "repeatable")
      ->type_name("NAME=VALUE");
  added->add_option("--block", trace.block, "Number of the CTA (default: 0)")
      ->check(atLeast(0));
  added
      ->add_option("--resident", trace.resident,
                   "CTAs that share a multiprocessor (default: what the kernel says)")
      ->check(CLI::Range(1, 32));
  added->add_option("--costs", trace.costs, "JSON file with costs that replace those of an H200")
      ->type_name("FILE");
  added->add_option("--device", trace.device,
                    "gpu: run the kernel instrumented on random tensors as well, and show both; "
                    "none: simulate only (default: none)");
  added->add_option("-o,--output", trace.output, "Trace for Perfetto or chrome://tracing")
      ->type_name("JSON");
  added->add_option("--svg", trace.svg, "Picture")->type_name("SVG");
  added->add_option("--diagnostics", diagnostics, "text, or json: one object per line");
}

void CommandLine::addGdn(CLI::App &parent) {
  CLI::App *added = verb(parent, "gdn.forward", "The whole forward of Gated Delta Networks",
                         [this, &parent](Context &context) {
                           // Those of a kernel would be ignored.
                           for (const CLI::Option *option : parent.get_options())
                             if (option->count() != 0)
                               return fail(context, usageError(option->get_name() +
                                                               " is no option of gdn.forward here: "
                                                               "its own stand behind it"));
                           return runGdnVerb(context, gdn);
                         });
  added
      ->add_option("--inputs", gdn.inputs,
                   "q, k, v, g, beta and, where wanted, initial_state, cu_seqlens, A_log, dt_bias; "
                   "without a file they are made up")
      ->type_name("SAFETENSORS");
  added->add_option("--outputs", gdn.outputs, "Where o and final_state go")
      ->type_name("SAFETENSORS");
  added->add_option("--scale", gdn.scale, "Factor of o (default: K^-1/2)");
  added->add_option("--state-layout", gdn.stateLayout,
                    "k-first [N, HV, K, V] or v-first [N, HV, V, K] (default: k-first)");
  added->add_option("--gate", gdn.gate,
                    "What g holds: log (natural log of the decay), linear, raw (with A_log and "
                    "dt_bias) (default: log)");
  added->add_flag("--beta-sigmoid", gdn.sigmoidBeta, "beta is given before the sigmoid");
  added->add_flag("--no-final-state", gdn.noFinalState, "Do not compute the final state");
  added->add_option("--value-block", gdn.valueBlock,
                    "Columns of V per CTA: 64 or 128 (default: by the shape)");
  added->add_option("--repeat", gdn.repeat, "Run so often and print the median time (default: 1)");
  added->add_flag("--check", gdn.check, "Compare with the recurrence in f64; exit status 1 if off");
  added->add_option("--tolerance", gdn.tolerance,
                    "Bound on the relative errors (default: 5e-3 for bf16, 2e-3 for f16)");
  addDevice(*added, gdn.device);
  added->add_flag("--no-cache", gdn.noCache, "Compile anew");
  added->add_flag("--no-run", gdn.noRun, "Compile the kernels for a GPU and do not run them");
  added
      ->add_option("--bundles", gdn.bundles,
                   "Keep the kernels in DIR, as BundleDirectory finds them")
      ->type_name("DIR");
  added->add_option("--diagnostics", diagnostics, "text, or json: one object per line");
  addGdnData(*added);
}

void CommandLine::addGdnData(CLI::App &verb) {
  const std::vector<CLI::Option *> made = {
      verb.add_option("--heads-qk", gdn.headsQk, "q/k heads (default: 1)"),
      verb.add_option("--heads-v", gdn.headsV, "Value heads, a multiple (default: 1)"),
      verb.add_option("--dim-k", gdn.dimK, "Head dim of q and k (default: 128)"),
      verb.add_option("--dim-v", gdn.dimV, "Head dim of v (default: 128)"),
      verb.add_option("--seqlens", gdn.lengths, "Lengths, such as 4096,1000 (default: 1024)"),
      verb.add_flag("--batch", gdn.batch, "Sequences of one length as a batch, not packed"),
      verb.add_flag("--initial-state", gdn.initialState, "Start from a random state"),
      verb.add_option("--dtype", gdn.dtype, "bf16 or f16 (default: bf16)"),
      verb.add_option("--seed", gdn.seed, "Seed of the random numbers (default: 1)")
          ->check(atLeast(0))};
  for (CLI::Option *option : made)
    option->group("Made inputs")->excludes(verb.get_option("--inputs"));
}

/// A word where only a verb can stand, and which is none.
std::optional<Error> unknownVerb(const CLI::App &app, const std::vector<std::string> &args) {
  const CLI::App *parent = &app;
  for (const std::string &arg : args) {
    if (parent->get_require_subcommand_min() == 0 || arg.starts_with('-'))
      return std::nullopt;
    const std::vector<const CLI::App *> verbs = parent->get_subcommands(nullptr);
    if (const auto verb = std::ranges::find(verbs, arg, &CLI::App::get_name); verb != verbs.end()) {
      parent = *verb;
      continue;
    }
    std::vector<std::string> names;
    for (const CLI::App *verb : verbs)
      names.push_back(verb->get_name());
    Error error = usageError("there is no verb `" + arg + "`");
    if (const std::string close = frontend::closestName(arg, names); !close.empty())
      error.notes.push_back("did you mean `" + close + "`?");
    return error;
  }
  return std::nullopt;
}

/// Parses and runs; everything that is thrown passes through.
int parseAndRun(std::vector<std::string> args, Context &context) {
  CommandLine line;
  const std::string hint = "`flashqlac --help` and `flashqlac VERB --help` show what there is";
  if (std::optional<Error> unknown = unknownVerb(line.app, args))
    return fail(context, std::move(*unknown).withNote(hint));
  std::ranges::reverse(args); // CLI11 takes them from the back
  try {
    line.app.parse(std::move(args));
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) { // --help, --version
      line.app.exit(error, context.out, context.err);
      return Done;
    }
    return fail(context, usageError(error.what()).withNote(hint));
  }
  if (line.diagnostics != "text" && line.diagnostics != "json")
    return fail(context,
                usageError("--diagnostics is text or json, not `" + line.diagnostics + "`"));
  context.jsonDiagnostics = line.diagnostics == "json";
  return line.action(context);
}

} // namespace

int run(const std::vector<std::string> &args, Context &context) {
  try {
    const int status = parseAndRun(args, context);
    context.out.flush();
    if (!context.out)
      return fail(context, Error{"file-write", "standard output could not be written", {}});
    return status;
  } catch (const std::bad_alloc &) {
    return fail(context, Error{"memory", "there is not enough memory for this", {}});
  } catch (const std::exception &error) { // sizes that no container takes
    return fail(context, Error{"memory", error.what(), {}});
  }
}

} // namespace flashqla::cli
