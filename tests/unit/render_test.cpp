#include "compiler/support/render.h"

#include <gtest/gtest.h>

using namespace flashqla;

namespace {

/// The range of a text that occurs once in the file.
SourceRange find(const SourceFile &file, std::string_view text) {
  const size_t at = file.text().find(text);
  return {&file, static_cast<uint32_t>(at), static_cast<uint32_t>(at + text.size())};
}

} // namespace

TEST(Render, labels_of_one_line_stand_below_each_other) {
  const SourceFile file("gemm_nt.tile", "  wgmma acc += a_s[k] @ b_s[k]\n");
  Diagnostics diags;
  diags
      .error(DiagnosticKind::MatmulShape, find(file, "b_s[k]"),
             "shapes do not multiply: [128, 64] @ [128, 64]")
      .primary("K is 128 here")
      .label(find(file, "a_s[k]"), "K is 64 here")
      .help("`b_s[k].T` is [64, 128]");
  EXPECT_EQ(
      renderText(diags),
      R"(gemm_nt.tile:1:25: error: shapes do not multiply: [128, 64] @ [128, 64] [matmul-shape]
    1 |   wgmma acc += a_s[k] @ b_s[k]
      |                ------   ^^^^^^ K is 128 here
      |                K is 64 here
  help: `b_s[k].T` is [64, 128]
)");
}

