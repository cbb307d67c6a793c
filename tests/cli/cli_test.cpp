// The command line, run in process in a folder of its own.
//
//   // RUN: check --diagnostics=json %s
//
// runs those arguments, %s being a file with the text of the golden file. What is compared is all
// that it prints, results and messages together, and the exit status where it is not 0. There is
// no GPU in these tests.
#include "tests/cli/cli_harness.h"

#include "flashqla/bundle.h"
#include "runtime/files.h"
#include "runtime/safetensors.h"
#include "tests/file_test.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <filesystem>

using namespace flashqla;
using namespace flashqla::testing;

namespace fs = std::filesystem;

namespace {

constexpr const char *scaleKernel = R"(/// y = factor x
kernel scale[N]<W = 1024>(
    x: in  f32[N],
    y: out f32[N],
    factor: f32)
  grid (p: ceildiv(N, W))
  check (N = 1024), (N = 1500)
{
  warpgroup work regs 64 {
    frag v: f32[W]
    copy v <- x[p*W +: W]
    v *= factor
    copy y[p*W +: W] <- v
  }
}
)";

std::string contents(const std::string &path) {
  const Expected<std::string> text = readFile(path);
  EXPECT_TRUE(text) << path;
  return text ? *text : "";
}

bool holds(const std::string &text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string golden(const fq_test::Input &input) {
  TemporaryFolder folder;
  fq_test::writeFile(input.name, input.text);
  std::vector<std::string> args = input.args;
  for (std::string &arg : args)
    if (arg == "%s")
      arg = input.name;
  const CliResult result = runCli(args);
  return result.all + (result.status ? fmt::format("exit status {}\n", result.status) : "");
}

/// For what only NVRTC can do.
class CompileTest : public ::testing::Test {
protected:
  void SetUp() override {
    fq_test::writeFile("scale.tile", scaleKernel);
    const CliResult result = runCli({"compile", "scale.tile", "--emit=manifest"});
    if (result.status == cli::Failed && holds(result.all, "[nvrtc-missing]"))
      GTEST_SKIP() << result.all;
    ASSERT_EQ(result.status, cli::Done) << result.all;
  }

  TemporaryFolder folder;
};

} // namespace

TEST(Cli, help_names_every_verb_and_the_exit_codes) {
  const CliResult help = runCli({"--help"});
  EXPECT_EQ(help.status, cli::Done);
  for (const char *word :
       {"compile", "fmt", "check", "env", "explain", "cache", "run", "trace", "Exit status"})
    EXPECT_TRUE(holds(help.out, word)) << word << "\n" << help.out;
  EXPECT_TRUE(holds(runCli({"run", "gdn.forward", "--help"}).out, "--seqlens"));
  EXPECT_TRUE(holds(runCli({"--version"}).out, "flashqlac "));
}

TEST(Cli, what_cannot_be_understood_is_a_usage_error) {
  for (const std::vector<std::string> &args : std::vector<std::vector<std::string>>{
           {},
           {"complie", "x.tile"},
           {"compile"},
           {"compile", "x.tile", "--frob"},
           {"check", "x.tile", "--diagnostics=xml"},
           {"trace"},
           {"trace", "x.tile", "--dim", "K"},
           {"run"},
           {"run", "x.tile"},
           {"run", "gdn.forward", "--seed", "one"},
           {"run", "x.tile", "gdn.forward"},
           {"run", "--inputs", "x", "gdn.forward"},
           {"compile", "x.tile", "--arch", "sm_80"},
           {"run", "gdn.forward", "--inputs", "x", "--heads-v", "4"},
           {"cache", "gc", "--max-mb=-1"}}) {
    const CliResult result = runCli(args);
    EXPECT_EQ(result.status, cli::Usage) << fmt::format("{}", fmt::join(args, " ")) << result.all;
    EXPECT_TRUE(holds(result.err, "[usage]")) << result.err;
    EXPECT_EQ(result.out, "");
  }
}

