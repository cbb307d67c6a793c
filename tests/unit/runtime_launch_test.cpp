#include "flashqla/runtime.h"
#include "runtime/device_state.h"
#include "runtime/scalar.h"
#include "runtime_allocation_count.h"
#include "runtime_fake_driver.h"
#include "runtime_test_manifest.h"

#include <gtest/gtest.h>

using namespace flashqla;
using namespace flashqla::testing;

namespace {

Bundle bundleOf(const Manifest &manifest) {
  return {writeManifest(manifest), "\177ELF", "", "", ""};
}

void *at(std::uintptr_t address) { return reinterpret_cast<void *>(address); }

class Launch : public ::testing::Test {
protected:
  void SetUp() override {
    recorder = Recorder();
    device.emplace(*Device::openWith(fakeDriver(), 0));
  }
  void TearDown() override {
    device.reset();
    EXPECT_EQ(recorder.liveAllocations, 0);
  }

  Kernel load(const Manifest &manifest) {
    auto kernel = Kernel::load(*device, bundleOf(manifest));
    EXPECT_TRUE(bool(kernel)) << kernel.error().text();
    return *std::move(kernel);
  }

  /// gemm_nt on packed tensors of these sizes.
  static std::vector<Arg> gemmArgs(std::int64_t m, std::int64_t n, std::int64_t k) {
    return {TensorRef::packed(at(0x10000), DType::BF16, {m, k}),
            TensorRef::packed(at(0x20000), DType::BF16, {n, k}),
            TensorRef::packed(at(0x30000), DType::BF16, {m, n})};
  }

  /// The ragged kernel: q inside a packed projection of 1024 elements a row, T = 100, NS = 3.
  static std::vector<Arg> raggedArgs() {
    return {TensorRef::strided(at(0x10000), DType::BF16, {100, 4, 128}, {1024, 128, 1}),
            TensorRef::strided(at(0x20004), DType::F32, {100, 4}, {5, 1}),
            TensorRef::packed(at(0x30000), DType::I32, {4}),
            TensorRef::packed(at(0x40000), DType::BF16, {100, 4, 128}),
            0.125f,
            -7,
            true};
  }
  static LaunchOptions slots(std::int64_t value) {
    static DimValue dim;
    dim = {"SLOTS", value};
    LaunchOptions options;
    options.dims = &dim;
    options.dimCount = 1;
    return options;
  }

  static std::string textOf(const Expected<void> &done) {
    return done ? "fine" : done.error().text();
  }
  std::string gemm(const std::vector<Arg> &args, LaunchOptions options = {}) {
    const Kernel kernel = load(gemmManifest());
    return textOf(kernel.launch(nullptr, args.data(), args.size(), options));
  }
  std::string ragged(const std::vector<Arg> &args, LaunchOptions options = slots(5)) {
    const Kernel kernel = load(raggedManifest());
    return textOf(kernel.launch(nullptr, args.data(), args.size(), options));
  }

