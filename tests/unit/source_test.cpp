#include "compiler/support/source.h"

#include <gtest/gtest.h>

using namespace flashqla;

TEST(Source, lines_and_columns_count_from_one) {
  const SourceFile file("f", "ab\ncd");
  EXPECT_EQ(file.position(0), (LineColumn{1, 1}));
  EXPECT_EQ(file.position(2), (LineColumn{1, 3}));
  EXPECT_EQ(file.position(3), (LineColumn{2, 1}));
  EXPECT_EQ(file.position(5), (LineColumn{2, 3}));
  EXPECT_EQ(file.position(99), (LineColumn{2, 3}));
  EXPECT_EQ(file.lineCount(), 2u);
}

TEST(Source, columns_count_code_points_and_tabs_once) {
  const SourceFile file("f", "\tΣx");
  EXPECT_EQ(file.position(1), (LineColumn{1, 2}));
  EXPECT_EQ(file.position(3), (LineColumn{1, 3}));
}

TEST(Source, offset_is_the_inverse_of_position) {
  const SourceFile file("f", "a\n\tΣb\r\n\n𝛼c");
  for (uint32_t at = 0; at <= file.text().size(); ++at) {
    const bool inside = at < file.text().size() && (file.text()[at] & 0xC0) == 0x80;
    const bool lineEnd = file.text().substr(at).starts_with('\n') && file.text()[at - 1] == '\r';
    if (!inside && !lineEnd) {
      EXPECT_EQ(file.offset(file.position(at)), at);
    }
  }
  EXPECT_EQ(file.offset({9, 1}), std::nullopt);
  EXPECT_EQ(file.offset({1, 50}), 1u);
}

TEST(Source, a_line_has_no_line_end) {
  const SourceFile file("f", "ab\r\ncd\n");
  EXPECT_EQ(file.line(1), "ab");
  EXPECT_EQ(file.line(2), "cd");
  EXPECT_EQ(file.line(3), "");
}

TEST(Source, an_empty_file_has_one_line) {
  const SourceFile file("f", "");
  EXPECT_EQ(file.lineCount(), 1u);
  EXPECT_EQ(file.position(0), (LineColumn{1, 1}));
}

TEST(Source, ranges_join) {
  const SourceFile file("f", "abcdef");
  const SourceRange left{&file, 0, 2}, right{&file, 4, 5};
  EXPECT_EQ(left.to(right).text(), "abcde");
  EXPECT_EQ(right.to(left).text(), "abcde");
  EXPECT_EQ(SourceRange{}.to(left), left);
  EXPECT_EQ(left.to({}), left);
  EXPECT_EQ(left.after(), (SourceRange{&file, 2, 2}));
  EXPECT_EQ(SourceRange{}.text(), "");
}

TEST(Utf8, only_well_formed_sequences_count) {
  EXPECT_TRUE(isUtf8At("a", 0));
  EXPECT_TRUE(isUtf8At("Σ", 0));
  EXPECT_TRUE(isUtf8At("\xF0\x9D\x9B\xBC", 0));
  EXPECT_FALSE(isUtf8At("\xC0\x80", 0));         // overlong
  EXPECT_FALSE(isUtf8At("\xE0\x80\x80", 0));     // overlong
  EXPECT_FALSE(isUtf8At("\xED\xA0\x80", 0));     // surrogate
  EXPECT_FALSE(isUtf8At("\xF4\x90\x80\x80", 0)); // beyond U+10FFFF
  EXPECT_FALSE(isUtf8At("\xCE", 0));             // cut off
  EXPECT_FALSE(isUtf8At("\xA3", 0));             // no first byte
  EXPECT_EQ(codePointLength("\xCEx", 0), 1u);
}

TEST(Utf8, combining_marks_take_no_column) {
  EXPECT_EQ(displayWidth("Wᵀ"), 2u);
  EXPECT_EQ(displayWidth("e\xCC\x81"), 1u);
}