TEST(Cli, every_stage_before_machine_code_prints) {
  TemporaryFolder folder;
  fq_test::writeFile("scale.tile", scaleKernel);
  const std::pair<const char *, const char *> stages[] = {{"tokens", "kernel"},
                                                          {"ast", "scale"},
                                                          {"tile", "tile.kernel"},
                                                          {"layouts", "v"},
                                                          {"schedule", "work"},
                                                          {"lowered", "tile.kernel"},
                                                          {"cuda", "extern \"C\" __global__"}};
  for (const auto &[stage, part] : stages) {
    const CliResult result = runCli({"compile", "scale.tile", "--emit", stage});
    EXPECT_EQ(result.status, cli::Done) << stage << result.all;
    EXPECT_TRUE(holds(result.out, part)) << stage << "\n" << result.out;
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(runCli({"compile", "scale.tile", "--emit", stage, "-o", "stage"}).out, "");
    EXPECT_EQ(contents("stage"), result.out);
  }
}

TEST(Cli, source_from_standard_input) {
  const CliResult result = runCli({"compile", "-", "--emit=ast"}, scaleKernel);
  EXPECT_EQ(result.status, cli::Done) << result.all;
  EXPECT_TRUE(holds(result.out, "scale"));
  EXPECT_EQ(runCli({"fmt", "-"}, "const  C=64").out, "const C = 64\n");
}

TEST(Cli, a_binary_file_is_no_kernel) {
  TemporaryFolder folder;
  fq_test::writeFile("k.cubin", std::string("\x7f"
                                            "ELF\0\0",
                                            6));
  const CliResult result = runCli({"check", "k.cubin"});
  EXPECT_EQ(result.status, cli::Failed);
  EXPECT_EQ(result.err, "error: k.cubin is no text [file-read]\n");
}

TEST(Cli, fmt_rewrites_only_what_changes) {
  TemporaryFolder folder;
  fs::create_directories("below/deeper");
  fq_test::writeFile("below/a.tile", "const  C=64");
  fq_test::writeFile("below/deeper/b.tile", "const C = 64\n");
  EXPECT_EQ(runCli({"fmt", "--check", "below"}).all, "below/a.tile is not formatted\n");
  EXPECT_EQ(runCli({"fmt", "below"}).all, "formatted below/a.tile\n");
  EXPECT_EQ(contents("below/a.tile"), "const C = 64\n");
  const CliResult again = runCli({"fmt", "--check", "below"});
  EXPECT_EQ(again.all, "");
  fs::create_directory("empty");
  EXPECT_TRUE(holds(runCli({"fmt", "empty"}).err, "[file-missing]"));
  EXPECT_EQ(again.status, cli::Done);
}

TEST(Cli, a_cubin_does_not_go_to_a_terminal) {
  TemporaryFolder folder;
  fq_test::writeFile("scale.tile", scaleKernel);
  CliSettings settings;
  settings.terminal = true;
  const CliResult result = runCli({"compile", "scale.tile", "--emit=cubin"}, "", settings);
  EXPECT_EQ(result.status, cli::Usage);
  EXPECT_EQ(result.out, "");
}

TEST(Cli, env_says_what_to_do_about_what_is_missing) {
  CliSettings settings;
  settings.environment.libnvrtc = "/nowhere/libnvrtc.so";
  const CliResult result = runCli({"env"}, "", settings);
  EXPECT_EQ(result.status, cli::Done);
  for (const char *part : {"flashqla ", "LLVM ", "nvidia-cuda-nvrtc", "`run` simulates", "cache ",
                           "FLASHQLA_CACHE_DIR"})
    EXPECT_TRUE(holds(result.out, part)) << part << "\n" << result.out;
}

