// What random programs have found in code generation, as small as it gets: the text must compute what the simulator does.
#include "tests/random/judge.h"

#include <gtest/gtest.h>

using namespace flashqla::random;

namespace {

Argument tensor(std::string name, Argument::Kind kind, Type type, std::vector<std::string> sizes, const std::string &layout = "") {
  Argument argument{.name = std::move(name), .kind = kind, .sizes = std::move(sizes), .type = type, .number = {1, 2, 0}};
  argument.strided = layout == " strided";
  std::string shape;
  for (const std::string &size : argument.sizes)
    shape += (shape.empty() ? "" : ", ") + size;
  argument.text = (kind == Argument::Kind::Output ? "out " : "in ") + typeName(type) + "[" + shape + "]" + layout;
  return argument;
}

Argument in(std::string name, Type type, std::vector<std::string> sizes, const std::string &layout = "") {
  return tensor(std::move(name), Argument::Kind::Input, type, std::move(sizes), layout);
}
Argument out(std::string name, Type type, std::vector<std::string> sizes) {
  return tensor(std::move(name), Argument::Kind::Output, type, std::move(sizes));
}

/// One role of one CTA.
Program program(std::vector<Argument> arguments, const std::vector<std::string> &shared, const std::vector<std::string> &lines) {
  Program result;
  result.arguments = std::move(arguments);
  result.grid = {"p: 1"};
  result.dims = {{"N", false}};
  result.cases = {{.dims = {{"N", 61}}}};
  for (const std::string &line : shared)
    result.shared.push_back(Node::line("shared " + line));
  Node role = Node::braces("warpgroup work regs 128");
  role.role = "work";
  for (const std::string &line : lines)
    role.body.push_back(Node::line(line));
  result.roles = {std::move(role)};
  return result;
}

void expectGood(const Program &program) {
  Judge judge({.emulated = true});
  if (!judge.missing().empty())
    GTEST_SKIP() << judge.missing();
  const Verdict verdict = judge(program);
  EXPECT_TRUE(verdict.good()) << verdict.name << "\n" << verdict.text << "\n" << program.text();
}

} // namespace

/// The threads that hold a row write its sum, and all warps take part in it.
TEST(Found, ReductionsOfFragmentsToTiles) {
  expectGood(program({in("x", Type::F32, {"64", "64"}), out("y", Type::F32, {"N"}), out("z", Type::F32, {"N"})},
                     {"a: f32[64]", "b: f32[64]"},
                     {"frag d: f32[64, 64]", "copy d <- x[0 +: 64, :]", "map (r: 64) a[r] = sum[c](d[r, c])",
                      "map (c: 64) b[c] = max[r](d[r, c])", "sync", "copy y[0 +: 64] <- a", "copy z[0 +: 64] <- b"}));
}

/// A vector in a map of two indices, without a matrix whose row or column it could be.
TEST(Found, VectorsAloneInMapsOfTwoIndices) {
  expectGood(program({in("x", Type::F32, {"N"}), out("y", Type::F32, {"N", "24"}), out("z", Type::F32, {"24", "N"})}, {},
                     {"frag d: f32[64]", "copy d <- x[0 +: 64]", "map (r: 64, c: 24) y[r, c] = d[r] + c where r < N",
                      "map (r: 24, c: 64) z[r, c] = d[c] - r where c < N"}));
}

/// A map that fills registers of all warps and memory by one of those that hold the same elements.
TEST(Found, MapsToRegistersAndMemory) {
  expectGood(program({in("x", Type::F32, {"N"}), out("y", Type::F32, {"N", "64"}), out("z", Type::F32, {"N"})}, {"a: f32[64]"},
                     {"frag d: f32[64], e: f32[64]", "copy d <- x[0 +: 64]",
                      "map (r: 64) {\n  e[r] = d[r] * 2\n  a[r] = d[r] + 1\n}", "sync",
                      "map (r: 64, c: 64) y[r, c] = e[r] where r < N", "copy z[0 +: 64] <- a"}));
}

/// 16-bit fragments, two elements a register, and tensors whose elements come one by one.
TEST(Found, CopiesOfPackedFragmentsByElement) {
  expectGood(program({in("x", Type::F32, {"N"}), in("w", Type::BF16, {"64", "N"}, " strided"), out("y", Type::BF16, {"N"}),
                      out("z", Type::F32, {"64", "N"})},
                     {},
                     {"frag d: bf16[64]", "copy d <- bf16(x[0 +: 64])", "copy y[0 +: 64] <- d", "frag e: bf16[64, 64]",
                      "copy e <- w[:, 0 +: 64]", "copy z[:, 0 +: 64] <- e"}));
}

/// Two elements a register, of rows that a thread has one or several of.
TEST(Found, PackedRowVectors) {
  expectGood(program({in("x", Type::F32, {"64", "64"}), out("y", Type::F32, {"64"}), out("z", Type::F32, {"64"})}, {},
                     {"frag d: f32[64, 64], e: bf16[64], f: bf16[64]", "copy d <- x[0 +: 64, :]", "map e[r] = bf16(max[c](d[r, c]))",
                      "map f[c] = bf16(min[r](d[r, c]))", "map (r: 64) y[r] = e[r]", "map (c: 64) z[c] = f[c]"}));
}

