#include "runtime/cache.h"
#include "runtime/files.h"

#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <limits>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace flashqla;
namespace fs = std::filesystem;

namespace {

CacheKey keyOf(std::string source = "kernel k() {}\n") {
  CacheKey key;
  key.kernel = "gemm_nt";
  key.arch = "sm_90a";
  key.params = {{"BM", "128"}, {"E", "bf16"}};
  key.staticDims = {{"DK", 128}};
  key.tools = {{"compiler", "0.1.0"}, {"nvrtc", "13.0"}};
  key.source = std::move(source);
  return key;
}

Bundle bundleOf(std::string text) {
  return {"{}", "\177ELF" + text, text, "kernel k() {}\n", "168 registers\n"};
}

class CacheTest : public ::testing::Test {
protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "cache.XXXXXX";
    ASSERT_TRUE(::mkdtemp(name.data()));
    directory = name;
  }
  void TearDown() override {
    fs::permissions(directory, fs::perms::owner_all);
    fs::remove_all(directory);
  }
  std::string entry(const CacheKey &key) const { return directory + "/v1/" + key.directoryName(); }
  bool tmpIsEmpty() const { return fs::is_empty(directory + "/v1/tmp"); }

  std::string directory;
};

} // namespace

TEST_F(CacheTest, what_was_stored_is_loaded) {
  const Cache cache(directory);
  EXPECT_FALSE(cache.load(keyOf()).bundle);
  ASSERT_TRUE(bool(cache.store(keyOf(), bundleOf("one"))));
  const Cache::Lookup found = cache.load(keyOf());
  ASSERT_TRUE(found.bundle) << found.note;
  EXPECT_EQ(found.bundle->cuda, "one");
  EXPECT_TRUE(tmpIsEmpty());
  EXPECT_FALSE(cache.load(keyOf("kernel other() {}\n")).bundle);
}

TEST_F(CacheTest, entries_have_speaking_names_and_readable_files) {
  const Cache cache(directory);
  ASSERT_TRUE(bool(cache.store(keyOf(), bundleOf("one"))));
  const std::string name = keyOf().directoryName();
  EXPECT_EQ(name.substr(0, name.rfind('.')), "gemm_nt.sm_90a.BM128-Ebf16-DK128");
  EXPECT_EQ(*readFile(entry(keyOf()) + "/kernel.cu"), "one");
  EXPECT_EQ(*readFile(entry(keyOf()) + "/key.txt"),
            "kernel: gemm_nt\narch: sm_90a\nparam BM: 128\nparam E: bf16\ndim DK: 128\n"
            "compiler: 0.1.0\nnvrtc: 13.0\nsource:\nkernel k() {}\n");
  CacheKey strange = keyOf();
  strange.params = {{"X", "../a b/" + std::string(300, 'x')}};
  ASSERT_TRUE(bool(cache.store(strange, bundleOf("two"))));
  EXPECT_TRUE(cache.load(strange).bundle);
}

TEST_F(CacheTest, a_key_with_the_same_hash_is_never_served) {
  const Cache cache(directory);
  ASSERT_TRUE(bool(cache.store(keyOf(), bundleOf("one"))));
  ASSERT_TRUE(bool(writeFile(entry(keyOf()) + "/key.txt", "kernel: another\n")));
  const Cache::Lookup found = cache.load(keyOf());
  EXPECT_FALSE(found.bundle);
  EXPECT_NE(found.note.find("is that of another kernel"), std::string::npos);
  ASSERT_TRUE(bool(cache.store(keyOf(), bundleOf("two"))));
  EXPECT_EQ(cache.load(keyOf()).bundle->cuda, "two");
}

TEST_F(CacheTest, corrupt_entries_are_noticed_and_rebuilt) {
  const Cache cache(directory);
  for (const char *file : {"kernel.cubin", "manifest.json", "kernel.cu", "checksums", "key.txt"})
    for (const bool removed : {false, true}) {
      ASSERT_TRUE(bool(cache.store(keyOf(), bundleOf("good"))));
      const std::string path = entry(keyOf()) + "/" + file;
      if (removed)
        fs::remove(path);
      else
        fs::resize_file(path, fs::file_size(path) - 1);
      const Cache::Lookup found = cache.load(keyOf());
      EXPECT_FALSE(found.bundle) << file;
      EXPECT_FALSE(found.note.empty()) << file;
      EXPECT_EQ(cache.verify().size(), 1u) << file;
      ASSERT_TRUE(bool(cache.store(keyOf(), bundleOf("good")))) << file;
      EXPECT_TRUE(cache.load(keyOf()).bundle) << file;
      EXPECT_TRUE(cache.verify().empty());
      EXPECT_TRUE(tmpIsEmpty());
    }
}

TEST_F(CacheTest, eight_processes_at_once) {
  constexpr int processes = 8, rounds = 40;
  std::vector<pid_t> children;
  for (int process = 0; process < processes; ++process) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child != 0) {
      children.push_back(child);
      continue;
    }
    // Each stores and loads the same few keys; process 0 damages entries meanwhile.
    const Cache cache(directory);
    int status = 0;
    for (int round = 0; round < rounds && status == 0; ++round) {
      const std::string text = "source " + std::to_string(round % 3);
      const CacheKey key = keyOf(text);
      Cache::Lookup found = cache.load(key);
      if (found.bundle && found.bundle->cuda != text)
        status = 1;
      if (!found.bundle && !cache.store(key, bundleOf(text)))
        status = 2;
      if (process == 0 && round % 4 == 0)
        ::truncate((entry(key) + "/kernel.cubin").c_str(), 2);
    }
    ::_exit(status);
  }
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  const Cache cache(directory);
  EXPECT_EQ(cache.list().size(), 3u);
  EXPECT_TRUE(tmpIsEmpty());
  for (int i = 0; i < 3; ++i) {
    const std::string text = "source " + std::to_string(i);
    ASSERT_TRUE(bool(cache.store(keyOf(text), bundleOf(text))));
    EXPECT_EQ(cache.load(keyOf(text)).bundle->cuda, text);
  }
}