TEST(Cli, a_trace_without_nvrtc_ends_with_the_cuda_text) {
  TemporaryFolder folder;
  fq_test::writeFile("scale.tile", scaleKernel);
  const CliResult result =
      runCli({"compile", "scale.tile", "-D", "W=512", "--emit=cuda", "--trace", "dumps"});
  ASSERT_EQ(result.status, cli::Done) << result.all;
  const std::string first = "// flashqlac compile scale.tile -D W=512 ";
  EXPECT_EQ(contents("dumps/00-source.tile"), first + "--trace dumps\n" + scaleKernel);
  EXPECT_EQ(contents("dumps/07-cuda.cu"), first + "--emit=cuda\n" + result.out);
  for (const char *name : {"01-tokens.txt", "02-ast.txt", "03-tile.mlir", "04-layouts.txt",
                           "05-schedule.txt", "06-lowered.mlir"})
    EXPECT_TRUE(contents(std::string("dumps/") + name).starts_with(first)) << name;
  EXPECT_FALSE(fs::exists("dumps/08-ptx.ptx"));
}

TEST(Cli, the_environment_asks_for_traces_too) {
  TemporaryFolder folder;
  fq_test::writeFile("scale.tile", scaleKernel);
  CliSettings settings;
  settings.environment.trace = "traces";
  const std::vector<std::string> args = {"compile", "scale.tile", "-D", "W=512", "--emit=ast"};
  EXPECT_EQ(runCli(args, "", settings).status, cli::Done);
  EXPECT_TRUE(fs::exists("traces/scale.W512/02-ast.txt"));
  fq_test::writeFile("file", "");
  settings.environment.trace = "file";
  const CliResult refused = runCli(args, "", settings);
  EXPECT_EQ(refused.status, cli::Failed);
  EXPECT_TRUE(holds(refused.err, "[file-write]")) << refused.err;
}

TEST(Cli, a_kernel_is_instrumented_where_that_is_asked_for) {
  TemporaryFolder folder;
  fq_test::writeFile("scale.tile", scaleKernel);
  const CliResult plain = runCli({"compile", "scale.tile", "--emit=cuda"});
  EXPECT_FALSE(holds(plain.out, "timeline")) << plain.out;
  const CliResult instrumented = runCli({"compile", "scale.tile", "--emit=cuda", "--instrument"});
  EXPECT_EQ(instrumented.status, cli::Done);
  EXPECT_TRUE(holds(instrumented.out, "timeline_now = timeline_record(timeline, "))
      << instrumented.out;
}

TEST(Cli, a_timeline_goes_to_files_and_costs_come_from_one) {
  TemporaryFolder folder;
  fq_test::writeFile("scale.tile", scaleKernel);
  fq_test::writeFile("slow.json", R"({"globalLatency": 100000})");
  fq_test::writeFile("wrong.json", R"({"latency": 1})");
  const CliResult plain = runCli({"trace", "scale.tile", "-o", "t.json", "--svg", "t.svg"});
  ASSERT_EQ(plain.status, cli::Done) << plain.all;
  EXPECT_TRUE(holds(plain.out, "scale at N = 1024\nsimulated scale, CTA 0 of 1: ")) << plain.out;
  EXPECT_TRUE(holds(contents("t.json"), R"("name":"copy v <- x[p*W +: W]","cat":"copy")"));
  EXPECT_TRUE(contents("t.svg").starts_with("<svg "));
  const CliResult slow = runCli({"trace", "scale.tile", "--costs", "slow.json", "--case", "2"});
  EXPECT_TRUE(holds(slow.out, "scale at N = 1500\nsimulated scale, CTA 0 of 2: 10")) << slow.out;
  const CliResult wrong = runCli({"trace", "scale.tile", "--costs", "wrong.json"});
  EXPECT_EQ(wrong.status, cli::Mistakes);
  EXPECT_TRUE(holds(wrong.err, "there is no cost `latency`")) << wrong.err;
  EXPECT_EQ(runCli({"trace", "scale.tile", "-o", "none/t.json"}).status, cli::Failed);
}

