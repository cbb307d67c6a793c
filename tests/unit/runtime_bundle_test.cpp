#include "flashqla/bundle.h"
#include "runtime/files.h"
#include "runtime/hash.h"

#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace flashqla;

namespace {

Bundle smallBundle() {
  return {"{}\n", std::string("\177ELF\0\1", 6), "// cuda\n", "kernel k() {}\n", ""};
}

bool same(const Bundle &a, const Bundle &b) {
  return a.manifest == b.manifest && a.cubin == b.cubin && a.cuda == b.cuda &&
         a.source == b.source && a.log == b.log;
}

/// The bytes with a checksum that matches them, to reach the checks behind it.
std::string sealed(std::string bytes) {
  bytes.resize(bytes.size() - 8);
  const std::uint64_t checksum = hashBytes(bytes);
  bytes.append(reinterpret_cast<const char *>(&checksum), 8);
  return bytes;
}

class BundleFiles : public ::testing::Test {
protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "bundle.XXXXXX";
    ASSERT_TRUE(::mkdtemp(name.data()));
    directory = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory); }
  std::string directory;
};

} // namespace

TEST(Bundle, serialized_and_read_is_the_same) {
  const Bundle bundle = smallBundle();
  const auto read = Bundle::deserialize(bundle.serialize(), "k.fqb");
  ASSERT_TRUE(bool(read)) << read.error().text();
  EXPECT_TRUE(same(*read, bundle));
}

TEST(Bundle, truncated_at_every_byte_is_named_truncated) {
  const std::string bytes = smallBundle().serialize();
  for (std::size_t count = 0; count < bytes.size(); ++count) {
    const auto read = Bundle::deserialize(bytes.substr(0, count), "k.fqb");
    ASSERT_FALSE(bool(read)) << count;
    EXPECT_EQ(read.error().code, "bundle-truncated") << count;
  }
  EXPECT_EQ(Bundle::deserialize(bytes.substr(0, 100), "k.fqb").error().message,
            "k.fqb ends after 100 of " + std::to_string(bytes.size()) + " bytes");
}

TEST(Bundle, every_flipped_byte_is_noticed) {
  const std::string bytes = smallBundle().serialize();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] ^= 0x20;
    EXPECT_FALSE(bool(Bundle::deserialize(changed, "k.fqb"))) << i;
  }
}

TEST(Bundle, foreign_versions_and_tails_are_named) {
  const std::string bytes = smallBundle().serialize();
  EXPECT_EQ(Bundle::deserialize("\177ELF and the rest of it", "k.cubin").error().text(),
            "k.cubin is no flashqla bundle [bundle-foreign]");
  std::string newer = bytes;
  newer[8] = 2;
  EXPECT_EQ(Bundle::deserialize(newer, "k.fqb").error().text(),
            "k.fqb has bundle version 2, this runtime reads version 1 [bundle-version]");
  EXPECT_EQ(Bundle::deserialize(bytes + "x", "k.fqb").error().text(),
            "k.fqb: 1 bytes follow the bundle [bundle-corrupt]");
}

TEST(Bundle, contents_that_contradict_themselves_are_corrupt) {
  const std::string bytes = smallBundle().serialize();
  std::string renamed = bytes, lengthened = bytes, counted = bytes;
  renamed[bytes.find("manifest")] = 'M';
  const std::size_t size = bytes.find("manifest.json") + std::strlen("manifest.json");
  lengthened[size + 6] = 0x7f; // more than there is
  counted[12] = 4;
  for (const std::string &changed : {renamed, lengthened, counted})
    EXPECT_EQ(Bundle::deserialize(sealed(changed), "k.fqb").error().code, "bundle-corrupt");
}

TEST_F(BundleFiles, both_forms_on_disk) {
  const Bundle bundle = smallBundle();
  ASSERT_TRUE(bool(bundle.write(directory + "/k.fqb")));
  EXPECT_TRUE(same(*Bundle::read(directory + "/k.fqb"), bundle));
  ASSERT_TRUE(bool(bundle.writeDirectory(directory)));
  EXPECT_TRUE(same(*Bundle::readDirectory(directory), bundle));
  EXPECT_EQ(*readFile(directory + "/kernel.cu"), bundle.cuda);
}

TEST_F(BundleFiles, a_changed_file_of_a_directory_is_corrupt) {
  ASSERT_TRUE(bool(smallBundle().writeDirectory(directory)));
  ASSERT_TRUE(bool(writeFile(directory + "/kernel.cu", "// cudb\n")));
  EXPECT_EQ(Bundle::readDirectory(directory).error().code, "bundle-corrupt");
  std::filesystem::remove(directory + "/kernel.cu");
  EXPECT_EQ(Bundle::readDirectory(directory).error().code, "file-read");
}

TEST_F(BundleFiles, paths_that_are_not_there) {
  EXPECT_EQ(Bundle::read(directory + "/none.fqb").error().text(),
            directory + "/none.fqb: No such file or directory [file-read]");
  EXPECT_EQ(smallBundle().write(directory + "/none/k.fqb").error().code, "file-write");
}
