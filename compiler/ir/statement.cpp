#include "compiler/ir/statement.h"

#include "llvm/ADT/TypeSwitch.h"

#include <array>
#include <fmt/format.h>

using namespace mlir;
using namespace flashqla::tile;

namespace flashqla {
namespace {

constexpr std::array<std::string_view, 7> kindNames = {"wait", "await", "sync", "copy", "product", "map", "arrive"};

std::optional<StatementKind> kindOf(Operation &op) {
  return llvm::TypeSwitch<Operation *, std::optional<StatementKind>>(&op)
      .Case<WaitOp, WaitParityOp>([](auto) { return StatementKind::Wait; })
      .Case<AwaitOp, WaitGroupOp, WaitStoresOp>([](auto) { return StatementKind::Await; })
      .Case<SyncOp>([](auto) { return StatementKind::Sync; })
      .Case<CopyOp, TmaLoadOp, TmaStoreOp>([](auto) { return StatementKind::Copy; })
      .Case<WgmmaOp, WgmmaGroupOp>([](auto) { return StatementKind::Product; })
      .Case<MapOp, InverseOp>([](auto) { return StatementKind::Map; })
      .Case<ArriveOp, ArriveSlotOp>([](auto) { return StatementKind::Arrive; })
      .Default([](auto) { return std::nullopt; });
}

/// An operand `E(x)` that is packed where its product stands: what it is, not the product.
std::string packText(MapOp map) {
  auto load = *map.getBody().getOps<LoadOp>().begin();
  auto store = *map.getBody().getOps<StoreOp>().begin();
  return fmt::format("pack {}({})", elementType(store.getTarget()).isBF16() ? "bf16" : "f16",
                     cast<FragOp>(declaration(load.getSource())).getName().str());
}

std::string firstLine(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  text = text.substr(0, text.find("//"));
  text = text.substr(0, text.find_last_not_of(" \t{") + 1);
  return std::string(text);
}

} // namespace

std::string_view statementKindName(StatementKind kind) { return kindNames[static_cast<size_t>(kind)]; }

std::optional<StatementKind> statementKindNamed(std::string_view name) {
  auto found = std::find(kindNames.begin(), kindNames.end(), name);
  if (found == kindNames.end())
    return std::nullopt;
  return static_cast<StatementKind>(found - kindNames.begin());
}

std::optional<Statement> statementOf(Operation &op, const SourceFiles &files) {
  const std::optional<StatementKind> kind = kindOf(op);
  if (!kind)
    return std::nullopt;
  Statement made{*kind, op.getName().stripDialect().str(), 0};
  if (SourceRange range = files.range(&op)) {
    made.line = range.file->lineOf(range.begin);
    made.text = firstLine(range.file->text().substr(range.begin, range.end - range.begin));
  }
  if (auto map = dyn_cast<MapOp>(op); map && map->hasAttr("packs"))
    made.text = packText(map);
  return made;
}

} // namespace flashqla
