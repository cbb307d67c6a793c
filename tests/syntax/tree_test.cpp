// What the tree says beyond its structure: ranges, documentation, comments, text of expressions.

#include "compiler/syntax/format.h"
#include "compiler/syntax/parser.h"

#include <gtest/gtest.h>

using namespace flashqla;

namespace {

const SourceFile &sample() {
  static const SourceFile file("k.tile", "/// First line.\n"
                                         "///\n"
                                         "///   indented\n"
                                         "// no documentation\n"
                                         "kernel k[M]<BM = 128>(\n"
                                         "    x: in bf16[M, 2*BM] strided(16))\n"
                                         "  where M % 8 == 0 // TMA wants 16-byte row strides\n"
                                         "  grid (i: ((M)))\n"
                                         "{\n"
                                         "  warpgroup w[2] regs 232 {\n"
                                         "    arrive full[i - 1]\n"
                                         "  }\n"
                                         "}\n");
  return file;
}

const ast::Module &tree() {
  static Diagnostics diags;
  static const ast::Module module = parse(sample(), diags);
  return module;
}

const ast::Kernel &kernel() { return std::get<ast::Kernel>(tree().items[0].node); }

} // namespace

TEST(Tree, documentation_is_the_text_of_the_triple_slashes) {
  EXPECT_EQ(ast::docText(tree().items[0].trivia), "First line.\n\n  indented");
}

TEST(Tree, the_comment_behind_a_where_clause_is_its_message) {
  EXPECT_EQ(ast::trailingText(kernel().clauses[0].trivia), "TMA wants 16-byte row strides");
  EXPECT_EQ(ast::trailingText(kernel().clauses[1].trivia), "");
}

TEST(Tree, ranges_cover_the_construct_and_nothing_else) {
  EXPECT_EQ(kernel().header.text(), "kernel k");
  EXPECT_EQ(kernel().params[0].range.text(), "BM = 128");
  EXPECT_EQ(kernel().args[0].range.text(), "x: in bf16[M, 2*BM] strided(16)");
  EXPECT_EQ(kernel().args[0].shape.range.text(), "[M, 2*BM]");
  EXPECT_EQ(kernel().args[0].stridedRange.text(), "strided");
  EXPECT_EQ(kernel().clauses[0].range.text(), "where M % 8 == 0");
  const auto &role = std::get<ast::Role>(kernel().body.statements[0].node);
  EXPECT_EQ(role.header.text(), "warpgroup w[2] regs 232");
  EXPECT_EQ(role.name.range.text(), "w");
  EXPECT_FALSE(role.holdsWarps());
  EXPECT_EQ(role.body.range.text(), "{\n    arrive full[i - 1]\n  }");
  const auto &arrive = std::get<ast::Arrive>(role.body.statements[0].node);
  EXPECT_EQ(role.body.statements[0].range.text(), "arrive full[i - 1]");
  EXPECT_EQ(arrive.barrier.range.text(), "full[i - 1]");
  EXPECT_EQ(arrive.barrier.generation->opRange.text(), "-");
}

TEST(Tree, parentheses_can_be_looked_through) {
  const ast::Expr &extent = *std::get<ast::Grid>(kernel().clauses[1].node).axes[0].extent;
  EXPECT_EQ(extent.kind, ast::ExprKind::Paren);
  EXPECT_TRUE(ast::withoutParens(extent).isBareName());
  EXPECT_EQ(formatExpr(extent), "((M))");
}
