/// Plain copies and per-thread asynchronous copies: pieces of up to 16 bytes, clipped at the tensor's edges.
#include "compiler/codegen/emitter.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace flashqla::tile;

namespace flashqla::codegen {
namespace {

using Source = LayoutDigit::Source;

/// A window of a tensor: which dimension of the tensor each dimension of the window runs along.
std::vector<int> windowDims(Value window) {
  std::vector<int> dims;
  if (auto view = window.getDefiningOp<ViewOp>()) {
    for (auto [dim, size] : llvm::enumerate(view.getSizes()))
      if (size != 0)
        dims.push_back(static_cast<int>(dim));
  } else {
    for (int dim = 0; dim < rank(window); ++dim)
      dims.push_back(dim);
  }
  return dims;
}

} // namespace

int64_t KernelEmitter::promisedBytes(Value window) {
  auto argument = cast<ArgumentOp>(declaration(window));
  int64_t bytes = elementBytes(elementType(window));
  std::string layout = argumentLayout(argument);
  bool aligned = layout == "strided16";
  if (layout == "packed") { // all rows start at a multiple of 16 bytes if the base does, which the launch checks
    APInt extent;
    aligned = matchPattern(argument.getExtents().back(), m_ConstantInt(&extent)) &&
              extent.getSExtValue() * bytes % 16 == 0;
    if (aligned)
      result.aligned.insert(argument.getName().str());
  }
  if (!aligned)
    return bytes;
  auto view = window.getDefiningOp<ViewOp>();
  int64_t start = view ? affineOf(view.getOffsets().back()).knownMultiple() * bytes : 16;
  // The last dimension of the tensor must be one of the window's.
  if (view && view.getSizes().back() == 0)
    return bytes;
  return std::min<int64_t>(16, start & -start);
}

CopyBounds KernelEmitter::copyBounds(Value window, const PointLayout &chosen, int64_t piece) {
  auto argument = cast<ArgumentOp>(declaration(window));
  auto view = window.getDefiningOp<ViewOp>();
  std::vector<int> dims = windowDims(window);
  CopyBounds bounds;
  auto plus = [](const std::string &a, const std::string &b) {
    return a.empty() || a == "0" ? b : b.empty() || b == "0" ? a : a + " + " + b;
  };
  for (int64_t dim = 0; dim < argument.getType().getRank(); ++dim) {
    auto position = std::find(dims.begin(), dims.end(), static_cast<int>(dim));
    Affine offset = view ? affineOf(view.getOffsets()[dim]) : Affine{};
    std::string start = affineText(offset, [&](Value value) { return scalar(value).in(Code::multiply + 1); });
    std::string index = start;
    int64_t size = 1;
    bool isLast = false;
    if (position != dims.end()) {
      int windowDim = static_cast<int>(position - dims.begin());
      isLast = windowDim + 1 == static_cast<int>(dims.size());
      size = extents(window)[windowDim];
      std::string inner = chosen.bases[windowDim];
      inner = plus(inner, digitSum(chosen.outer, windowDim, "b"));
      if (!isLast || piece == 1)
        inner = plus(inner, digitSum(chosen.inner, windowDim, "k"));
      index = plus(start, inner);
      if (index.empty())
        index = "0"; // one piece is all of the dimension
    }
    std::string name = freshName(argument.getName().str() + "_index");
    out.line("const i64 {} = {};", name, index);
    bounds.indices.push_back(name);
    Value limit = view && view.getUntil() && static_cast<int64_t>(*view.getUntilDim()) == dim ? view.getUntil() : Value();
    APInt extent;
    bool inside = matchPattern(argument.getExtents()[dim], m_ConstantInt(&extent)) && offset.isConstant() && !limit &&
                  offset.constant >= 0 && offset.constant + size <= extent.getSExtValue();
    bool padded = position != dims.end() && chosen.layout.isPadded(static_cast<int>(position - dims.begin()));
    if (inside && !padded)
      continue;
    std::string end = scalar(argument.getExtents()[dim]).in(Code::unary);
    if (limit)
      end = fmt::format("min((i64){}, (i64){})", end, scalar(limit).in(Code::unary));
    if (padded && position != dims.end()) // what lies beyond the window is not copied either
      end = fmt::format("min((i64){}, (i64)({}) + {})", end, start, size);
    if (isLast && piece > 1)
      bounds.last = end;
    else
      bounds.outer += fmt::format("{}(u64){} < (u64){}", bounds.outer.empty() ? "" : " && ", name, end);
  }
  return bounds;
}

void KernelEmitter::emitCopy(CopyOp copy) {
  Value target = copy.getTarget(), source = copy.getSource();
  bool isAsync = copy.getKind() == CopyKind::Async;
  bool load = space(source) == Space::Global, store = space(target) == Space::Global;
  std::set<std::string> outerNames = taken;
  genericSinceSync = true;
  int64_t warps = role.warps();
  PointLayout chosen{FragmentLayout::vector({1}, warps, 1), 1, 1, {}, {}, -1, -1, {}};
  Value fragment = space(target) == Space::Register ? target : space(source) == Space::Register ? source : Value();
  Value window = load ? source : store ? target : Value();
  int64_t bytes = elementBytes(elementType(window ? window : target));
  // Integers are rare (tables) and go one by one; floats through f32 in pieces of up to 16 bytes.
  bool isFloat = isa<FloatType>(elementType(target));
  int64_t piece = window && (isFloat || isAsync) ? promisedBytes(window) / bytes : 1;
  if (fragment) {
    auto frag = cast<FragOp>(declaration(fragment));
    chosen.layout = layoutOf(frag);
    // Of a slice along other dimensions than the last the registers are not side by side.
    std::vector<LayoutDigit> registers = chosen.layout.digits(Source::Register);
    bool run = frag.getLayoutAttr().getKind() == LayoutKind::Vector && !registers.empty() &&
               registers.back().stride == 1 && registers.back().dim + 1 == rank(fragment);
    piece = run ? std::min(piece, registers.back().extent) : 1;
  } else {
    ArrayRef<int64_t> shape = extents(target);
    while (shape.back() % piece != 0)
      piece /= 2;
    chosen.layout = FragmentLayout::vector({shape.begin(), shape.end()}, warps, piece);
  }
  if (isAsync && piece * bytes < 4) {
    reportAt(diags, DiagnosticKind::CopyAsyncAlignment, files, copy,
             fmt::format("cp.async moves 4, 8 or 16 bytes; `{}` promises an alignment of {}",
                         cast<ArgumentOp>(declaration(source)).getName().str(), piece * bytes))
        .help("promise it with `strided(16)`, or use `copy`");
    return;
  }
  splitPieces(chosen, piece);
  std::string replica = replicaCondition(chosen.layout, Source::Warp);
  if (fragment && load)
    replica.clear(); // every thread fills its own registers
  if (std::string lanes = replicaCondition(chosen.layout, Source::Lane); isAsync && !lanes.empty())
    replica += (replica.empty() ? "" : " && ") + lanes; // two copies in flight to one place are not ordered
  if (replica.empty())
    out.open();
  else
    out.open("if ({})", replica);
  std::vector<std::string> indexNames;
  for (size_t dim = 0; dim < chosen.layout.shape().size(); ++dim)
    indexNames.push_back(dim ? "column" : "row");
  emitBases(chosen, indexNames);
  openLoops(chosen);
  std::string inside; // threads that are left over would touch what lies behind the tile
  for (size_t dim = 0; dim < chosen.layout.shape().size() && !fragment; ++dim)
    if (chosen.layout.isPadded(static_cast<int>(dim))) {
      std::string step = digitSum(chosen.outer, static_cast<int>(dim), "b");
      inside += fmt::format("{}{}{}{} < {}", inside.empty() ? "" : " && ", chosen.bases[dim],
                            chosen.bases[dim].empty() || step.empty() ? "" : " + ", step, chosen.layout.shape()[dim]);
    }
  if (!inside.empty())
    out.open("if ({})", inside);
  emitPiece(copy, chosen, window, piece);
  if (!inside.empty())
    out.close();
  if (chosen.blocks > 1)
    out.close();
  if (isAsync)
    out.line("cp_async_commit_group();");
  out.close();
  taken = std::move(outerNames);
}

void KernelEmitter::splitPieces(PointLayout &chosen, int64_t piece) {
  // The inner loop runs over one piece; everything else is the outer loop.
  chosen.outer = chosen.layout.digits(Source::Register);
  chosen.inner.clear();
  if (piece > 1) {
    LayoutDigit last = chosen.outer.back();
    chosen.outer.pop_back();
    if (last.extent > piece) {
      chosen.outer.push_back({last.source, last.extent / piece, last.dim, last.stride * piece});
      last.extent = piece;
    }
    chosen.inner.push_back(last);
  }
  chosen.blockSize = piece;
  chosen.blocks = chosen.layout.registers() / piece;
}

void KernelEmitter::emitPiece(CopyOp copy, const PointLayout &chosen, Value window, int64_t piece) {
  Value target = copy.getTarget(), source = copy.getSource();
  std::string place = chosen.blocks > 1 ? fmt::format("b * {}", piece) : "0";
  CopyBounds bounds;
  if (window)
    bounds = copyBounds(window, chosen, piece);
  auto coordinates = [&](Value addressable) {
    std::vector<Affine> zero(rank(addressable));
    std::vector<std::string> text;
    size_t next = 0;
    auto view = addressable.getDefiningOp<ViewOp>();
    for (auto [dim, base] : llvm::enumerate(baseIndices(addressable, zero))) {
      std::string start = affineText(base, [&](Value value) { return scalar(value).in(Code::multiply + 1); });
      bool dropped = view && view.getSizes()[dim] == 0;
      std::string inner;
      if (!dropped) {
        int windowDim = static_cast<int>(next++);
        inner = chosen.bases[windowDim];
        std::string step = digitSum(chosen.outer, windowDim, "b");
        inner += (inner.empty() || step.empty() ? "" : " + ") + step;
      }
      text.push_back(inner.empty() ? start : start == "0" ? inner : start + " + " + inner);
    }
    return text;
  };
  // Element k of the piece lies k further along the last dimension.
  auto along = [](std::vector<std::string> indices, const std::string &k) {
    if (k != "0")
      indices.back() = fmt::format("{} + {}", indices.back(), k);
    return indices;
  };
  if (copy.getKind() == CopyKind::Async) {
    emitAsyncPiece(copy, bounds, coordinates(target), piece);
    return;
  }
  out.line("{} piece[{}];", isa<FloatType>(elementType(target)) ? "float" : "i64", piece);
  emitPieceLoad(copy, bounds, space(source) == Space::Shared ? coordinates(source) : std::vector<std::string>(), place, piece);
  Type element = elementType(target);
  if (space(target) == Space::Register) {
    bool packed = elementBytes(element) == 2;
    for (int64_t k = 0; k < piece; k += packed ? 2 : 1)
      if (packed && piece == 1) // elements that are not side by side in the tensor
        out.line("{0}[({1}) / 2] = with_half({0}[({1}) / 2], ({1}) % 2, to_{2}(piece[0]));", fragName(target), place,
                 element.isF16() ? "f16" : "bf16");
      else if (packed)
        out.line("{}[({}) / 2 + {}] = pack_{}(piece[{}], piece[{}]);", fragName(target), place, k / 2,
                 element.isF16() ? "f16" : "bf16", k, k + 1);
      else
        out.line("{}[{} + {}] = piece[{}];", fragName(target), place, k, k);
  } else if (space(target) == Space::Shared) {
    std::vector<std::string> indices = coordinates(target);
    for (int64_t k = 0; k < piece; ++k)
      out.line("{}", storeShared(element, sharedAddress(target, along(indices, std::to_string(k))), fmt::format("piece[{}]", k)));
  } else {
    emitPieceStore(copy, bounds, piece);
  }
}

void KernelEmitter::emitAsyncPiece(CopyOp copy, const CopyBounds &bounds, ArrayRef<std::string> indices, int64_t piece) {
  Value source = copy.getSource();
  int64_t bytes = elementBytes(elementType(source));
  auto argument = cast<ArgumentOp>(declaration(source));
  std::string valid = fmt::format("{}", piece * bytes);
  if (!bounds.last.empty())
    valid = fmt::format("(u32)max((i64)0, min((i64){}, {} * ({} - {})))", piece * bytes, bytes, bounds.last,
                        bounds.indices.back());
  if (!bounds.outer.empty())
    valid = fmt::format("{} ? {} : 0", bounds.outer, valid);
  out.line("const u32 valid = {};", valid);
  out.line("cp_async<{}>({}, valid ? {} + ({}) : {}, valid);", piece * bytes, sharedAddress(copy.getTarget(), indices),
           names[argument.getResult()], globalOffset(argument, bounds.indices), names[argument.getResult()]);
}

void KernelEmitter::emitPieceLoad(CopyOp copy, const CopyBounds &bounds, ArrayRef<std::string> sharedIndices,
                                  const std::string &place, int64_t piece) {
  Value source = copy.getSource();
  Type element = elementType(source);
  const char *type = element.isF16() ? "f16" : "bf16";
  bool packed = elementBytes(element) == 2;
  if (space(source) == Space::Register) {
    for (int64_t k = 0; k < piece; ++k)
      if (packed)
        out.line("piece[{0}] = half_{1}({2}[({3} + {0}) / 2], ({3} + {0}) % 2);", k, type, fragName(source), place);
      else
        out.line("piece[{}] = {}[{} + {}];", k, fragName(source), place, k);
    return;
  }
  if (space(source) == Space::Shared) {
    std::vector<std::string> indices(sharedIndices);
    std::string last = indices.back();
    for (int64_t k = 0; k < piece; ++k) {
      indices.back() = fmt::format("{} + {}", last, k);
      out.line("piece[{}] = {};", k, loadShared(element, sharedAddress(source, indices)));
    }
    return;
  }
  auto argument = cast<ArgumentOp>(declaration(source));
  std::string offset = freshName("offset");
  out.line("const i64 {} = {};", offset, globalOffset(argument, bounds.indices));
  std::string name = names[argument.getResult()];
  std::string whole = bounds.outer;
  if (!bounds.last.empty())
    whole += fmt::format("{}{} + {} <= {}", whole.empty() ? "" : " && ", bounds.indices.back(), piece, bounds.last);
  bool vector = piece * elementBytes(element) == 16;
  if (!whole.empty())
    out.open("if ({})", whole);
  if (vector) {
    out.line("u32 raw[4];");
    out.line("load_global_u32x4(raw, {} + {});", name, offset);
    for (int64_t k = 0; k < piece; ++k)
      if (packed)
        out.line("piece[{}] = half_{}(raw[{}], {});", k, type, k / 2, k % 2);
      else
        out.line("piece[{}] = __uint_as_float(raw[{}]);", k, k);
  } else {
    for (int64_t k = 0; k < piece; ++k)
      out.line("piece[{}] = {};", k, loadGlobal(element, fmt::format("{}[{} + {}]", name, offset, k)));
  }
  if (whole.empty())
    return;
  out.orElse();
  for (int64_t k = 0; k < piece; ++k) {
    std::string inside = bounds.outer;
    if (!bounds.last.empty())
      inside += fmt::format("{}(u64)({} + {}) < (u64)({})", inside.empty() ? "" : " && ", bounds.indices.back(), k, bounds.last);
    out.line("piece[{}] = {} ? {} : 0;", k, inside, loadGlobal(element, fmt::format("{}[{} + {}]", name, offset, k)));
  }
  out.close();
}

void KernelEmitter::emitPieceStore(CopyOp copy, const CopyBounds &bounds, int64_t piece) {
  Value target = copy.getTarget();
  Type element = elementType(target);
  auto argument = cast<ArgumentOp>(declaration(target));
  std::string name = names[argument.getResult()], offset = freshName("offset");
  out.line("const i64 {} = {};", offset, globalOffset(argument, bounds.indices));
  std::string whole = bounds.outer;
  if (!bounds.last.empty())
    whole += fmt::format("{}{} + {} <= {}", whole.empty() ? "" : " && ", bounds.indices.back(), piece, bounds.last);
  bool packed = elementBytes(element) == 2;
  if (!whole.empty())
    out.open("if ({})", whole);
  if (piece * elementBytes(element) == 16) {
    std::string values;
    for (int64_t k = 0; k < piece; k += packed ? 2 : 1)
      values += packed ? fmt::format(", pack_{}(piece[{}], piece[{}])", element.isF16() ? "f16" : "bf16", k, k + 1)
                       : fmt::format(", __float_as_uint(piece[{}])", k);
    out.line("store_global_u32x4({} + {}{});", name, offset, values);
  } else {
    for (int64_t k = 0; k < piece; ++k)
      out.line("{}", storeGlobal(element, fmt::format("{}[{} + {}]", name, offset, k), fmt::format("piece[{}]", k)));
  }
  if (whole.empty())
    return;
  if (bounds.last.empty()) {
    out.close();
    return;
  }
  out.orElse();
  for (int64_t k = 0; k < piece; ++k) {
    std::string inside = bounds.outer + (bounds.outer.empty() ? "" : " && ") +
                         fmt::format("(u64)({} + {}) < (u64)({})", bounds.indices.back(), k, bounds.last);
    out.line("if ({}) {}", inside, storeGlobal(element, fmt::format("{}[{} + {}]", name, offset, k), fmt::format("piece[{}]", k)));
  }
  out.close();
}

} // namespace flashqla::codegen
