/// Elementwise bodies: one loop over a thread's points, its body printed once.
#include "compiler/codegen/emitter.h"

using namespace mlir;
using namespace flashqla::tile;

namespace flashqla::codegen {

void KernelEmitter::emitMap(MapOp map) {
  std::set<std::string> outerNames = taken;
  PointLayout chosen = choosePoints(map);
  const PointLayout *outerPoints = points;
  bool writesMemory = false;
  map.walk([&](StoreOp store) { writesMemory |= space(store.getTarget()) != Space::Register; });
  genericSinceSync |= writesMemory;
  std::string replica = writesMemory ? replicaCondition(chosen.layout, LayoutDigit::Source::Warp) : "";
  if (replica.empty())
    out.open();
  else // other warps would write the same elements
    out.open("if ({})", replica);
  std::vector<std::string> indexNames;
  for (Attribute name : map.getNames())
    indexNames.push_back(cast<StringAttr>(name).getValue().str());
  emitBases(chosen, indexNames);
  points = &chosen;
  preloads.clear();
  buffers.clear();
  emitPoints(map, chosen);
  points = outerPoints;
  out.close();
  taken = std::move(outerNames);
}

namespace {

/// The comparison of a store's value `row ≥ column ? x : constant` (or >), and the constant's attribute.
struct TriangularStore {
  bool strict;
  TypedAttr otherwise;
};

std::optional<TriangularStore> triangularStore(StoreOp store, const PointLayout &points) {
  auto map = dyn_cast<MapOp>(store->getParentOp());
  Value value = store.getValue();
  if (auto round = value.getDefiningOp<arith::TruncFOp>())
    value = round.getIn();
  auto select = value.getDefiningOp<arith::SelectOp>();
  auto compare = select ? select.getCondition().getDefiningOp<arith::CmpIOp>() : arith::CmpIOp();
  auto otherwise = select ? select.getFalseValue().getDefiningOp<arith::ConstantOp>() : arith::ConstantOp();
  if (!map || !compare || !otherwise)
    return std::nullopt;
  BlockArgument row = map.getBody().getArgument(points.accumulatorRow);
  BlockArgument column = map.getBody().getArgument(points.accumulatorColumn);
  using Predicate = arith::CmpIPredicate;
  bool straight = compare.getLhs() == row && compare.getRhs() == column;
  bool reversed = compare.getLhs() == column && compare.getRhs() == row;
  Predicate predicate = compare.getPredicate();
  if ((straight && predicate == Predicate::sge) || (reversed && predicate == Predicate::sle))
    return TriangularStore{false, otherwise.getValue()};
  if ((straight && predicate == Predicate::sgt) || (reversed && predicate == Predicate::slt))
    return TriangularStore{true, otherwise.getValue()};
  return std::nullopt;
}

} // namespace

/// Where everything a map writes is masked by `row ≥ column`, the condition under which a warp's block of 16 columns has
/// an element that is not: uniform in the warp. Empty where the mask, the layout or products in flight (whose registers
/// must not be branched around) forbid it.
std::string KernelEmitter::triangleCondition(MapOp map, const PointLayout &chosen) {
  if (!map->hasAttr("nothing_in_flight") || !chosen.isAccumulator() || chosen.blocks == 1)
    return "";
  bool strict = true, all = true;
  map.walk([&](StoreOp store) {
    std::optional<TriangularStore> triangle = triangularStore(store, chosen);
    all &= triangle.has_value() && (buffers.count(store) || space(store.getTarget()) == Space::Register);
    strict &= triangle && triangle->strict;
  });
  bool plain = llvm::all_of(map.getBody().getOps(), [](Operation &op) { return op.getNumRegions() == 0; });
  if (!all || !plain)
    return "";
  std::string row = digitSum(chosen.layout.digits(LayoutDigit::Source::Warp), chosen.accumulatorRow, "warp");
  std::string outerRow = digitSum(chosen.outer, chosen.accumulatorRow, "b");
  return fmt::format("{}{}{} + 15 {} {}", row, outerRow.empty() ? "" : " + ", outerRow, strict ? ">" : ">=",
                     digitSum(chosen.outer, chosen.accumulatorColumn, "b"));
}

void KernelEmitter::emitPoints(MapOp map, PointLayout &chosen) {
  emitMapReductions(map, chosen);
  emitScans(map, chosen);
  planPreloads(map, chosen);
  planBuffers(map, chosen);
  emitPreloads(map, chosen, /*inLoop=*/false);
  openLoops(chosen);
  declareBuffers(map, chosen);
  std::string triangle = triangleCondition(map, chosen);
  if (!triangle.empty())
    out.open("if ({})", triangle);
  emitPreloads(map, chosen, /*inLoop=*/true);
  openInnerLoop(chosen);
  nameCoordinates(map.getBody().front(), chosen);
  std::string bounds = boundsCondition(chosen);
  if (!bounds.empty())
    out.open("if ({})", bounds);
  emitBlock(map.getBody().front());
  if (!bounds.empty())
    out.close();
  if (chosen.blockSize > 1)
    out.close();
  if (!triangle.empty()) {
    out.orElse();
    openInnerLoop(chosen);
    map.walk([&](StoreOp store) {
      auto constant = cast<FloatAttr>(triangularStore(store, chosen)->otherwise);
      emitStoredValue(store, chosen, floatLiteral(constant.getValue()));
    });
    if (chosen.blockSize > 1)
      out.close();
    out.close();
  }
  emitBuffers(map, chosen);
  if (chosen.blocks > 1)
    out.close();
}

void KernelEmitter::nameCoordinates(Block &body, const PointLayout &chosen) {
  auto map = cast<MapOp>(body.getParentOp());
  for (BlockArgument argument : body.getArguments()) {
    // Coordinates that only select registers, or what was fetched by block, need no variable.
    bool used = llvm::any_of(argument.getUsers(), [&](Operation *user) {
      if (preloads.count(user) || buffers.count(user))
        return false;
      if (auto load = dyn_cast<LoadOp>(user))
        return space(load.getSource()) != Space::Register;
      if (auto store = dyn_cast<StoreOp>(user))
        return space(store.getTarget()) != Space::Register || store.getValue() == argument;
      return true;
    });
    std::string text = coordinate(chosen, argument.getArgNumber());
    std::string name = cast<StringAttr>(map.getNames()[argument.getArgNumber()]).getValue().str();
    if (!used) {
      names[argument] = text;
      continue;
    }
    names[argument] = freshName(name);
    out.line("const int {} = {};", names[argument], text);
  }
}

void KernelEmitter::emitMapLoad(LoadOp load, const PointLayout &chosen) {
  Value source = load.getSource(), value = load.getResult();
  Type element = elementType(source);
  if (auto found = preloads.find(load); found != preloads.end()) {
    const Preload &preload = found->second;
    if (preload.kind == Preload::Kind::Matrix)
      names[value] = fmt::format("half_{}({}[k / 2], k % 2)", element.isBF16() ? "bf16" : "f16", preload.name);
    else
      names[value] = fmt::format("{}[{}]", preload.name, compressedIndex(chosen, preload.digits));
    return;
  }
  std::string text;
  if (space(source) == Space::Register) {
    std::string index = registerIndex(source, load.getIndices(), chosen);
    bool packed = elementBytes(element) == 2;
    text = packed ? fmt::format("half_{}({}[({}) / 2], ({}) % 2)", element.isBF16() ? "bf16" : "f16", fragName(source),
                                index, index)
                  : fmt::format("{}[{}]", fragName(source), index);
    // A point makes its reads before its writes: where the map also writes the fragment, the old value is kept.
    bool written = false;
    if (auto map = load->getParentOfType<MapOp>())
      map.walk([&](StoreOp store) { written |= declaration(store.getTarget()) == declaration(source); });
    if (!written) {
      names[value] = text;
      return;
    }
  } else if (space(source) == Space::Shared) {
    text = loadShared(element, sharedAddress(source, elementIndices(source, load.getIndices())));
  } else {
    text = loadGlobal(element, globalElement(cast<ArgumentOp>(declaration(source)), elementIndices(source, load.getIndices())));
  }
  std::string name = cast<StringAttr>(declaration(source)->getAttr("name")).getValue().str() + "_value";
  std::string type = cppType(value);
  out.line("const {} {} = {};", type, nameValue(value, name), text);
}

void KernelEmitter::emitMapStore(StoreOp store, const PointLayout &chosen) {
  Value value = store.getValue();
  // The store rounds.
  if (auto truncate = value.getDefiningOp<arith::TruncFOp>(); truncate && isInlined(*truncate))
    value = truncate.getIn();
  emitStoredValue(store, chosen, scalar(value).text);
}

void KernelEmitter::emitStoredValue(StoreOp store, const PointLayout &chosen, const std::string &text) {
  Value target = store.getTarget();
  Type element = elementType(target);
  if (auto found = buffers.find(store); found != buffers.end()) {
    out.line("{}[{}] = {};", found->second, chosen.blockSize > 1 ? "k" : "0", text);
    return;
  }
  if (space(target) == Space::Register) {
    out.line("{}[{}] = {};", fragName(target), registerIndex(target, store.getIndices(), chosen), text);
    return;
  }
  std::string replica = replicaCondition(chosen.layout, LayoutDigit::Source::Lane);
  std::string guard = replica.empty() ? "" : fmt::format("if ({}) ", replica);
  std::vector<std::string> indices = elementIndices(target, store.getIndices());
  if (space(target) == Space::Shared)
    out.line("{}{}", guard, storeShared(element, sharedAddress(target, indices), text));
  else
    out.line("{}{}", guard, storeGlobal(element, globalElement(cast<ArgumentOp>(declaration(target)), indices), text));
}

} // namespace flashqla::codegen
