/// Several elements by one instruction: vectors that depend on one coordinate, and 16-bit tiles by matrix loads and
/// stores. What does not fit is read and written element by element.
#include "compiler/codegen/emitter.h"

using namespace mlir;
using namespace flashqla::tile;

namespace flashqla::codegen {
namespace {

using Source = LayoutDigit::Source;

int64_t product(const std::vector<LayoutDigit> &digits) {
  int64_t result = 1;
  for (const LayoutDigit &digit : digits)
    result *= digit.extent;
  return result;
}

/// The one argument of the map that an index depends on, with coefficient one; null if there is none or more.
BlockArgument onlyCoordinate(const Affine &index, MapOp map) {
  BlockArgument found;
  for (auto [term, coefficient] : index.terms) {
    auto argument = dyn_cast<BlockArgument>(term);
    if (argument && argument.getOwner() == &map.getBody().front()) {
      if (found || coefficient != 1)
        return {};
      found = argument;
    } else if (map->isAncestor(term.getParentRegion()->getParentOp())) {
      return {}; // computed at the point
    }
  }
  return found;
}

bool dependsOnPoint(const Affine &index, MapOp map) {
  return llvm::any_of(index.terms, [&](std::pair<Value, int64_t> entry) {
    return map->isAncestor(entry.first.getParentRegion()->getParentOp());
  });
}

} // namespace

int64_t KernelEmitter::vectorWidth(Value addressable, ValueRange indices, const PointLayout &chosen) {
  auto shared = cast<SharedOp>(declaration(addressable));
  SharedLayout layout = layoutOf(shared);
  if (chosen.inner.empty() || layout.swizzleBytes() || !shared.getType().getElementType().isF32())
    return 1;
  std::vector<Affine> affine;
  for (Value index : indices)
    affine.push_back(affineOf(index));
  Affine last = baseIndices(addressable, affine).back();
  const LayoutDigit &digit = chosen.inner.back();
  int64_t width = std::min<int64_t>(4, digit.extent & -digit.extent);
  if (digit.stride != 1 || layout.columns() * 4 % 16 != 0)
    return 1;
  for (auto [term, coefficient] : last.terms) {
    auto argument = dyn_cast<BlockArgument>(term);
    bool coordinate = argument && isa<MapOp>(argument.getOwner()->getParentOp());
    if (coordinate) { // the thread's first coordinate and the steps of its other digits
      if (coefficient != 1 || static_cast<int>(argument.getArgNumber()) != digit.dim)
        return 1;
      for (const LayoutDigit &other : chosen.layout.digits())
        if (other.dim == digit.dim && other.stride > 1)
          while (width > 1 && other.stride % width != 0)
            width /= 2;
      last = last.without(term);
    }
  }
  while (width > 1 && last.knownMultiple() % width != 0)
    width /= 2;
  return width;
}

std::optional<Preload> KernelEmitter::planVector(LoadOp load, const PointLayout &chosen) {
  Value source = load.getSource();
  auto map = load->getParentOfType<MapOp>();
  if (space(source) != Space::Shared || !elementType(source).isF32())
    return std::nullopt;
  std::vector<Affine> affine;
  for (Value index : load.getIndices())
    affine.push_back(affineOf(index));
  std::vector<Affine> base = baseIndices(source, affine);
  for (const Affine &index : ArrayRef(base).drop_back())
    if (dependsOnPoint(index, map))
      return std::nullopt;
  int dim = -1;
  if (dependsOnPoint(base.back(), map)) {
    BlockArgument argument = onlyCoordinate(base.back(), map);
    if (!argument)
      return std::nullopt;
    dim = static_cast<int>(argument.getArgNumber());
  }
  if (dim >= 0 && chosen.layout.isPadded(dim))
    return std::nullopt;
  Preload preload{Preload::Kind::Vector, "", false, {}, 1};
  for (const LayoutDigit &digit : chosen.outer)
    if (digit.dim == dim && digit.extent > 1)
      preload.inLoop = true;
  for (const LayoutDigit &digit : chosen.inner)
    if (digit.dim == dim && digit.extent > 1)
      preload.digits.push_back(digit);
  if (!preload.digits.empty() && preload.digits.back() == chosen.inner.back())
    preload.width = vectorWidth(source, load.getIndices(), chosen);
  bool saves = preload.width > 1 || product(preload.digits) < chosen.blockSize || (!preload.inLoop && chosen.blocks > 1);
  if (!saves || product(preload.digits) / preload.width > 16)
    return std::nullopt;
  return preload;
}

std::optional<bool> KernelEmitter::matrixAccess(Value addressable, ValueRange indices, const PointLayout &chosen) {
  if (!chosen.isAccumulator() || chosen.blockSize != 8 || space(addressable) != Space::Shared ||
      elementBytes(elementType(addressable)) != 2 || rank(declaration(addressable)->getResult(0)) != 2)
    return std::nullopt;
  SmallVector<Affine> affine;
  for (Value index : indices)
    affine.push_back(affineOf(index));
  std::vector<Affine> base = baseIndices(addressable, {affine.begin(), affine.end()});
  auto argumentOf = [&](const Affine &index) {
    for (auto [term, coefficient] : index.terms)
      if (auto argument = dyn_cast<BlockArgument>(term); argument && isa<MapOp>(argument.getOwner()->getParentOp()))
        return coefficient == 1 ? static_cast<int>(argument.getArgNumber()) : -1;
    return -1;
  };
  int row = argumentOf(base[0]), column = argumentOf(base[1]);
  if (row < 0 || column < 0 || row == column)
    return std::nullopt;
  auto map = cast<MapOp>(indices.front().getParentRegion()->getParentOp());
  for (const Affine &index : base)
    if (!onlyCoordinate(index, map))
      return std::nullopt;
  // Rows of the matrices are 16-byte chunks of the tile.
  Affine start = base[1].without(map.getBody().getArgument(column));
  if (start.knownMultiple() % 8 != 0)
    return std::nullopt;
  return row == chosen.accumulatorColumn;
}

std::string KernelEmitter::matrixAddress(Value addressable, ValueRange indices, bool transposed,
                                         const PointLayout &chosen) {
  // Lane l names row l % 8 of matrix l / 8. Matrices 0 … 3 are the registers 2m, 2m + 1 of the block: rows 0 and 8 of
  // the accumulator in its first eight columns, then the same in the next eight.
  int rowDim = chosen.accumulatorRow, columnDim = chosen.accumulatorColumn;
  std::string row = digitSum(chosen.layout.digits(Source::Warp), rowDim, "warp");
  std::string outerRow = digitSum(chosen.outer, rowDim, "b"), column = digitSum(chosen.outer, columnDim, "b");
  auto join = [](std::initializer_list<std::string> parts) {
    std::string text;
    for (const std::string &part : parts)
      text += (text.empty() || part.empty() ? "" : " + ") + part;
    return text;
  };
  std::string byRow = transposed ? join({row, outerRow, "8 * (lane / 8 % 2)"})
                                 : join({row, outerRow, "8 * (lane / 8 % 2)", "lane % 8"});
  std::string byColumn = transposed ? join({column, "8 * (lane / 16)", "lane % 8"}) : join({column, "8 * (lane / 16)"});
  std::vector<Affine> affine;
  for (Value index : indices)
    affine.push_back(affineOf(index));
  std::vector<std::string> text;
  for (const Affine &index : baseIndices(addressable, affine))
    text.push_back(affineText(index, [&](Value value) -> std::string {
      auto argument = dyn_cast<BlockArgument>(value);
      if (argument && isa<MapOp>(argument.getOwner()->getParentOp()))
        return static_cast<int>(argument.getArgNumber()) == rowDim ? byRow : byColumn;
      return "(u32)" + scalar(value).in(Code::unary);
    }));
  return sharedAddress(addressable, text);
}

void KernelEmitter::planPreloads(MapOp map, const PointLayout &chosen) {
  for (auto load : map.getBody().getOps<LoadOp>()) {
    std::string name = cast<StringAttr>(declaration(load.getSource())->getAttr("name")).getValue().str();
    if (matrixAccess(load.getSource(), load.getIndices(), chosen)) {
      Preload preload{Preload::Kind::Matrix, freshName(name + "_block"), true, {}, 8};
      preloads[load] = preload;
    } else if (std::optional<Preload> vector = planVector(load, chosen)) {
      vector->name = freshName(name + "_part");
      preloads[load] = *vector;
    }
  }
}

void KernelEmitter::emitPreloads(MapOp map, const PointLayout &chosen, bool inLoop) {
  for (auto load : map.getBody().getOps<LoadOp>()) {
    auto found = preloads.find(load);
    if (found == preloads.end() || found->second.inLoop != inLoop)
      continue;
    const Preload &preload = found->second;
    if (preload.kind == Preload::Kind::Matrix) {
      bool transposed = *matrixAccess(load.getSource(), load.getIndices(), chosen);
      out.line("u32 {}[4];", preload.name);
      out.line("ldmatrix_x4{}({}, {});", transposed ? "_trans" : "", preload.name,
               matrixAddress(load.getSource(), load.getIndices(), transposed, chosen));
    } else {
      emitVectorPreload(load, preload, chosen);
    }
  }
}

void KernelEmitter::emitVectorPreload(LoadOp load, const Preload &preload, const PointLayout &chosen) {
  int64_t count = product(preload.digits);
  out.line("float {}[{}];", preload.name, count);
  for (int64_t element = 0; element < count; element += preload.width) {
    // Coordinates at which the inner digits have the values that make up `element`.
    std::map<int, int64_t> offset;
    int64_t rest = element;
    for (auto digit = preload.digits.rbegin(); digit != preload.digits.rend(); ++digit) {
      offset[digit->dim] += rest % digit->extent * digit->stride;
      rest /= digit->extent;
    }
    std::vector<Affine> affine;
    for (Value index : load.getIndices())
      affine.push_back(affineOf(index));
    std::vector<std::string> text;
    for (const Affine &index : baseIndices(load.getSource(), affine))
      text.push_back(affineText(index, [&](Value value) -> std::string {
        auto argument = dyn_cast<BlockArgument>(value);
        if (!argument || !isa<MapOp>(argument.getOwner()->getParentOp()))
          return scalar(value).in(Code::multiply + 1);
        int dim = static_cast<int>(argument.getArgNumber());
        std::string place = chosen.bases[dim], outer = digitSum(chosen.outer, dim, "b");
        for (const std::string &part : {outer, offset[dim] ? fmt::format("{}", offset[dim]) : std::string()})
          if (!part.empty())
            place += (place.empty() ? "" : " + ") + part;
        return place.empty() ? "0" : place;
      }));
    std::string address = sharedAddress(load.getSource(), text);
    if (preload.width == 1)
      out.line("{}[{}] = load_f32({});", preload.name, element, address);
    else
      out.line("load_f32x{}({} + {}, {});", preload.width, preload.name, element, address);
  }
}

void KernelEmitter::planBuffers(MapOp map, const PointLayout &chosen) {
  bool padded = chosen.layout.isPadded();
  map.walk([&](StoreOp store) {
    Value target = store.getTarget();
    std::string name = cast<StringAttr>(declaration(target)->getAttr("name")).getValue().str();
    bool conditional = store->getParentOp() != map;
    bool buffered = false;
    if (space(target) == Space::Register)
      buffered = elementBytes(elementType(target)) == 2; // two elements a register
    else if (space(target) == Space::Shared && !conditional && !padded)
      buffered = matrixAccess(target, store.getIndices(), chosen) || vectorWidth(target, store.getIndices(), chosen) > 1;
    if (buffered)
      buffers[store] = freshName(name + "_out");
  });
}

void KernelEmitter::declareBuffers(MapOp map, const PointLayout &chosen) {
  map.walk([&](StoreOp store) {
    auto found = buffers.find(store);
    if (found == buffers.end())
      return;
    out.line("float {}[{}];", found->second, (chosen.blockSize + 1) / 2 * 2); // of an odd number the last pair has one
    if (store->getParentOp() == map)
      return;
    // A `where` leaves the other elements as they were.
    Value target = store.getTarget();
    std::string index = registerIndex(target, store.getIndices(), chosen);
    openInnerLoop(chosen);
    out.line("{}[{}] = half_{}({}[({}) / 2], ({}) % 2);", found->second, chosen.blockSize > 1 ? "k" : "0",
             elementType(target).isF16() ? "f16" : "bf16", fragName(target), index, index);
    if (chosen.blockSize > 1)
      out.close();
  });
}

void KernelEmitter::emitBuffers(MapOp map, const PointLayout &chosen) {
  map.walk([&](StoreOp store) {
    auto found = buffers.find(store);
    if (found == buffers.end())
      return;
    Value target = store.getTarget();
    const std::string &buffer = found->second;
    const char *pack = elementType(target).isF16() ? "pack_f16" : "pack_bf16";
    auto pair = [&](int64_t first) { return fmt::format("{}({}[{}], {}[{}])", pack, buffer, first, buffer, first + 1); };
    if (space(target) == Space::Register) {
      out.directive("#pragma unroll");
      if (target.getDefiningOp<ViewOp>()) { // the window's blocks need not follow each other
        out.line("for (int k = 0; k < {}; k += 2) {}[({}) / 2] = {}({}[k], {}[k + 1]);", chosen.blockSize, fragName(target),
                 registerIndex(target, store.getIndices(), chosen), pack, buffer, buffer);
        return;
      }
      std::string block = chosen.blocks > 1 ? fmt::format("b * {} + ", chosen.blockSize / 2) : "";
      out.line("for (int k = 0; k < {}; ++k) {}[{}k] = {}({}[2 * k], {}[2 * k + 1]);", (chosen.blockSize + 1) / 2,
               fragName(target), block, pack, buffer, buffer);
    } else if (std::optional<bool> transposed = matrixAccess(target, store.getIndices(), chosen)) {
      out.line("stmatrix_x4{}({}, {}, {}, {}, {});", *transposed ? "_trans" : "",
               matrixAddress(target, store.getIndices(), *transposed, chosen), pair(0), pair(2), pair(4), pair(6));
    } else {
      int64_t width = vectorWidth(target, store.getIndices(), chosen);
      for (int64_t first = 0; first < chosen.blockSize; first += width) {
        std::string counter = fmt::format("{}", first);
        std::vector<Affine> affine;
        for (Value index : store.getIndices())
          affine.push_back(affineOf(index));
        std::vector<std::string> text;
        for (const Affine &index : baseIndices(target, affine))
          text.push_back(affineText(index, [&](Value value) -> std::string {
            auto argument = dyn_cast<BlockArgument>(value);
            if (!argument || !isa<MapOp>(argument.getOwner()->getParentOp()))
              return scalar(value).in(Code::multiply + 1);
            int dim = static_cast<int>(argument.getArgNumber());
            std::string place = chosen.bases[dim];
            for (const std::string &part : {digitSum(chosen.outer, dim, "b"), digitSum(chosen.inner, dim, counter)})
              if (!part.empty())
                place += (place.empty() ? "" : " + ") + part;
            return place.empty() ? "0" : place;
          }));
        std::string values;
        for (int64_t i = 0; i < width; ++i)
          values += fmt::format(", {}[{}]", buffer, first + i);
        out.line("{}store_f32x{}({}{});", storingWarps.empty() ? "" : fmt::format("if ({}) ", storingWarps), width,
                 sharedAddress(target, text), values);
      }
    }
  });
}

} // namespace flashqla::codegen