TEST_F(CacheTest, without_a_usable_directory_it_says_so_and_goes_on) {
  const Cache none("");
  EXPECT_FALSE(none.load(keyOf()).bundle);
  EXPECT_EQ(none.store(keyOf(), bundleOf("x")).error().code, "cache-write");
  EXPECT_TRUE(none.list().empty());
  EXPECT_TRUE(none.collect(0, 0, 0).empty());

  ASSERT_TRUE(bool(writeFile(directory + "/file", "x")));
  const Cache below(directory + "/file"); // a file where a directory should be
  EXPECT_FALSE(below.load(keyOf()).bundle);
  EXPECT_EQ(below.store(keyOf(), bundleOf("x")).error().code, "cache-write");
}

TEST_F(CacheTest, a_pipe_or_device_is_written_into_and_stays_what_it_is) {
  const std::string pipe = directory + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  EXPECT_TRUE(bool(writeFile(pipe, "abc")));
  EXPECT_TRUE(fs::is_fifo(pipe));
  char bytes[4] = {};
  ASSERT_TRUE(fs::is_fifo(pipe) && ::read(reader, bytes, 3) == 3);
  EXPECT_STREQ(bytes, "abc");
  ::close(reader);
}

TEST_F(CacheTest, a_read_only_cache_still_serves) {
  const Cache cache(directory);
  ASSERT_TRUE(bool(cache.store(keyOf(), bundleOf("one"))));
  // As an unprivileged user, whom permissions bind.
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    fs::permissions(directory, fs::perms(0755));
    fs::permissions(directory + "/v1/tmp", fs::perms(0555));
    if (::geteuid() == 0 && ::setuid(65534) != 0)
      ::_exit(9);
    const bool served = cache.load(keyOf()).bundle.has_value();
    const auto stored = cache.store(keyOf("other"), bundleOf("two"));
    ::_exit(!served ? 1 : stored ? 2 : stored.error().code != "cache-write" ? 3 : 0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  fs::permissions(directory + "/v1/tmp", fs::perms::owner_all);
}

TEST_F(CacheTest, collecting_goes_by_age_then_by_bytes) {
  const Cache cache(directory);
  const std::int64_t now = 2'000'000'000;
  for (int i = 0; i < 4; ++i) {
    const CacheKey key = keyOf(std::string("source ") + char('a' + i));
    ASSERT_TRUE(bool(cache.store(key, bundleOf("x"))));
    const timespec times[2] = {{now - 100 * i, 0}, {now - 100 * i, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, entry(key).c_str(), times, 0), 0);
  }
  const std::uint64_t one = cache.list()[0].bytes;
  EXPECT_TRUE(cache.collect(100 * one, 1000, now).empty());
  std::vector<CacheEntry> removed = cache.collect(100 * one, 250, now);
  ASSERT_EQ(removed.size(), 1u);
  EXPECT_EQ(removed[0].lastUse, now - 300);
  removed = cache.collect(2 * one, 1000, now);
  ASSERT_EQ(removed.size(), 1u);
  EXPECT_EQ(removed[0].lastUse, now - 200);
  EXPECT_EQ(cache.list().size(), 2u);

  fs::create_directory(directory + "/v1/tmp/build.dead");
  cache.collect(100 * one, 1000, std::numeric_limits<std::int32_t>::max());
  EXPECT_TRUE(tmpIsEmpty());
}

TEST_F(CacheTest, a_load_counts_as_a_use) {
  const Cache cache(directory);
  ASSERT_TRUE(bool(cache.store(keyOf(), bundleOf("x"))));
  const timespec old[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, entry(keyOf()).c_str(), old, 0), 0);
  EXPECT_EQ(cache.list()[0].lastUse, 1000);
  ASSERT_TRUE(cache.load(keyOf()).bundle);
  EXPECT_GT(cache.list()[0].lastUse, 1000);
}

TEST_F(CacheTest, why_shows_the_lines_that_differ) {
  const Cache cache(directory);
  EXPECT_EQ(cache.why(keyOf()), "the cache has no entry of gemm_nt\n");
  CacheKey far = keyOf("quite another source\nof two lines\n");
  far.tools[0].second = "0.0.9";
  ASSERT_TRUE(bool(cache.store(keyOf(), bundleOf("x"))));
  ASSERT_TRUE(bool(cache.store(far, bundleOf("x"))));
  EXPECT_EQ(cache.why(keyOf()), "the cache has it: " + keyOf().directoryName() + "\n");
  CacheKey wanted = keyOf();
  wanted.params[0].second = "64";
  EXPECT_EQ(cache.why(wanted), "the closest entry is " + keyOf().directoryName() +
                                   "; it differs in\n- param BM: 128\n+ param BM: 64\n");
}

TEST(DiffLines, keeps_what_is_common) {
  EXPECT_EQ(diffLines("a\nb\nc\n", "a\nb\nc\n"), "");
  EXPECT_EQ(diffLines("a\nb\nc\n", "a\nx\nc\nd"), "- b\n+ x\n+ d\n");
  EXPECT_EQ(diffLines("", "a\n"), "+ a\n");
  EXPECT_EQ(diffLines("a\n\nb", "b"), "- a\n- \n");
}