TEST(Render, labels_before_and_after_are_in_line_order) {
  const SourceFile file("k.tile", "barrier e: mma -> load\n\nwait e[k]\nwarpgroup mma {\n");
  Diagnostics diags;
  diags
      .error(DiagnosticKind::BarrierNoArrive, find(file, "wait e[k]"),
             "`load` waits for an arrival that never comes")
      .primary("first blocks at k = 4")
      .label(find(file, "warpgroup mma"), "no `arrive e` in this role")
      .label({&file, 11, 14}, "declared to arrive once per tile")
      .note("the simulator stops with\nload at line 3\nmma at line 4");
  EXPECT_EQ(renderText(diags),
            R"(k.tile:3:1: error: `load` waits for an arrival that never comes [barrier-no-arrive]
    1 | barrier e: mma -> load
      |            --- declared to arrive once per tile
    3 | wait e[k]
      | ^^^^^^^^^ first blocks at k = 4
    4 | warpgroup mma {
      | ------------- no `arrive e` in this role
  note: the simulator stops with
          load at line 3
          mma at line 4
)");
}

TEST(Render, three_labels_of_one_line_are_connected) {
  const SourceFile file("k", "a + b + c\n");
  Diagnostics diags;
  diags.error(DiagnosticKind::TypeMismatch, find(file, "b"), "no")
      .primary("two")
      .label(find(file, "a"), "one")
      .label(find(file, "c"), "three");
  EXPECT_EQ(renderText(diags), "k:1:5: error: no [type-mismatch]\n"
                               "    1 | a + b + c\n"
                               "      | -   ^   - three\n"
                               "      | |   two\n"
                               "      | one\n");
}

TEST(Render, carets_stand_right_behind_tabs_and_wide_code_points) {
  const SourceFile file("k", "\tΣᵀ\tx y\n");
  Diagnostics diags;
  diags.error(DiagnosticKind::UnknownName, find(file, "x"), "no").label(find(file, "y"), "here");
  EXPECT_EQ(renderText(diags), "k:1:5: error: no [unknown-name]\n"
                               "    1 |     Σᵀ  x y\n"
                               "      |         ^ - here\n");
}

TEST(Render, bytes_that_cannot_be_shown_are_replaced) {
  const SourceFile file("k", "a \xFF \x01 b");
  Diagnostics diags;
  diags.error(DiagnosticKind::TextEncoding, find(file, "b"), "no");
  EXPECT_EQ(renderText(diags), "k:1:7: error: no [text-encoding]\n"
                               "    1 | a \uFFFD \uFFFD b\n"
                               "      |       ^\n");
}

TEST(Render, a_range_of_several_lines_is_marked_on_the_first) {
  const SourceFile file("k", "ab (c  \n d)\n");
  Diagnostics diags;
  diags.error(DiagnosticKind::Syntax, {&file, 3, 10}, "no");
  EXPECT_EQ(renderText(diags), "k:1:4: error: no [syntax]\n"
                               "    1 | ab (c  \n"
                               "      |    ^^\n");
}

TEST(Render, an_empty_range_and_the_end_of_the_file_get_one_caret) {
  const SourceFile file("k", "ab\n");
  Diagnostics diags;
  diags.error(DiagnosticKind::Syntax, {&file, 2, 2}, "one");
  diags.error(DiagnosticKind::Syntax, {&file, 3, 3}, "two");
  EXPECT_EQ(renderText(diags), "k:1:3: error: one [syntax]\n"
                               "    1 | ab\n"
                               "      |   ^\n"
                               "\n"
                               "k:2:1: error: two [syntax]\n"
                               "    2 |\n"
                               "      | ^\n");
}

TEST(Render, a_label_in_another_file_names_it) {
  const SourceFile file("k", "a\n"), other("l", "b\n");
  Diagnostics diags;
  diags.error(DiagnosticKind::DuplicateName, file.range(), "no")
      .label({&other, 0, 1}, "first")
      .note("see", SourceRange{&other, 0, 1});
  EXPECT_EQ(renderText(diags), "k:1:1: error: no [duplicate-name]\n"
                               "    1 | a\n"
                               "      | ^\n"
                               "  in l:1\n"
                               "    1 | b\n"
                               "      | - first\n"
                               "  note: l:1:1: see\n");
}

TEST(Render, an_error_without_a_place_has_no_source_lines) {
  Diagnostics diags;
  diags.error(DiagnosticKind::LaunchWhere, {}, "`K % 8 == 0` does not hold (K = 500)");
  EXPECT_EQ(renderText(diags), "error: `K % 8 == 0` does not hold (K = 500) [launch-where]\n");
}

TEST(Render, errors_are_sorted_limited_and_said_once) {
  const SourceFile file("k", "abc\n");
  Diagnostics diags;
  for (uint32_t at : {2u, 0u, 1u, 0u})
    diags.error(DiagnosticKind::UnknownName, {&file, at, at + 1}, "no");
  EXPECT_EQ(diags.errorCount(), 4u);
  EXPECT_EQ(diags.sorted().size(), 3u);
  const std::string text = renderText(diags, {.errorLimit = 1});
  EXPECT_TRUE(text.starts_with("k:1:1: error"));
  EXPECT_TRUE(text.ends_with("\n\n2 more errors not shown\n")) << text;
}

TEST(Render, instances_and_other_parameters_say_it_once) {
  const SourceFile file("k", "abc\n");
  Diagnostics diags;
  for (const char *who : {"`w[0]`", "`w[1]`", "`v`"})
    diags.error(DiagnosticKind::MissingWait, {&file, 0, 1}, std::string(who) + " does not wait");
  for (const char *shape : {"[64, 64]", "[64, 128]"})
    diags.error(DiagnosticKind::ShapeMismatch, {&file, 0, 1}, std::string("shapes differ: ") + shape);
  ASSERT_EQ(diags.sorted().size(), 3u);
  EXPECT_EQ(diags.sorted().back()->message, "shapes differ: [64, 64]"); // the first
}

TEST(Render, numbers_in_names_are_no_numbers) {
  const SourceFile file("k", "abc\n");
  Diagnostics diags;
  for (const char *what : {"`x0` is f32", "`x1` is f32", "`x1` is bf16", "`x1` is f16", "`x_1_2[3]` is f16"})
    diags.error(DiagnosticKind::Narrowing, {&file, 0, 1}, what);
  EXPECT_EQ(diags.sorted().size(), 5u);
}

TEST(Render, colors_change_nothing_else) {
  const SourceFile file("k", "a b\n");
  Diagnostics diags;
  diags.warning(DiagnosticKind::UnknownName, find(file, "b"), "no").help("yes");
  std::string colored = renderText(diags, {.colors = true});
  for (size_t at; (at = colored.find('\x1b')) != std::string::npos;)
    colored.erase(at, colored.find('m', at) - at + 1);
  EXPECT_EQ(colored, renderText(diags));
}

TEST(Render, json_is_one_object_per_line) {
  const SourceFile file("k \"q\"", "a b\n");
  Diagnostics diags;
  diags.error(DiagnosticKind::UnknownName, find(file, "b"), "tab\t\xFF")
      .label(find(file, "a"), "x")
      .note("n\nm");
  EXPECT_EQ(renderJson(diags),
            R"({"file":"k \"q\"","line":1,"column":3,"endLine":1,"endColumn":4,"severity":"error",)"
            R"("kind":"unknown-name","message":"tab\u0009)"
            "\uFFFD"
            R"(","primary":"","labels":[{"file":"k \"q\"","line":1,"column":1,"endLine":1,)"
            R"("endColumn":2,"text":"x"}],"notes":[{"text":"n\nm"}],"help":""})"
            "\n");
}
