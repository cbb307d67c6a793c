/// Elementwise bodies: one loop over a thread's points, its body printed once.
#include "compiler/codegen/emitter.h"

using namespace mlir;
using namespace flashqla::tile;

namespace flashqla::codegen {

void KernelEmitter::emitMap(MapOp map) {
  std::set<std::string> outerNames = taken;
  PointLayout chosen = choosePoints(map);
  const PointLayout *outerPoints = points;
  bool writesMemory = false, writesRegisters = false;
  map.walk([&](StoreOp store) {
    (space(store.getTarget()) == Space::Register ? writesRegisters : writesMemory) = true;
  });
  genericSinceSync |= writesMemory;
  // Of warps that hold the same points one writes memory; all fill their registers.
  std::string replica = writesMemory ? replicaCondition(chosen.layout, LayoutDigit::Source::Warp) : "";
  storingWarps = writesRegisters ? replica : "";
  if (writesRegisters)
    replica.clear();
  out.open();
  std::vector<std::string> indexNames;
  for (Attribute name : map.getNames())
    indexNames.push_back(cast<StringAttr>(name).getValue().str());
  emitBases(chosen, indexNames);
  points = &chosen;
  preloads.clear();
  buffers.clear();
  emitMapReductions(map, chosen); // all warps take part
  if (!replica.empty())
    out.open("if ({})", replica);
  emitPoints(map, chosen);
  if (!replica.empty())
    out.close();
  points = outerPoints;
  out.close();
  taken = std::move(outerNames);
}

void KernelEmitter::emitPoints(MapOp map, PointLayout &chosen) {
  emitScans(map, chosen);
  planPreloads(map, chosen);
  planBuffers(map, chosen);
  emitPreloads(map, chosen, /*inLoop=*/false);
  openLoops(chosen);
  declareBuffers(map, chosen);
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
  Value target = store.getTarget(), value = store.getValue();
  Type element = elementType(target);
  // The store rounds.
  if (auto truncate = value.getDefiningOp<arith::TruncFOp>(); truncate && isInlined(*truncate))
    value = truncate.getIn();
  std::string text = scalar(value).text;
  if (auto found = buffers.find(store); found != buffers.end()) {
    out.line("{}[{}] = {};", found->second, chosen.blockSize > 1 ? "k" : "0", text);
    return;
  }
  if (space(target) == Space::Register) {
    out.line("{}[{}] = {};", fragName(target), registerIndex(target, store.getIndices(), chosen), text);
    return;
  }
  std::string replica = replicaCondition(chosen.layout, LayoutDigit::Source::Lane);
  if (!storingWarps.empty())
    replica += (replica.empty() ? "" : " && ") + storingWarps;
  std::string guard = replica.empty() ? "" : fmt::format("if ({}) ", replica);
  std::vector<std::string> indices = elementIndices(target, store.getIndices());
  if (space(target) == Space::Shared)
    out.line("{}{}", guard, storeShared(element, sharedAddress(target, indices), text));
  else
    out.line("{}{}", guard, storeGlobal(element, globalElement(cast<ArgumentOp>(declaration(target)), indices), text));
}

} // namespace flashqla::codegen
