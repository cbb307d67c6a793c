// A device on an executor: host memory, and launches that arrive when all checks have passed.
#include "flashqla/executor.h"
#include "runtime_test_manifest.h"

#include <gtest/gtest.h>

#include <vector>

using namespace flashqla;
using namespace flashqla::testing;

namespace {

Bundle bundleOf(const Manifest &manifest) { return {writeManifest(manifest), "", "", "text", ""}; }

/// Remembers what it is told.
class Recorder : public Executor {
public:
  DeviceProperties properties() const override {
    DeviceProperties properties;
    properties.name = "recorder";
    properties.major = 9;
    properties.sharedBytesPerBlock = 227 * 1024;
    return properties;
  }
  Expected<std::unique_ptr<Program>> load(const Bundle &bundle, const Manifest &manifest) override {
    if (bundle.source != "text")
      return Error{"no-text", "a bundle without text", {}};
    return std::unique_ptr<Program>(std::make_unique<Recording>(*this, manifest));
  }

  std::vector<std::vector<std::int64_t>> dims; // of each launch
  std::vector<const void *> pointers;          // of the first argument
  bool fails = false;

private:
  struct Recording : Program {
    Recording(Recorder &owner, const Manifest &manifest)
        : owner(owner), dimCount(manifest.dims.size()) {}
    Expected<void> launch(const CheckedLaunch &launch) override {
      owner.dims.emplace_back(launch.dims, launch.dims + dimCount);
      owner.pointers.push_back(launch.args[0].tensor().data);
      return owner.fails ? Expected<void>(Error{"broken", "it broke", {}}) : Expected<void>();
    }
    Recorder &owner;
    std::size_t dimCount;
  };
};

class OnExecutor : public ::testing::Test {
protected:
  Recorder recorder;
  Device device = Device::on(recorder);
};

} // namespace

TEST_F(OnExecutor, MemoryIsOfTheHost) {
  EXPECT_EQ(device.properties().name, "recorder");
  const std::vector<int> data = {1, 2, 3};
  const Expected<DeviceBuffer> buffer = DeviceBuffer::upload(device, data.data(), 12);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % 256, 0u);
  EXPECT_EQ(static_cast<const int *>(buffer->data())[1], 2);
  std::vector<int> back(2);
  ASSERT_TRUE(buffer->copyTo(back.data(), 8, 4));
  EXPECT_EQ(back, (std::vector<int>{2, 3}));
  ASSERT_TRUE(buffer->fill(1));
  EXPECT_EQ(static_cast<const int *>(buffer->data())[2], 0x01010101);
  const Expected<DeviceBuffer> fresh = DeviceBuffer::allocate(device, 4);
  ASSERT_TRUE(fresh);
  EXPECT_EQ(*static_cast<const int *>(fresh->data()), -1) << "not a number until it is written";
  EXPECT_FALSE(DeviceBuffer::allocate(device, std::size_t{1} << 60));
}

TEST_F(OnExecutor, StreamsAreIdleAndTimesPass) {
  const Expected<Stream> stream = Stream::create(device);
  ASSERT_TRUE(stream);
  EXPECT_TRUE(stream->synchronize());
  EXPECT_TRUE(device.synchronize());
  const auto times = timeByEvents(device, stream->handle(), 1, 2, [] { return Expected<void>(); });
  ASSERT_TRUE(times);
  EXPECT_EQ(times->size(), 2u);
  EXPECT_GE((*times)[0], 0);
  const auto graph = Graph::capture(device, *stream, [] { return Expected<void>(); });
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().text(), "cuStreamBeginCapture: CUDA_ERROR_NOT_SUPPORTED [driver-call]");
}

TEST_F(OnExecutor, LaunchesArriveWhenAllChecksHavePassed) {
  const Expected<Kernel> kernel = Kernel::load(device, bundleOf(gemmManifest()));
  ASSERT_TRUE(kernel) << kernel.error().text();
  alignas(16) char memory[16];
  const auto launch = [&](void *a, std::int64_t m, std::int64_t k) {
    return kernel->launch(nullptr, {TensorRef::packed(a, DType::BF16, {m, k}),
                                    TensorRef::packed(memory, DType::BF16, {200, k}),
                                    TensorRef::packed(memory, DType::BF16, {m, 200})});
  };
  EXPECT_TRUE(launch(memory, 300, 504));
  EXPECT_EQ(recorder.dims, (std::vector<std::vector<std::int64_t>>{{300, 200, 504}}));
  EXPECT_EQ(recorder.pointers, (std::vector<const void *>{memory}));
  EXPECT_TRUE(launch(memory, 0, 504)) << "an empty grid launches nothing";
  EXPECT_EQ(launch(memory, 300, 500).error().code, "launch-where");
  EXPECT_EQ(launch(memory + 2, 300, 504).error().code, "launch-alignment");
  EXPECT_EQ(recorder.dims.size(), 1u);
  recorder.fails = true;
  EXPECT_EQ(launch(memory, 300, 504).error().text(), "launch of gemm_nt: it broke [broken]");
  EXPECT_TRUE(kernel->takeFailedAssert());
}

TEST_F(OnExecutor, ItsErrorsOfLoadingAreTheKernels) {
  Bundle bundle = bundleOf(raggedManifest());
  EXPECT_TRUE(Kernel::load(device, bundle));
  bundle.source.clear();
  EXPECT_EQ(Kernel::load(device, bundle).error().code, "no-text");
}