  std::optional<Device> device;
};

template <class T> T valueOf(const std::string &bytes) {
  T value;
  EXPECT_EQ(bytes.size(), sizeof value);
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

} // namespace

TEST_F(Launch, loading_sets_the_entry_and_the_shared_memory) {
  const Kernel kernel = load(gemmManifest());
  EXPECT_EQ(recorder.entry, "gemm_nt");
  EXPECT_EQ(recorder.maxDynamicShared, 164 * 1024);
  EXPECT_EQ(kernel.manifest(), gemmManifest());
}

TEST_F(Launch, gemm_maps_grid_and_params) {
  const Kernel kernel = load(gemmManifest());
  recorder.paramBytes = {128, 128, 128, 8, 8, 8};
  const auto args = gemmArgs(300, 200, 504);
  LaunchOptions options;
  options.dependentLaunch = true;
  const auto stream = reinterpret_cast<StreamHandle>(0x77);
  ASSERT_EQ(textOf(kernel.launch(stream, args.data(), args.size(), options)), "fine");

  ASSERT_EQ(recorder.maps.size(), 3u);
  const RecordedMap &b = recorder.maps[1];
  EXPECT_EQ(b.type, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
  EXPECT_EQ(b.address, at(0x20000));
  EXPECT_EQ(b.extents, (std::vector<std::uint64_t>{504, 200}));
  EXPECT_EQ(b.strides, (std::vector<std::uint64_t>{1008}));
  EXPECT_EQ(b.box, (std::vector<std::uint32_t>{64, 128}));
  EXPECT_EQ(b.swizzle, CU_TENSOR_MAP_SWIZZLE_128B);
  EXPECT_EQ(b.promotion, CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
  EXPECT_EQ(b.fill, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);

  ASSERT_EQ(recorder.launches.size(), 1u);
  const RecordedLaunch &launch = recorder.launches[0];
  EXPECT_EQ(launch.config.gridDimX, 6u);
  EXPECT_EQ(launch.config.gridDimY * launch.config.gridDimZ, 1u);
  EXPECT_EQ(launch.config.blockDimX, 384u);
  EXPECT_EQ(launch.config.sharedMemBytes, 164u * 1024);
  EXPECT_EQ(launch.config.hStream, stream);
  EXPECT_TRUE(launch.dependent);
  for (int map = 0; map < 3; ++map)
    EXPECT_EQ(launch.params[map], std::string(128, char(map + 1)));
  EXPECT_EQ(valueOf<std::int64_t>(launch.params[3]), 300);
  EXPECT_EQ(valueOf<std::int64_t>(launch.params[4]), 200);
  EXPECT_EQ(valueOf<std::int64_t>(launch.params[5]), 504);
}

TEST_F(Launch, ragged_map_strides_scalars_and_dims_of_the_call) {
  const Kernel kernel = load(raggedManifest());
  recorder.paramBytes = {128, 128, 8, 8, 8, 8, 8, 4, 4, 1, 8};
  const auto args = raggedArgs();
  ASSERT_EQ(textOf(kernel.launch(nullptr, args.data(), args.size(), slots(5))), "fine");

  ASSERT_EQ(recorder.maps.size(), 2u);
  const RecordedMap &q = recorder.maps[0], &o = recorder.maps[1];
  EXPECT_EQ(q.rank, 5u);
  EXPECT_EQ(q.extents, (std::vector<std::uint64_t>{128, 4, 1u << 30, 0x7fff0000, 0x7fff0000}));
  EXPECT_EQ(q.strides, (std::vector<std::uint64_t>{256, 2048, 2048, (1ull << 35) - 2048}));
  EXPECT_EQ(q.box, (std::vector<std::uint32_t>{64, 1, 64, 1, 1}));
  EXPECT_EQ(o.extents, (std::vector<std::uint64_t>{128, 3, 100}));
  EXPECT_EQ(o.strides, (std::vector<std::uint64_t>{1024, 1024}));
  EXPECT_EQ(o.box, (std::vector<std::uint32_t>{64, 2, 32}));
  EXPECT_EQ(o.swizzle, CU_TENSOR_MAP_SWIZZLE_NONE);
  EXPECT_EQ(o.promotion, CU_TENSOR_MAP_L2_PROMOTION_NONE);
  EXPECT_EQ(o.fill, CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA);

  const RecordedLaunch &launch = recorder.launches.at(0);
  EXPECT_EQ(launch.config.gridDimX, 12u);
  EXPECT_FALSE(launch.dependent);
  EXPECT_EQ(valueOf<void *>(launch.params[2]), at(0x20004));
  EXPECT_EQ(valueOf<std::int64_t>(launch.params[3]), 5);
  EXPECT_EQ(valueOf<void *>(launch.params[4]), at(0x30000));
  EXPECT_EQ(valueOf<std::int64_t>(launch.params[5]), 3);
  EXPECT_EQ(valueOf<std::int64_t>(launch.params[6]), 5);
  EXPECT_EQ(valueOf<float>(launch.params[7]), 0.125f);
  EXPECT_EQ(valueOf<std::int32_t>(launch.params[8]), -7);
  EXPECT_EQ(valueOf<std::uint8_t>(launch.params[9]), 1);
}

TEST_F(Launch, a_failed_assert_is_reported_once) {
  const Kernel kernel = load(raggedManifest());
  recorder.paramBytes = {128, 128, 8, 8, 8, 8, 8, 4, 4, 1, 8};
  const auto args = raggedArgs();
  ASSERT_EQ(textOf(kernel.launch(nullptr, args.data(), args.size(), slots(5))), "fine");
  EXPECT_TRUE(bool(kernel.takeFailedAssert()));
  *valueOf<std::uint32_t *>(recorder.launches[0].params[10]) = 2;
  EXPECT_EQ(textOf(kernel.takeFailedAssert()),
            "chain.tile:20: `assert s >= 0` failed in chain [assert-failed]");
  EXPECT_TRUE(bool(kernel.takeFailedAssert()));
}

TEST_F(Launch, an_instrumented_kernel_records_in_a_buffer) {
  const Kernel kernel = load(instrumentedManifest());
  ASSERT_TRUE(bool(kernel.recordTimeline(17)));
  recorder.paramBytes.assign(kernel.manifest().cudaParams.size(), 8);
  for (std::size_t i = 0; i < kernel.manifest().tensorMaps.size(); ++i)
    recorder.paramBytes[i] = 128;
  const auto args = gemmArgs(100, 200, 64);
  ASSERT_EQ(textOf(kernel.launch(nullptr, args.data(), args.size())), "fine");
  auto *buffer = valueOf<TimelineRecord *>(recorder.launches[0].params.back());
  EXPECT_EQ(buffer[0].begin, 17u); // the CTA that records
  EXPECT_EQ(buffer[1].code, 0u);
  EXPECT_EQ(kernel.takeTimeline().error().text(),
            "gemm_nt recorded nothing: it was not launched on a GPU, or its grid has no such CTA "
            "[kernel-timeline]");
  buffer[1] = {10, 20, 1};
  for (std::uint32_t i = 4; i < 7; ++i)
    buffer[i] = {10 * i, 10 * i + 5, 3};
  const auto recorded = kernel.takeTimeline();
  ASSERT_TRUE(bool(recorded));
  ASSERT_EQ(recorded->size(), 2u);
  ASSERT_EQ((*recorded)[0].size(), 1u);
  EXPECT_EQ((*recorded)[0][0].end, 20u);
  ASSERT_EQ((*recorded)[1].size(), 3u); // full
  EXPECT_EQ((*recorded)[1][2].begin, 60u);
  ASSERT_TRUE(bool(kernel.recordTimeline(0)));
  EXPECT_FALSE(bool(kernel.takeTimeline())); // it was emptied
}

TEST_F(Launch, a_plain_kernel_records_nothing) {
  const Kernel kernel = load(gemmManifest());
  const std::string want =
      "gemm_nt records no timeline: it was compiled without --instrument [kernel-timeline]";
  EXPECT_EQ(textOf(kernel.recordTimeline(0)), want);
  EXPECT_EQ(kernel.takeTimeline().error().text(), want);
}

TEST_F(Launch, a_second_launch_allocates_and_encodes_nothing) {
  const Kernel kernel = load(raggedManifest());
  const auto args = raggedArgs();
  const LaunchOptions options = slots(5);
  ASSERT_EQ(textOf(kernel.launch(nullptr, args.data(), args.size(), options)), "fine");
  recorder.launches.reserve(8);
  const long before = allocationCount();
  const Expected<void> done = kernel.launch(nullptr, args.data(), args.size(), options);
  const long after = allocationCount();
  EXPECT_TRUE(bool(done));
  EXPECT_EQ(after, before);
  EXPECT_EQ(recorder.maps.size(), 2u);
  EXPECT_EQ(recorder.launches.size(), 2u);
}

TEST_F(Launch, maps_follow_the_tensor_not_the_call) {
  const Kernel kernel = load(gemmManifest());
  const auto one = gemmArgs(128, 128, 64), two = gemmArgs(256, 128, 64);
  for (const auto *args : {&one, &two, &one, &two})
    ASSERT_EQ(textOf(kernel.launch(nullptr, args->data(), args->size())), "fine");
  EXPECT_EQ(recorder.maps.size(), 5u); // b is the same in both
  // Many tensors in turn: what was replaced is encoded again, and right.
  recorder.paramBytes = {128};
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < 40; ++i) {
      auto args = gemmArgs(128, 128, 64);
      args[0] = TensorRef::packed(at(0x100000 + 0x100 * i), DType::BF16, {128, 64});
      ASSERT_EQ(textOf(kernel.launch(nullptr, args.data(), args.size())), "fine");
      EXPECT_EQ(recorder.maps.back().address, at(0x100000 + 0x100 * i));
      EXPECT_EQ(recorder.launches.back().params[0][0], char(recorder.maps.size()));
    }
}

TEST_F(Launch, arguments_are_counted_and_typed) {
  EXPECT_EQ(gemm({}), "launch of gemm_nt: 0 arguments given, the kernel takes 3 (a, b, c) "
                      "[launch-arguments]");
  auto args = gemmArgs(128, 128, 64);
  args[1] = 3;
  EXPECT_EQ(gemm(args), "launch of gemm_nt: `b` is a tensor, the call gives an integer "
                        "[launch-arguments]");
  args[1] = TensorRef::packed(at(0x20000), DType::F16, {128, 64});
  EXPECT_EQ(gemm(args),
            "launch of gemm_nt: `b` has elements of f16, the kernel takes bf16 [launch-dtype]");
  args[1] = TensorRef::packed(at(0x20000), DType::BF16, {1, 128, 64});
  EXPECT_EQ(gemm(args),
            "launch of gemm_nt: `b` has 3 dimensions, the kernel takes 2 [launch-rank]");
  auto scalars = raggedArgs();
  scalars[4] = args[1];
  EXPECT_EQ(ragged(scalars), "launch of chain: `scale` is a scalar of type f32, the call gives a "
                             "tensor [launch-arguments]");
  scalars = raggedArgs();
  scalars[5] = std::int64_t{1} << 40;
  EXPECT_EQ(ragged(scalars), "launch of chain: `first` is 1099511627776, which i32 cannot hold "
                             "[launch-arguments]");
  scalars[5] = 1.5;
  EXPECT_EQ(ragged(scalars), "launch of chain: `first` is a scalar of type i32, the call gives a "
                             "float [launch-arguments]");
  scalars = raggedArgs();
  scalars[4] = 2; // an integer may stand for a float
  EXPECT_EQ(ragged(scalars), "fine");
}

TEST_F(Launch, conflicting_sizes_name_both_tensors) {
  auto args = gemmArgs(128, 128, 64);
  args[1] = TensorRef::packed(at(0x20000), DType::BF16, {128, 72});
  EXPECT_EQ(gemm(args), "launch of gemm_nt: `b` has K = 72, `a` says 64 [launch-shape]");
  auto other = raggedArgs();
  other[3] = TensorRef::packed(at(0x40000), DType::BF16, {100, 8, 128});
  EXPECT_EQ(ragged(other),
            "launch of chain: `o` has H = 8, the compiled kernel says 4 [launch-shape]");
  Manifest manifest = raggedManifest();
  manifest.arguments[1].shape[1] = expr("2 * H");
  const Kernel kernel = load(manifest);
  other = raggedArgs();
  const auto done = kernel.launch(nullptr, other.data(), other.size(), slots(5));
  EXPECT_EQ(textOf(done), "launch of chain: `g` has 4 elements in dimension 1, `2 * H` is 8 "
                          "[launch-shape]\n  note: H = 4 from the compiled kernel");
}

TEST_F(Launch, a_plain_size_binds_before_a_sum) {
  Manifest manifest = raggedManifest();
  manifest.arguments[1].shape[0] = expr("NS"); // g: [NS, H], behind seq: [NS + 1] in no order
  std::swap(manifest.arguments[1], manifest.arguments[2]);
  manifest.cudaParams.clear();
  const Kernel kernel = load(manifest);
  auto args = raggedArgs();
  args[2] = TensorRef::packed(at(0x20000), DType::F32, {5, 4});
  args[1] = TensorRef::packed(at(0x30000), DType::I32, {4});
  EXPECT_EQ(textOf(kernel.launch(nullptr, args.data(), args.size(), slots(5))),
            "launch of chain: `seq` has 4 elements in dimension 0, `NS + 1` is 6 [launch-shape]\n"
            "  note: NS = 5 from `g`");
}

TEST_F(Launch, dims_are_found_and_bounded) {
  EXPECT_EQ(ragged(raggedArgs(), {}), "launch of chain: the sizes of the tensors do not give dim "
                                      "`SLOTS`: name it in the call [launch-dims]");
  DimValue dims[] = {{"SLOTS", 5}, {"X", 1}};
  LaunchOptions options;
  options.dims = dims;
  options.dimCount = 2;
  EXPECT_EQ(ragged(raggedArgs(), options),
            "launch of chain: the kernel has no dim `X` [launch-dims]");
  dims[1] = {"H", 5};
  EXPECT_EQ(ragged(raggedArgs(), options),
            "launch of chain: the call gives H = 5, the compiled kernel says 4 [launch-dims]");
  dims[1] = {"T", 90};
  EXPECT_EQ(ragged(raggedArgs(), options), "launch of chain: `q` has T = 100, the call says 90 "
                                           "[launch-shape]");
  dims[1] = {"T", 100};
  EXPECT_EQ(ragged(raggedArgs(), options), "fine");
  auto args = raggedArgs();
  args[2] = TensorRef::packed(nullptr, DType::I32, {0});
  EXPECT_EQ(ragged(args), "launch of chain: NS = -1 from `seq`; a dim lies in 0 … 2^31 - 1 "
                          "[launch-dims]");
  EXPECT_EQ(gemm(gemmArgs(std::int64_t{1} << 31, 128, 64)),
            "launch of gemm_nt: M = 2147483648 from `a`; a dim lies in 0 … 2^31 - 1 [launch-dims]");
}

TEST_F(Launch, where_clauses_show_their_values_and_words) {
  EXPECT_EQ(
      gemm(gemmArgs(128, 128, 500)),
      "launch of gemm_nt: `K % 8 == 0` does not hold (K = 500): TMA wants 16-byte row strides "
      "[launch-where]");
  EXPECT_EQ(
      ragged(raggedArgs(), slots(6)),
      "launch of chain: `SLOTS == T / 64 + NS + 1` does not hold (SLOTS = 6, T = 100, NS = 3) "
      "[launch-where]");
  auto args = raggedArgs();
  args[5] = 10;
  EXPECT_EQ(ragged(args), "launch of chain: `flag ? first < 10 : true` does not hold (flag = 1, "
                          "first = 10) [launch-where]");
  args[6] = false;
  EXPECT_EQ(ragged(args), "fine");
  Manifest manifest = gemmManifest();
  manifest.where = {{expr("M / (K - 64) > 0"), "M / (K - 64) > 0", ""}};
  const Kernel kernel = load(manifest);
  const auto gemm = gemmArgs(128, 128, 64);
  EXPECT_EQ(textOf(kernel.launch(nullptr, gemm.data(), gemm.size())),
            "launch of gemm_nt: `M / (K - 64)` divides by zero (M = 128, K = 64) [expr-division]\n"
            "  note: in the clause `where M / (K - 64) > 0`");
}

TEST_F(Launch, strides_follow_the_layout) {
  auto args = gemmArgs(128, 128, 64);
  args[0] = TensorRef::strided(at(0x10000), DType::BF16, {128, 64}, {72, 1});
  EXPECT_EQ(gemm(args), "launch of gemm_nt: `a` has stride 72 in dimension 0; the kernel takes it "
                        "packed: 64 [launch-stride]");
  args[0] = TensorRef::strided(at(0x10000), DType::BF16, {128, 64}, {1, 128});
  EXPECT_NE(gemm(args).find("[launch-stride]"), std::string::npos);
  auto other = raggedArgs();
  other[0] = TensorRef::strided(at(0x10000), DType::BF16, {100, 4, 128}, {1024, 128, 2});
  EXPECT_EQ(ragged(other), "launch of chain: `q` has stride 2 in its last dimension; it must be 1 "
                           "[launch-stride]");
  other[0] = TensorRef::strided(at(0x10000), DType::BF16, {100, 4, 128}, {1020, 128, 1});
  EXPECT_EQ(ragged(other), "launch of chain: `q` has stride 2040 bytes in dimension 0; it needs a "
                           "multiple of 16 [launch-alignment]");
  other[0] = TensorRef::strided(at(0x10000), DType::BF16, {100, 4, 128}, {-1024, 128, 1});
  EXPECT_NE(ragged(other).find("[launch-stride]"), std::string::npos);
  other[0] =
      TensorRef::strided(at(0x10000), DType::BF16, {100, 4, 128}, {std::int64_t{1} << 40, 128, 1});
  EXPECT_NE(ragged(other).find("TMA needs less than 2^40 bytes [launch-stride]"),
            std::string::npos);
  other[0] =
      TensorRef::strided(at(0x10000), DType::BF16, {100, 4, 128}, {std::int64_t{1} << 34, 128, 1});
  EXPECT_NE(ragged(other).find("the limit is 2^35 [launch-stride]"), std::string::npos);
}

TEST_F(Launch, strides_of_single_elements_do_not_matter) {
  auto args = gemmArgs(1, 128, 64);
  args[0] = TensorRef::strided(at(0x10000), DType::BF16, {1, 64}, {7, 1});
  EXPECT_EQ(gemm(args), "fine");
  EXPECT_EQ(recorder.maps[0].strides, (std::vector<std::uint64_t>{16}));
}

TEST_F(Launch, pointers_and_alignment) {
  auto args = gemmArgs(128, 128, 64);
  args[1] = TensorRef::packed(nullptr, DType::BF16, {128, 64});
  EXPECT_EQ(gemm(args),
            "launch of gemm_nt: `b` is a null pointer and has elements [launch-pointer]");
  args[1] = TensorRef::packed(at(0x20008), DType::BF16, {128, 64});
  EXPECT_EQ(gemm(args), "launch of gemm_nt: `b` begins at 0x20008; it needs a multiple of 16 bytes "
                        "[launch-alignment]");
  auto other = raggedArgs();
  other[1] = TensorRef::strided(at(0x20002), DType::F32, {100, 4}, {5, 1});
  EXPECT_EQ(ragged(other), "launch of chain: `g` begins at 0x20002; it needs a multiple of 4 bytes "
                           "[launch-alignment]");
  // A tensor map needs 16 bytes even where the manifest does not promise them.
  Manifest manifest = gemmManifest();
  manifest.arguments[1].alignBytes = 0;
  const Kernel kernel = load(manifest);
  EXPECT_EQ(textOf(kernel.launch(nullptr, args.data(), args.size())),
            "launch of gemm_nt: `b` begins at 0x20008; TMA needs a multiple of 16 bytes "
            "[launch-alignment]");
}

TEST_F(Launch, bulk_stores_end_rows_at_sixteen_bytes) {
  Manifest manifest = gemmManifest();
  manifest.where.clear();
  manifest.arguments[2].layout = Layout::Strided;
  auto args = gemmArgs(128, 100, 64);
  args[2] = TensorRef::strided(at(0x30000), DType::BF16, {128, 100}, {104, 1});
  const Kernel kernel = load(manifest);
  EXPECT_EQ(textOf(kernel.launch(nullptr, args.data(), args.size())),
            "launch of gemm_nt: `c` has rows of 200 bytes; a bulk store writes multiples of 16 "
            "[launch-alignment]");
}

TEST_F(Launch, a_ragged_dimension_ends_at_two_to_the_thirty) {
  const std::int64_t t = (std::int64_t{1} << 30) + 1;
  Manifest manifest = raggedManifest();
  manifest.arguments = {manifest.arguments[0]};
  manifest.dims.erase(manifest.dims.begin() + 1, manifest.dims.begin() + 3);
  manifest.tensorMaps.pop_back();
  manifest.cudaParams.resize(1);
  manifest.where.clear();
  manifest.grid.clear();
  const Kernel kernel = load(manifest);
  const Arg args[] = {TensorRef::packed(at(0x10000), DType::BF16, {t, 4, 128})};
  EXPECT_EQ(textOf(kernel.launch(nullptr, args, 1)),
            "launch of chain: `q` has 1073741825 elements in its ragged dimension 0; the limit is "
            "2^30 [launch-shape]");
}

TEST_F(Launch, an_empty_grid_launches_nothing) {
  auto args = gemmArgs(0, 128, 64);
  args[0] = TensorRef::packed(nullptr, DType::BF16, {0, 64});
  args[2] = TensorRef::packed(nullptr, DType::BF16, {0, 128});
  EXPECT_EQ(gemm(args), "fine");
  EXPECT_TRUE(recorder.launches.empty());
}

TEST_F(Launch, tensors_without_elements_get_a_legal_map) {
  auto args = gemmArgs(128, 128, 0);
  args[0] = TensorRef::packed(nullptr, DType::BF16, {128, 0});
  args[1] = TensorRef::packed(nullptr, DType::BF16, {128, 0});
  EXPECT_EQ(gemm(args), "fine");
  ASSERT_EQ(recorder.launches.size(), 1u);
  EXPECT_NE(recorder.maps[0].address, nullptr);
  EXPECT_EQ(recorder.maps[0].extents, (std::vector<std::uint64_t>{1, 1}));
  EXPECT_EQ(recorder.maps[0].strides, (std::vector<std::uint64_t>{16}));
  EXPECT_EQ(recorder.maps[2].extents, (std::vector<std::uint64_t>{128, 128}));
}

TEST_F(Launch, grids_are_bounded) {
  Manifest manifest = gemmManifest();
  manifest.grid = {{"n", expr("N")}, {"m", expr("M")}, {"z", expr("M")}};
  const Kernel kernel = load(manifest);
  const auto args = gemmArgs(1 << 16, 1 << 16, 64);
  EXPECT_EQ(textOf(kernel.launch(nullptr, args.data(), args.size())),
            "launch of gemm_nt: the grid has 281474976710656 CTAs; a launch takes fewer than 2^31 "
            "[launch-grid]");
  manifest.grid = {{"n", expr("N - M")}};
  const Kernel negative = load(manifest);
  const auto other = gemmArgs(256, 128, 64);
  EXPECT_EQ(textOf(negative.launch(nullptr, other.data(), other.size())),
            "launch of gemm_nt: the grid axis `n` is -128 (N - M) [launch-grid]");
}

TEST_F(Launch, what_does_not_load) {
  Bundle bundle = bundleOf(gemmManifest());
  bundle.cubin = "PTX";
  EXPECT_EQ(Kernel::load(*device, bundle).error().text(),
            "the cubin of gemm_nt (3 bytes) is no ELF file [kernel-load]");
  bundle = bundleOf(gemmManifest());
  recorder.moduleStatus = CUDA_ERROR_INVALID_IMAGE;
  EXPECT_EQ(Kernel::load(*device, bundle).error().text(),
            "gemm_nt (entry `gemm_nt`): cuModuleLoadData: CUDA_ERROR_INVALID_IMAGE (as the test "
            "asked) [kernel-load]");
  bundle.manifest = "{}";
  EXPECT_EQ(Kernel::load(*device, bundle).error().code, "manifest-field");
}

TEST_F(Launch, a_kernel_of_another_architecture_is_refused) {
  recorder.major = 8;
  const auto old = Device::openWith(fakeDriver(), 0);
  EXPECT_EQ(Kernel::load(*old, bundleOf(gemmManifest())).error().text(),
            "gemm_nt was compiled for sm_90a; Test GPU is sm_80 [kernel-arch]");
}

TEST_F(Launch, an_encode_that_fails_is_not_cached) {
  const Kernel kernel = load(gemmManifest());
  const auto args = gemmArgs(128, 128, 64);
  recorder.encodeStatus = CUDA_ERROR_INVALID_VALUE;
  EXPECT_NE(textOf(kernel.launch(nullptr, args.data(), args.size())).find("[driver-call]"),
            std::string::npos);
  recorder.encodeStatus = CUDA_SUCCESS;
  EXPECT_EQ(textOf(kernel.launch(nullptr, args.data(), args.size())), "fine");
}

TEST_F(Launch, a_provider_makes_the_bundle) {
  struct Provider : KernelProvider {
    Expected<Bundle> provide(const KernelRequest &request) override {
      if (request.kernel != "gemm_nt")
        return Error{"no-kernel", "no such kernel", {}};
      return bundleOf(gemmManifest());
    }
  } provider;
  KernelRequest request;
  EXPECT_EQ(Kernel::load(*device, provider, request).error().code, "no-kernel");
  request.kernel = "gemm_nt";
  EXPECT_TRUE(bool(Kernel::load(*device, provider, request)));
}

TEST_F(Launch, the_application_s_context_is_used) {
  recorder.current = reinterpret_cast<CUcontext>(0x9000); // of device 1
  {
    const auto second = Device::openWith(fakeDriver(), 1);
    EXPECT_EQ(recorder.liveAllocations, 1); // the fixture's primary context alone
    EXPECT_EQ(second->state().context, recorder.current);
  }
  EXPECT_EQ(Device::openWith(fakeDriver(), 2).error().text(),
            "there is no device 2: 2 found [device-index]");
  // A launch on a device whose context is not current makes it so for its duration.
  recorder.contextPushes = 0;
  EXPECT_EQ(gemm(gemmArgs(128, 128, 64)), "fine");
  EXPECT_GT(recorder.contextPushes, 0);
}

TEST_F(Launch, buffers_events_and_graphs_are_given_back) {
  const std::uint32_t source[] = {1, 2, 3};
  std::uint32_t target[3] = {};
  auto buffer = *DeviceBuffer::upload(*device, source, sizeof source);
  ASSERT_TRUE(bool(buffer.copyTo(target, 4, 8)));
  EXPECT_EQ(target[0], 3u);
  ASSERT_TRUE(bool(buffer.fill(0xff)));
  ASSERT_TRUE(bool(buffer.copyTo(target, sizeof target)));
  EXPECT_EQ(target[2], ~0u);
  EXPECT_EQ(DeviceBuffer::allocate(*device, 0)->data(), nullptr);

  const auto stream = Stream::create(*device);
  int runs = 0;
  const auto body = [&]() -> Expected<void> { return ++runs, Expected<void>(); };
  const auto graph = Graph::capture(*device, *stream, body);
  ASSERT_TRUE(bool(graph));
  EXPECT_TRUE(bool(graph->launch(stream->handle())));
  EXPECT_EQ(timeByEvents(*device, stream->handle(), 2, 3, body)->size(), 3u);
  EXPECT_EQ(runs, 1 + 2 + 3);
  const auto fail = []() -> Expected<void> { return Error{"x", "no", {}}; };
  EXPECT_EQ(Graph::capture(*device, *stream, fail).error().code, "x");
  EXPECT_EQ(timeByEvents(*device, nullptr, 0, 1, fail).error().code, "x");
}

TEST(Driver, a_missing_library_is_an_error_value) {
  const auto device = Device::open(0, "libnothing-of-this-name.so.1");
  ASSERT_FALSE(bool(device));
  EXPECT_EQ(device.error().code, "driver-missing");
  EXPECT_EQ(Device::current("libm.so.6").error().code, "driver-old");
}

TEST(Scalars, half_widths_round_to_nearest_even) {
  EXPECT_EQ(scalarBits(DType::BF16, 0, 1.0), 0x3f80u);
  EXPECT_EQ(scalarBits(DType::BF16, 0, -2.0), 0xc000u);
  EXPECT_EQ(scalarBits(DType::BF16, 0, 1.0 + 1.0 / 256), 0x3f80u); // a tie goes to even
  EXPECT_EQ(scalarBits(DType::BF16, 0, 1.0 + 3.0 / 256), 0x3f82u);
  EXPECT_EQ(scalarBits(DType::BF16, 0, 1.0 + 1.0 / 256 + 1e-12), 0x3f81u); // no double rounding
  EXPECT_EQ(scalarBits(DType::BF16, 0, 1e39), 0x7f80u);
  EXPECT_EQ(scalarBits(DType::BF16, 0, -0.0), 0x8000u);
  EXPECT_EQ(scalarBits(DType::BF16, 0, __builtin_nan("")) & 0x7fff, 0x7fc0u);
  EXPECT_EQ(scalarBits(DType::F16, 0, 65504.0), 0x7bffu);
  EXPECT_EQ(scalarBits(DType::F16, 0, 65520.0), 0x7c00u);
  EXPECT_EQ(scalarBits(DType::F16, 0, 0x1p-24), 0x0001u);
  EXPECT_EQ(scalarBits(DType::F16, 0, 0x1p-25), 0x0000u);
  EXPECT_EQ(scalarBits(DType::F16, 0, 0x1.ffcp-15), 0x0400u); // the largest subnormal is below it
  EXPECT_EQ(scalarBits(DType::F32, 0, 0.1), 0x3dcccccdu);
}