TEST_F(CompileTest, outputs_by_the_name_of_the_file) {
  EXPECT_TRUE(holds(runCli({"compile", "scale.tile"}).out, "scale for sm_90a: 128 threads, "));
  ASSERT_EQ(runCli({"compile", "scale.tile", "-o", "scale.fqb"}).status, cli::Done);
  const Expected<Bundle> bundle = Bundle::read("scale.fqb");
  ASSERT_TRUE(bundle) << bundle.error().text();
  ASSERT_EQ(runCli({"compile", "scale.tile", "-o", "scale.cubin"}).status, cli::Done);
  EXPECT_EQ(contents("scale.cubin"), bundle->cubin);
  EXPECT_TRUE(bundle->cubin.starts_with("\x7f"
                                        "ELF"));
  ASSERT_EQ(runCli({"compile", "scale.tile", "-o", "scale.cu"}).status, cli::Done);
  EXPECT_EQ(contents("scale.cu"), bundle->cuda);
  fs::create_directory("bundles");
  ASSERT_EQ(runCli({"compile", "scale.tile", "-D", "W=512", "-o", "bundles"}).status, cli::Done);
  EXPECT_TRUE(fs::exists("bundles/scale.W512.fqb"));
}

TEST_F(CompileTest, a_trace_has_every_stage) {
  ASSERT_EQ(runCli({"compile", "scale.tile", "--trace", "dumps"}).status, cli::Done);
  const std::string first = "// flashqlac compile scale.tile --emit=";
  EXPECT_TRUE(contents("dumps/08-ptx.ptx").starts_with(first + "ptx\n"));
  EXPECT_EQ(contents("dumps/09-cubin.txt"), first + "cubin -o FILE\n");
  EXPECT_TRUE(contents("dumps/09-cubin.cubin")
                  .starts_with("\x7f"
                               "ELF"));
  EXPECT_TRUE(contents("dumps/10-manifest.jsonc").starts_with(first + "manifest\n{"));
}

TEST_F(CompileTest, the_cache_is_filled_listed_explained_and_emptied) {
  CliSettings settings;
  settings.environment.cacheDir = "kernels";
  EXPECT_TRUE(holds(runCli({"cache", "why", "scale.tile"}, "", settings).out, "no entry of scale"));
  EXPECT_TRUE(holds(runCli({"compile", "scale.tile"}, "", settings).out, "compiled in"));
  EXPECT_TRUE(holds(runCli({"compile", "scale.tile"}, "", settings).out, "from the cache"));
  EXPECT_TRUE(
      holds(runCli({"compile", "scale.tile", "--no-cache"}, "", settings).out, "compiled in"));
  EXPECT_TRUE(holds(runCli({"cache", "ls"}, "", settings).out, "scale.sm_90a."));
  EXPECT_TRUE(holds(runCli({"cache", "why", "scale.tile"}, "", settings).out, "the cache has it"));
  EXPECT_TRUE(holds(runCli({"cache", "why", "scale.tile", "-D", "W=512"}, "", settings).out,
                    "+ param W: 512"));
  EXPECT_EQ(runCli({"cache", "verify"}, "", settings).out, "1 kernel, all as written\n");
  EXPECT_TRUE(holds(runCli({"cache", "gc", "--max-mb=0"}, "", settings).out, "1 kernel removed"));
  EXPECT_TRUE(holds(runCli({"cache", "ls"}, "", settings).out, "0 kernels"));
}

namespace {

/// `run` on a kernel that is written to a file, with x = 1, 2, … 8 for an input.
class RunTest : public ::testing::Test {
protected:
  CliResult run(const char *kernel, std::vector<std::string> more) {
    fq_test::writeFile("kernel.tile", kernel);
    Safetensors file;
    std::vector<float> data = {1, 2, 3, 4, 5, 6, 7, 8};
    file.add("x", TensorRef::packed(data.data(), DType::F32, {8}));
    EXPECT_TRUE(file.write("in.safetensors"));
    std::vector<std::string> args = {"run",       "kernel.tile",    "--inputs", "in.safetensors",
                                     "--outputs", "out.safetensors"};
    args.insert(args.end(), more.begin(), more.end());
    CliSettings settings;
    settings.environment.libnvrtc = "/nowhere/libnvrtc.so";
    return runCli(args, "", settings);
  }

  TemporaryFolder folder;
};

/// Without a `check` clause nothing is known of its shapes before it runs.
constexpr const char *shiftKernel = R"(kernel shift[N](x: in f32[N], y: out f32[N])
  grid (p: 1)
{
  warpgroup work regs 64 {
    map (c: 8) y[c] = x[c + 1] where c < N
  }
}
)";

} // namespace

