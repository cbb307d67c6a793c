// How `flashqlac run` matches the tensors of a file to a kernel.
#include "tools/flashqlac/launch_plan.h"

#include "compiler/syntax/parser.h"
#include "tests/unit/runtime_test_manifest.h"

#include <gtest/gtest.h>

using namespace flashqla;
using namespace flashqla::cli;
using namespace flashqla::testing;

namespace {

/// As it comes out of a bundle.
Manifest loaded(const Manifest &manifest) {
  Expected<Manifest> read = readManifest(writeManifest(manifest));
  EXPECT_TRUE(read);
  return *std::move(read);
}

NamedTensor tensor(std::string name, DType dtype, std::vector<std::int64_t> shape) {
  NamedTensor result{std::move(name), dtype, std::move(shape), {}};
  result.data.resize(static_cast<std::size_t>(result.ref().packedBytes()));
  return result;
}

Safetensors gemmInputs() {
  Safetensors file;
  file.tensors = {tensor("b", DType::BF16, {200, 504}), tensor("a", DType::BF16, {300, 504})};
  return file;
}

Safetensors raggedInputs() {
  Safetensors file;
  file.tensors = {tensor("q", DType::BF16, {100, 4, 128}), tensor("g", DType::F32, {100, 4}),
                  tensor("seq", DType::I32, {3})};
  return file;
}

const std::vector<Definition> raggedScalars = {{"scale", "0.5"}, {"first", "3"}, {"flag", "true"}};

std::string errorOf(const Expected<LaunchPlan> &plan) {
  return plan ? "no error" : plan.error().text();
}

} // namespace

TEST(LaunchPlan, tensors_by_name_and_outputs_by_their_shape) {
  Safetensors inputs = gemmInputs();
  inputs.tensors.push_back(tensor("more", DType::F32, {1}));
  const Expected<LaunchPlan> plan = planLaunch(loaded(gemmManifest()), std::move(inputs), {}, {});
  ASSERT_TRUE(plan) << errorOf(plan);
  ASSERT_EQ(plan->arguments.size(), 3u);
  EXPECT_EQ(plan->arguments[0].tensor.name, "a");
  EXPECT_EQ(cli::typeText(plan->arguments[2].tensor), "bf16[300, 200]");
  EXPECT_EQ(plan->arguments[2].tensor.data.size(), 300u * 200 * 2);
  EXPECT_EQ(plan->blocks, 3 * 2);
  EXPECT_EQ(plan->unused, std::vector<std::string>{"more"});
}

TEST(LaunchPlan, a_dim_of_the_command_line_and_scalars) {
  const Manifest manifest = loaded(raggedManifest());
  const Expected<LaunchPlan> plan =
      planLaunch(manifest, raggedInputs(), raggedScalars, {{"SLOTS", "4"}});
  ASSERT_TRUE(plan) << errorOf(plan);
  ASSERT_EQ(plan->dims.size(), 1u);
  EXPECT_EQ(plan->dims[0].name, "SLOTS");
  EXPECT_EQ(plan->arguments[4].scalar.real(), 0.5);
  EXPECT_EQ(plan->arguments[5].scalar.integer(), 3);
  EXPECT_EQ(plan->arguments[6].scalar.kind(), Arg::Kind::Bool);
}

TEST(LaunchPlan, what_does_not_fit_is_named) {
  const Manifest gemm = loaded(gemmManifest()), ragged = loaded(raggedManifest());
  Safetensors inputs = gemmInputs();
  inputs.tensors[0].name = "bb";
  EXPECT_EQ(errorOf(planLaunch(gemm, inputs, {}, {})),
            "the inputs have no tensor `b` (bf16[N, K]); they have `bb`, `a` [run-input]");
  inputs = gemmInputs();
  inputs.tensors[1] = tensor("a", DType::F32, {300, 504});
  EXPECT_EQ(errorOf(planLaunch(gemm, inputs, {}, {})),
            "the tensor `a` is f32[300, 504], the kernel takes bf16[M, K] [run-input]");
  inputs.tensors[1] = tensor("a", DType::BF16, {300});
  EXPECT_EQ(errorOf(planLaunch(gemm, inputs, {}, {})),
            "the tensor `a` is bf16[300], the kernel takes bf16[M, K] [run-input]");
  inputs.tensors[1] = tensor("a", DType::BF16, {300, 512});
  EXPECT_TRUE(errorOf(planLaunch(gemm, inputs, {}, {})).ends_with("[launch-shape]"));
  EXPECT_EQ(errorOf(planLaunch(gemm, gemmInputs(), {{"alpha", "1"}}, {})),
            "--set alpha: `gemm_nt` has no scalar of that name; its scalars: none [run-scalar]");
  EXPECT_EQ(errorOf(planLaunch(gemm, gemmInputs(), {}, {{"Q", "1"}})),
            "--dim Q: `gemm_nt` has no dim of that name; its dims: `M`, `N`, `K` [run-dim]");
  EXPECT_EQ(errorOf(planLaunch(gemm, gemmInputs(), {}, {{"M", "many"}})),
            "--dim M=many: a dim is an integer [usage]");
  EXPECT_TRUE(errorOf(planLaunch(ragged, raggedInputs(), raggedScalars, {}))
                  .starts_with("the sizes of the tensors do not give dim `SLOTS`"));
  std::vector<Definition> scalars = raggedScalars;
  scalars[1].value = "3.5";
  EXPECT_EQ(errorOf(planLaunch(ragged, raggedInputs(), scalars, {{"SLOTS", "4"}})),
            "--set first=3.5: `first` is a scalar of type i32, which is given as an integer "
            "[run-scalar]");
  EXPECT_TRUE(errorOf(planLaunch(ragged, raggedInputs(), raggedScalars, {{"SLOTS", "5"}}))
                  .ends_with("[launch-where]"));
}

TEST(LaunchPlan, outputs_no_machine_holds_are_refused) {
  Manifest manifest = gemmManifest();
  manifest.arguments[2].shape = {expr("M * 1000000"), expr("N * 1000000")};
  EXPECT_TRUE(errorOf(planLaunch(loaded(manifest), gemmInputs(), {}, {})).ends_with("[run-dim]"));
}

TEST(LaunchPlan, tensors_decide_static_dims_and_element_types) {
  const SourceFile file("k.tile", "kernel k[T, H: static, D: static]<E = bf16>(\n"
                                  "    q: in E[T, (H), D],\n"
                                  "    o: out E[T, H, D])\n"
                                  "  grid (h: H)\n{\n}\n");
  Diagnostics diagnostics;
  const ast::Module module = parse(file, diagnostics);
  const ast::Kernel &kernel = std::get<ast::Kernel>(module.items.front().node);
  Safetensors inputs;
  inputs.tensors = {tensor("q", DType::F16, {10, 3, 64})};
  frontend::Bindings bindings = {{"D", std::int64_t{128}}};
  bindFromTensors(kernel, inputs, bindings);
  EXPECT_EQ(bindings, (frontend::Bindings{{"D", std::int64_t{128}}, // as -D says
                                          {"E", ast::ScalarType::F16},
                                          {"H", std::int64_t{3}}}));
}
