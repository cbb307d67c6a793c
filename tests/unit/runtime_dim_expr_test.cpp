#include "runtime/dim_expr.h"

#include <gtest/gtest.h>
#include <limits>

using namespace flashqla;

namespace {

const std::vector<std::string> symbols = {"M", "N", "K", "P"};
constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t smallest = std::numeric_limits<std::int64_t>::min();

DimExpr bound(std::string_view text) {
  Expected<DimExpr> expr = DimExpr::parse(text);
  EXPECT_TRUE(bool(expr)) << text << ": " << (expr ? "" : expr.error().text());
  if (!expr)
    return DimExpr();
  EXPECT_TRUE(bool(expr->bind(symbols))) << text;
  return *expr;
}

/// With M = 300, N = 200, K = 0, P = 1.
Expected<std::int64_t> value(std::string_view text) {
  const std::int64_t values[] = {300, 200, 0, 1};
  return bound(text).evaluate(values);
}

struct Case {
  const char *text;
  std::int64_t value;
};

} // namespace

TEST(DimExpr, every_form_has_its_value) {
  const Case cases[] = {
      {"7", 7},
      {"-7", -7},
      {"true", 1},
      {"false", 0},
      {"M", 300},
      {"-M", -300},
      {"!M", 0},
      {"!K", 1},
      {"M + N", 500},
      {"M - N", 100},
      {"N - M - 1", -101},
      {"N - (M - 1)", -99},
      {"M * N", 60000},
      {"M / 7", 42},
      {"-M / 7", -43},
      {"M % 7", 6},
      {"-M % 7", 1},
      {"M % -7", -1},
      {"ceildiv(M, 128)", 3},
      {"ceildiv(M, 100)", 3},
      {"ceildiv(-M, 7)", -42},
      {"ceildiv(K, 64)", 0},
      {"min(M, N)", 200},
      {"max(M, N)", 300},
      {"max(1, 2, 3)", 3},
      {"M == 300", 1},
      {"M != 300", 0},
      {"M < N", 0},
      {"M <= 300", 1},
      {"M > N", 1},
      {"M >= 301", 0},
      {"M && N", 1},
      {"M && K", 0},
      {"K || P", 1},
      {"K || K", 0},
      {"P ? M / 64 + N + 1 : 0", 205},
      {"K ? 1 : P ? 2 : 3", 2},
      {"1 + 2 * 3", 7},
      {"(1 + 2) * 3", 9},
      {"N % 8 == 0 && M > 5 || K", 1},
  };
  for (const Case &c : cases) {
    const auto result = value(c.text);
    ASSERT_TRUE(bool(result)) << c.text << ": " << result.error().text();
    EXPECT_EQ(*result, c.value) << c.text;
  }
}

TEST(DimExpr, text_reads_back_as_the_same_expression) {
  for (const char *text :
       {"ceildiv(N, 128)", "P ? M / 64 + N + 1 : K * ceildiv(M, 64)", "N - (M - 1)", "N - M - 1",
        "(M + N) * -3", "-(M + 1)", "!(M < N)", "(M < N) == (N < K)", "(P ? M : N) + 1",
        "M && (N || K)", "M && N || K", "min(max(M, 1), N, K)", "M * (N / K)", "M % (N * 2)",
        "-(-M)", "-9223372036854775808", "9223372036854775807"}) {
    const Expected<DimExpr> expr = DimExpr::parse(text);
    ASSERT_TRUE(bool(expr)) << text;
    const Expected<DimExpr> again = DimExpr::parse(expr->text());
    ASSERT_TRUE(bool(again)) << expr->text();
    EXPECT_EQ(expr->text(), again->text());
  }
  EXPECT_EQ(DimExpr::parse("( ( M ) )+ceildiv( N,2 )")->text(), "M + ceildiv(N, 2)");
  EXPECT_EQ(DimExpr::parse("(M+1)*(N-(K-2))")->text(), "(M + 1) * (N - (K - 2))");
}