TEST_F(RunTest, finds_mistakes_in_what_it_is_given) {
  const auto scale = [&](std::vector<std::string> more) { return run(scaleKernel, more).err; };
  EXPECT_TRUE(holds(scale({}), "the scalar `factor: f32` has no value")) << scale({});
  EXPECT_TRUE(holds(scale({"--set", "factr=2"}), "did you mean `factor`?"));
  EXPECT_TRUE(holds(scale({"--device", "gpu", "--threads", "2"}), "[usage]"));
  EXPECT_TRUE(holds(scale({"--threads", "0"}), "[usage]"));
  const CliResult noGpu = run(scaleKernel, {"--device", "gpu", "--set", "factor=2"});
  EXPECT_EQ(noGpu.status, cli::Failed);
  EXPECT_TRUE(holds(noGpu.err, "[driver-missing]")) << noGpu.err;
}

TEST_F(RunTest, names_the_tensor_that_a_static_dim_needs) {
  const CliResult result =
      run("kernel k[N: static, M: static](x: in f32[N], w: in f32[M], y: out f32[N])\n"
          "  grid (p: 1)\n{\n}\n",
          {"--device", "sim"});
  EXPECT_EQ(result.status, cli::Mistakes);
  EXPECT_EQ(result.err,
            "error: the inputs have no tensor `w`, which says how large `M` is [run-input]\n");
}

TEST_F(RunTest, needs_neither_gpu_nor_nvrtc) {
  for (const std::vector<std::string> &device :
       {std::vector<std::string>{}, {"--device", "sim", "--threads", "2"}}) {
    std::vector<std::string> args = {"--set", "factor=2"};
    args.insert(args.end(), device.begin(), device.end());
    const CliResult result = run(scaleKernel, args);
    ASSERT_EQ(result.status, cli::Done) << result.all;
    EXPECT_TRUE(holds(result.out, "scale: 1 CTA of 128 threads on the simulator\n")) << result.out;
    EXPECT_EQ(holds(result.err, "running in the simulator"), device.empty()) << result.err;
    const Expected<Safetensors> written = Safetensors::read("out.safetensors");
    ASSERT_TRUE(written) << written.error().text();
    const std::vector<std::byte> &bytes = written->tensors.front().data;
    EXPECT_EQ(reinterpret_cast<const float *>(bytes.data())[7], 16);
  }
}

TEST_F(RunTest, shows_what_the_simulator_finds) {
  const CliResult result = run(shiftKernel, {"--device", "sim"});
  EXPECT_EQ(result.status, cli::Mistakes);
  EXPECT_EQ(result.err,
            R"(kernel.tile:5:23: error: index 8 of `x`, which has 8 there [out-of-bounds]
    5 |     map (c: 8) y[c] = x[c + 1] where c < N
      |                       ^^^^^^^^
  note: found in a launch at N = 8
)");
  const CliResult json = run(shiftKernel, {"--device", "sim", "--diagnostics=json"});
  EXPECT_TRUE(json.err.starts_with("{") && holds(json.err, "\"kind\":\"out-of-bounds\""))
      << json.err;
}

TEST(Cli, gdn_forward_in_the_simulator) {
  TemporaryFolder folder;
  const std::vector<std::string> run = {
      "run",     "gdn.forward", "--dim-k", "64",       "--dim-v", "64",        "--heads-v",    "2",
      "--check", "--seqlens",   "70,5",    "--device", "sim",     "--outputs", "o.safetensors"};
  const CliResult result = runCli(run);
  EXPECT_EQ(result.status, cli::Done) << result.all;
  EXPECT_TRUE(holds(result.out, "gdn.forward on the simulator: 2 sequences, 75 tokens"));
  EXPECT_TRUE(fs::exists("o.safetensors"));
  std::vector<std::string> more = run;
  more.insert(more.end(), {"--bundles", "kernels"});
  EXPECT_EQ(runCli(more).status, cli::Usage);
}

int main(int argc, char **argv) { return fq_test::main(argc, argv, "cli", "cli/testdata", golden); }
