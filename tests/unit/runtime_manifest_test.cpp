#include "runtime_test_manifest.h"

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace flashqla;
using namespace flashqla::testing;

namespace {

/// Replaces the first occurrence; `'` stands for `"` in both.
std::string replaced(std::string text, std::string from, std::string to) {
  std::replace(from.begin(), from.end(), '\'', '"');
  std::replace(to.begin(), to.end(), '\'', '"');
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// The error of the gemm manifest (or the ragged one) after one replacement.
std::string gemmError(const std::string &from, const std::string &to) {
  const auto read = readManifest(replaced(writeManifest(gemmManifest()), from, to));
  return read ? "it reads" : read.error().text();
}
std::string raggedError(const std::string &from, const std::string &to) {
  const auto read = readManifest(replaced(writeManifest(raggedManifest()), from, to));
  return read ? "it reads" : read.error().text();
}

} // namespace

TEST(Manifest, written_and_read_is_the_same) {
  for (const Manifest &manifest : {gemmManifest(), raggedManifest(), instrumentedManifest()}) {
    const std::string json = writeManifest(manifest);
    const Expected<Manifest> read = readManifest(json);
    ASSERT_TRUE(bool(read)) << read.error().text();
    EXPECT_EQ(*read, manifest);
    EXPECT_EQ(writeManifest(*read), json);
  }
}

TEST(Manifest, symbols_are_dims_then_integer_scalars) {
  EXPECT_EQ(manifestSymbols(raggedManifest()),
            (std::vector<std::string>{"T", "NS", "SLOTS", "H", "D", "first", "flag"}));
}

TEST(Manifest, another_version_is_refused_before_its_fields_are) {
  const auto read = readManifest(R"({"format": "flashqla-manifest", "version": 7, "new": []})");
  ASSERT_FALSE(bool(read));
  EXPECT_EQ(read.error().text(),
            "the manifest has format version 7, this runtime reads version 1 [manifest-version]");
}

TEST(Manifest, text_that_is_no_manifest) {
  for (const char *text : {"", "{", "nonsense", "{\"format\": }"})
    EXPECT_EQ(readManifest(text).error().code, "manifest-syntax") << text;
  for (const char *text : {"[]", "3", "null", "{}", R"({"format": "other"})", R"({"format": 1})"})
    EXPECT_EQ(readManifest(text).error().code, "manifest-field") << text;
}

TEST(Manifest, truncated_text_is_an_error_at_every_byte) {
  const std::string json = writeManifest(raggedManifest());
  // Without the newline at the end the text is complete.
  for (std::size_t bytes = 0; bytes + 1 < json.size(); ++bytes)
    EXPECT_FALSE(bool(readManifest(json.substr(0, bytes)))) << bytes;
}

TEST(Manifest, errors_have_the_path_and_the_value) {
  EXPECT_EQ(gemmError("'box': 64", "'box': 300"),
            "field `tensorMaps[0].dimensions[0].box` is 300; it must lie in 1 … 256 "
            "[manifest-field]");
  EXPECT_EQ(gemmError("'blockThreads': 384", "'blockThreads': '384'"),
            "field `blockThreads` is not an integer [manifest-field]");
  EXPECT_EQ(gemmError("'blockThreads': 384,", ""),
            "field `blockThreads` is missing [manifest-field]");
  EXPECT_EQ(gemmError("'blockThreads'", "'extra': 1, 'blockThreads'"),
            "field `extra` is not known [manifest-field]");
  EXPECT_EQ(
      gemmError("'packed(16)'", "'packed(12)'"),
      "field `arguments[0].layout` is \"packed(12)\"; it is \"packed\" or \"strided\", with an "
      "alignment that is a power of two as in \"strided(16)\" [manifest-field]");
  EXPECT_EQ(gemmError("'access': 'in'", "'access': 'read'"),
            "field `arguments[0].access` is \"read\"; it is one of in, out, inout, scalar "
            "[manifest-field]");
}

TEST(Manifest, every_reference_is_checked) {
  const char *changes[][2] = {{"'kernel': 'gemm_nt'", "'kernel': ''"},
                              {"'arch': 'sm_90a'", "'arch': '90a'"},
                              {"'name': 'N'", "'name': 'M'"},
                              {"'name': 'b'", "'name': 'a'"},
                              {"'dtype': 'bf16'", "'dtype': 'f64'"},
                              {"'M',", "'Q',"},
                              {"'M',", "'M +',"},
                              {"'argument': 'a'", "'argument': 'z'"},
                              {"'element': 'bf16'", "'element': 'f32'"},
                              {"'element': 'bf16'", "'element': 'i8'"},
                              {"'dimension': 1", "'dimension': 2"},
                              {"'dimension': 1", "'dimension': 0"},
                              {"'box': 64", "'box': 60"},
                              {"'box': 64", "'box': 128"},
                              {"'swizzle': '128'", "'swizzle': '256'"},
                              {"'ragged': false", "'ragged': 0"},
                              {"'map': 0", "'map': 3"},
                              {"'dim': 'M'", "'dim': 'Q'"},
                              {"'kind': 'dim'", "'kind': 'grid'"},
                              {"'condition': 'K % 8 == 0'", "'condition': 'Q % 8 == 0'"},
                              {"'extent': 'ceildiv(N, 128)'", "'extent': 'ceildiv(N)'"},
                              {"'dynamicSharedBytes': 167936", "'dynamicSharedBytes': 400000"},
                              {"'registers': 168", "'registers': -1"},
                              {"'advisories': []", "'advisories': [1]"}};
  for (const auto &[from, to] : changes)
    EXPECT_NE(gemmError(from, to).find("[manifest-field]"), std::string::npos) << to;
}

TEST(Manifest, ragged_and_scalar_references_are_checked) {
  const char *changes[][2] = {{"'strideBytes': 1024", "'strideBytes': 1000"},
                              {"'extent': 3", "'extent': 0"},
                              {"'kind': 'pointer',", "'kind': 'scalar',"},
                              {"'kind': 'scalar',", "'kind': 'pointer',"},
                              {"'value': 4", "'value': -4"},
                              {"'value': 128", "'value': 9999999999999999999"},
                              {"'text': 't < T'", "'text': 5"},
                              {"'compileMs': 870.5", "'compileMs': 'fast'"}};
  for (const auto &[from, to] : changes)
    EXPECT_NE(raggedError(from, to).find("[manifest-field]"), std::string::npos) << to;
  Manifest manifest = raggedManifest();
  manifest.tensorMaps[0].dimensions.push_back({0, 1, 0, 1});
  EXPECT_EQ(readManifest(writeManifest(manifest)).error().message,
            "field `tensorMaps[0].dimensions` has 4 entries; a ragged map has 1 to 3");
  manifest.tensorMaps[0].dimensions.resize(1);
  EXPECT_FALSE(bool(readManifest(writeManifest(manifest))));
}

TEST(Manifest, timelines_are_checked) {
  const auto error = [](const Manifest &manifest) {
    const auto read = readManifest(writeManifest(manifest));
    return read ? "it reads" : read.error().message;
  };
  Manifest manifest = instrumentedManifest();
  manifest.timeline->steps[1].role = "store";
  EXPECT_EQ(error(manifest), "field `timeline.steps[1].role` names `store`, which is no role");
  manifest = instrumentedManifest();
  manifest.timeline->roles.resize(33, "more");
  EXPECT_EQ(error(manifest), "field `timeline.roles` has 33 entries; the limit is 32");
  manifest = instrumentedManifest();
  manifest.timeline->records = 0;
  EXPECT_EQ(error(manifest), "field `timeline.records` is 0; it must lie in 1 … 1048576");
  manifest = instrumentedManifest();
  manifest.timeline.reset();
  EXPECT_EQ(error(manifest),
            fmt::format("field `cudaParams[{}].kind` is for kernels with a `timeline`",
                        manifest.cudaParams.size() - 1));
}

TEST(Manifest, limits_keep_launches_free_of_allocation) {
  Manifest manifest = gemmManifest();
  for (int i = 0; i < Manifest::maxSymbols; ++i)
    manifest.dims.push_back({fmt::format("D{}", i), 1});
  EXPECT_EQ(readManifest(writeManifest(manifest)).error().message,
            "field `dims` has 67 entries; the limit is 64");
}