/// The registers of rows are not side by side.
TEST(Found, CopiesOfRowVectors) {
  expectGood(program({in("x", Type::F32, {"64", "64"}), out("y", Type::F32, {"64"})}, {},
                     {"frag d: f32[64, 64], e: f32[64]", "copy d <- x[0 +: 64, :]", "map e[r] = max[c](d[r, c])",
                      "copy y[0 +: 64] <- e"}));
}

/// A piece that is all of the last dimension.
TEST(Found, CopiesOfRowsOfOnePiece) {
  expectGood(program({in("x", Type::BF16, {"N", "8"}), out("y", Type::BF16, {"N", "8"})}, {"a: bf16[64, 8]"},
                     {"copy.async a <- x[0 +: 64, :]", "await copy.async", "sync", "copy y[0 +: 64, :] <- a"}));
}

/// Threads without a piece of their own, and threads that are left over.
TEST(Found, AsynchronousCopiesOfFewOrUnevenPieces) {
  expectGood(program({in("x", Type::F32, {"64"}), in("w", Type::F32, {"24", "40"}), out("y", Type::F32, {"64"}),
                      out("z", Type::F32, {"24", "40"}), out("v", Type::F32, {"24", "40"})},
                     {"a: f32[64]", "b: f32[24, 40]", "c: f32[24, 40]"},
                     {"copy.async a <- x[:]", "copy.async b <- w[:, :]", "copy c <- w[:, :]", "await copy.async", "sync",
                      "copy y[:] <- a", "copy z[:, :] <- b", "copy v[:, :] <- c"}));
}

/// A window of columns of a fragment that no product uses.
TEST(Found, WindowsOfFragmentsWithoutProducts) {
  expectGood(program({out("y", Type::F32, {"64", "32"})}, {},
                     {"frag d: f32[64, 32] = 0", "d[:, 8 +: 24] = 1.0", "copy y[:, :] <- d"}));
}

/// A product into some columns of an accumulator of several blocks of 64 rows.
TEST(Found, ProductsIntoWindowsOfTallAccumulators) {
  expectGood(program({in("x", Type::BF16, {"64", "128"}), out("y", Type::F32, {"128", "64"})}, {"a: bf16[64, 128]"},
                     {"frag d: f32[128, 64] = 0", "copy a <- x[:, :]", "sync", "wgmma d[:, 16 +: 32] += a.T @ a[:, 0 +: 32]",
                      "await wgmma", "copy y[:, :] <- d"}));
}

/// Lines shorter than a warp, several to a thread: none goes on in the next.
TEST(Found, ScansOfShortLines) {
  expectGood(program({out("y", Type::F32, {"64", "24"}), out("z", Type::F32, {"64", "16"})}, {"a: f32[64, 24]", "b: f32[64, 16]"},
                     {"map (r: 64, c: 24) a[r, c] = scan[c](-1.0)", "map (r: 64, c: 16) b[r, c] = rscan[c](r + c * 1.0)", "sync",
                      "copy y[:, :] <- a", "copy z[:, :] <- b"}));
}

/// A window of some columns of a 16-bit fragment of several blocks of 64 rows.
TEST(Found, WindowsOfTallPackedFragments) {
  expectGood(program({out("y", Type::F32, {"128", "32"})}, {},
                     {"frag d: bf16[128, 32] = 0", "d[:, 8 +: 8] = bf16(1.0)", "d[:, 16 +: 16] = bf16(2.0)",
                      "map (r: 128, c: 32) y[r, c] = d[r, c]"}));
}

/// A fragment that meets a slice of an accumulator, and nothing else, is dealt like it.
TEST(Found, MatricesThatMeetSlicesOfAccumulators) {
  expectGood(program({in("x", Type::F32, {"64", "64"}), out("y", Type::F32, {"64", "64"}), out("z", Type::F32, {"64", "128"})}, {},
                     {"frag d: f32[64, 64]", "copy d <- x[:, :]", "d[:, 8 +: 24] = 1.0", "frag e: f32[64]",
                      "map e[r] = sum[c](d[r, c])", "frag f: bf16[64, 64], g: f32[64, 128]", "map f[r, c] = bf16(e[r] + c)",
                      "map g[r, c] = e[r] - c", "map (r: 64, c: 64) y[r, c] = f[r, c]", "copy z[:, :] <- g"}));
}

/// The same of fragments that no product uses, whose elements have other sizes.
TEST(Found, MatricesThatMeetSlicesOfOthers) {
  expectGood(program({in("x", Type::F32, {"64"}), out("y", Type::F32, {"64", "32"}), out("z", Type::BF16, {"64", "32"})}, {},
                     {"frag d: f32[64], e: f32[64, 32], f: bf16[64, 32]", "copy d <- x[:]", "map e[r, c] = d[r] + c",
                      "map f[r, c] = bf16(d[r] - c)", "copy y[:, :] <- e", "copy z[:, :] <- f"}));
}
