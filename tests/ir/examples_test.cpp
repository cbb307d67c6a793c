// Every op of the dialect has a description with an example in its definition; the examples parse,
// verify, and read back as what was printed.

#include "compiler/ir/tile.h"
#include "tests/file_test.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

using namespace flashqla;

namespace {

/// What the examples may name without defining it.
const std::vector<std::pair<std::string, std::string>> definitions = {
    {"k", "tile.dim \"K\""},
    {"m", "tile.dim \"M\""},
    {"i", "tile.dim \"I\""},
    {"t", "tile.dim \"T\""},
    {"t1", "tile.dim \"T1\""},
    {"h", "tile.axis \"h\""},
    {"batch", "tile.axis \"b\""},
    {"row", "tile.axis \"row\""},
    {"c0", "arith.constant 0 : i64"},
    {"c64", "arith.constant 64 : i64"},
    {"slot", "arith.constant 1 : i32"},
    {"parity", "arith.constant 0 : i32"},
    {"fits", "arith.constant true"},
    {"started", "arith.constant true"},
    {"e", "arith.constant 1.0 : f32"},
    {"x", "tile.argument \"x\" in [%c64, %c64] : <2, bf16>"},
    {"y", "tile.argument \"y\" out [%c64, %c64] : <2, bf16>"},
    {"keys", "tile.argument \"keys\" in [%c64, %c64, %c64, %c64] : <4, bf16>"},
    {"a_s", "tile.shared \"a_s\" : <1, [64, 64], bf16>"},
    {"b_s", "tile.shared \"b_s\" : <1, [64, 64], bf16>"},
    {"t_s", "tile.shared \"t_s\" : <1, [64, 64], f32>"},
    {"gam", "tile.shared \"gam\" : <1, [64], f32>"},
    {"k_s", "tile.shared \"k_s\" : <3, [64, 128], bf16>"},
    {"ring", "tile.shared \"ring\" : <4, [64, 64], bf16>"},
    {"full", "tile.barrier \"full\" from [\"load\"] to [\"work\"] : <4>"},
    {"empty", "tile.barrier \"empty\" from [\"work\"] to [\"load\"] : <4>"},
    {"acc", "tile.frag \"acc\" : <[64, 64], f32>"},
    {"u", "tile.frag \"u\" : <[64, 64], f32>"},
    {"l", "tile.frag \"l\" : <[64, 64], f32>"},
    {"p", "tile.frag \"p\" : <[64, 64], f32>"},
    {"half", "tile.frag \"half\" : <[64, 64], bf16>"},
    {"v", "tile.frag \"v\" : <[64], f32>"},
    {"w",
     "tile.view %x[%c0, %c0] sizes [64, 64] : !tile.tensor<2, bf16> -> <global, [64, 64], bf16>"},
    {"q", "tile.view %t_s[%c0, %c0] sizes [64, 64] : !tile.shared<1, [64, 64], f32> -> "
          "<shared, [64, 64], f32>"},
};

std::string definitionsText() {
  std::string text;
  for (const char *file : {"TileOps.td", "TileLoweredOps.td"})
    text += fq_test::readFile(fq_test::testsFolder() / "../compiler/ir" / file);
  return text;
}

/// Examples by the op whose definition holds them; `tile.map` → text.
std::map<std::string, std::string> examples() {
  static const std::regex definition(R"re(\ndef Tile_\w+ : Tile_\w+<"(\w+)")re"),
      fence("```mlir\n([^`]*)```");
  const std::string text = definitionsText();
  std::map<std::string, std::string> found;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), definition);
       at != std::sregex_iterator(); ++at) {
    const auto next = std::next(at);
    const size_t begin = at->position(),
                 end = next == std::sregex_iterator() ? text.size() : next->position();
    const std::string body = text.substr(begin, end - begin);
    if (std::smatch example; std::regex_search(body, example, fence))
      found["tile." + at->str(1)] = example.str(1);
  }
  return found;
}

std::string kernelAround(const std::string &body) {
  return "tile.kernel @k attributes {arguments = [], dims = [], grid = [], params = {}, resident = "
         "1 : i64, "
         "static_dims = {}, warpgroup_regs = array<i64: 128>, where = []} {\n" +
         body + "}\n";
}

/// The example as a module: in a kernel, in a role, in a map, with what it names.
std::string moduleOf(const std::string &op, const std::string &example) {
  if (op == "tile.kernel")
    return example;
  std::string defined;
  for (const auto &[name, value] : definitions)
    // A definition may need others, so that only what the example defines itself is left out.
    if (!std::regex_search(example, std::regex("%" + name + "(:[0-9]+)? =|%" + name + ": ")))
      defined += fmt::format("%{} = {}\n", name, value);
  if (op == "tile.role")
    return kernelAround(defined + example);
  static const std::set<std::string> inMap = {"tile.load", "tile.store", "tile.scan", "tile.yield"};
  std::string body = example;
  if (inMap.contains(op))
    body = "tile.map [64, 64] names [\"r\", \"c\"] {\n^bb0(%r: i64, %c: i64):\n" + example + "}\n";
  return kernelAround("tile.role \"r\" warps 0 to 4 {\n" + defined + body + "}\n");
}

std::string printed(mlir::Operation *op) {
  std::string text;
  llvm::raw_string_ostream(text) << *op;
  return text;
}

} // namespace

TEST(Ir, examples_read_back_and_cover_every_op) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<tile::TileDialect>();
  std::set<std::string> seen;
  const auto all = examples();
  for (const auto &[name, example] : all) {
    SCOPED_TRACE(name);
    const std::string text = moduleOf(name, example);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    bool holds = false;
    module->walk([&](mlir::Operation *op) {
      holds |= op->getName().getStringRef() == name;
      seen.insert(op->getName().getStringRef().str());
    });
    EXPECT_TRUE(holds) << "the example of an op shows it";
    const std::string once = printed(*module);
    auto again = mlir::parseSourceString<mlir::ModuleOp>(once, &context);
    ASSERT_TRUE(again) << once;
    EXPECT_EQ(printed(*again), once);
  }
  for (mlir::RegisteredOperationName op : context.getRegisteredOperationsByDialect("tile"))
    EXPECT_TRUE(all.contains(op.getStringRef().str()))
        << op.getStringRef().str() << " has no example";
}