TEST(DimExpr, built_expressions_print_as_they_read) {
  using Op = DimExpr::Op;
  const DimExpr m = DimExpr::name("M"), one = DimExpr::constant(1);
  const DimExpr sum = DimExpr::binary(Op::Add, m, one);
  EXPECT_EQ(DimExpr::binary(Op::Mul, sum, sum).text(), "(M + 1) * (M + 1)");
  EXPECT_EQ(DimExpr::binary(Op::Mul, sum, sum).names().size(), 1u);
  EXPECT_EQ(DimExpr::select(DimExpr::name("P"), sum, m).text(), "P ? M + 1 : M");
  EXPECT_EQ(DimExpr::unary(Op::Negate, one).text(), "-1");
  EXPECT_EQ(DimExpr::unary(Op::Negate, one).asConstant(), -1);
  EXPECT_EQ(DimExpr::binary(Op::CeilDiv, m, one), *DimExpr::parse("ceildiv(M, 1)"));
}

TEST(DimExpr, only_what_is_needed_is_evaluated) {
  EXPECT_EQ(*value("K == 0 || M / K > 2"), 1);
  EXPECT_EQ(*value("K != 0 && M / K > 2"), 0);
  EXPECT_EQ(*value("K ? M / K : 9"), 9);
}

TEST(DimExpr, division_by_zero_names_the_operands) {
  for (const char *text : {"1 + M / K", "M % K", "ceildiv(M, K)"}) {
    const auto result = value(text);
    ASSERT_FALSE(bool(result));
    EXPECT_EQ(result.error().code, "expr-division");
  }
  EXPECT_EQ(value("1 + M / K").error().message, "`M / K` divides by zero (M = 300, K = 0)");
}

TEST(DimExpr, overflow_is_an_error) {
  const DimExpr product = bound("M * N"), sum = bound("M + N"), difference = bound("M - N"),
                negated = bound("-M"), quotient = bound("M / N"), rounded = bound("ceildiv(M, N)");
  const std::int64_t big[] = {largest, 2, 0, 0}, low[] = {smallest, 1, 0, 0},
                     turn[] = {smallest, -1, 0, 0};
  EXPECT_EQ(product.evaluate(big).error().code, "expr-overflow");
  EXPECT_EQ(sum.evaluate(big).error().code, "expr-overflow");
  EXPECT_EQ(difference.evaluate(low).error().code, "expr-overflow");
  EXPECT_EQ(negated.evaluate(low).error().code, "expr-overflow");
  EXPECT_EQ(quotient.evaluate(turn).error().code, "expr-overflow");
  EXPECT_EQ(rounded.evaluate(turn).error().code, "expr-overflow");
  EXPECT_EQ(*bound("M % N").evaluate(turn), 0);
}

TEST(DimExpr, name_plus_constant_can_be_solved) {
  EXPECT_EQ(bound("N").asNamePlusConstant()->slot, 1);
  EXPECT_EQ(bound("N + 1").asNamePlusConstant()->constant, 1);
  EXPECT_EQ(bound("2 + N").asNamePlusConstant()->constant, 2);
  EXPECT_EQ(bound("N - 3").asNamePlusConstant()->constant, -3);
  for (const char *text : {"3 - N", "2 * N", "N + M", "N + N", "5", "N + 1 + 1"})
    EXPECT_FALSE(bound(text).asNamePlusConstant()) << text;
}

TEST(DimExpr, unknown_names_are_errors) {
  Expected<DimExpr> expr = DimExpr::parse("M + Q");
  const auto result = expr->bind(symbols);
  ASSERT_FALSE(bool(result));
  EXPECT_EQ(result.error().code, "expr-name");
  EXPECT_NE(result.error().message.find("`Q`"), std::string::npos);
}

TEST(DimExpr, bad_text_says_where) {
  EXPECT_EQ(DimExpr::parse("M + ").error().message,
            "expected a number, a name or `(` at column 5 of `M + `");
  EXPECT_EQ(DimExpr::parse("ceildiv(M)").error().message,
            "expected `,` at column 10 of `ceildiv(M)`");
  for (const char *text :
       {"", "(", "(M", "M)", "M N", "M ? N", "M ? N :", "1x", "99999999999999999999", "min(M)",
        "M < N < K", "- - M", "ceildiv(M, N, K)", "M = N", "M & N", "$", "min(min(min"})
    EXPECT_EQ(DimExpr::parse(text).error().code, "expr-syntax") << text;
}

TEST(DimExpr, nesting_and_length_are_bounded) {
  EXPECT_FALSE(bool(DimExpr::parse(std::string(100000, '('))));
  std::string sum = "M";
  for (int i = 0; i < 10000; ++i)
    sum += "+M";
  EXPECT_FALSE(bool(DimExpr::parse(sum)));
  EXPECT_TRUE(bool(DimExpr::parse(std::string(50, '(') + "M" + std::string(50, ')'))));
}
