/// Reductions and scans.
///
/// Order of a sum: a thread adds its elements in the order of its registers, then the lanes that share a result add in a
/// butterfly (distance 16, 8, …), then the warps in order. It depends on shape and layout alone, never on timing.
#include "compiler/codegen/emitter.h"

using namespace mlir;
using namespace flashqla::tile;

namespace flashqla::codegen {
namespace {

using Source = LayoutDigit::Source;

std::string combine(ReduceKind kind, const std::string &a, const std::string &b, bool isFloat) {
  if (kind == ReduceKind::Sum)
    return fmt::format("{} + {}", a, b);
  const char *function = kind == ReduceKind::Max ? (isFloat ? "maximum" : "max") : (isFloat ? "minimum" : "min");
  return fmt::format("{}({}, {})", function, a, b);
}

std::string neutral(ReduceKind kind, bool isFloat) {
  if (kind == ReduceKind::Sum)
    return isFloat ? "0.0f" : "0";
  if (isFloat)
    return kind == ReduceKind::Max ? "-__int_as_float(0x7f800000)" : "__int_as_float(0x7f800000)";
  return kind == ReduceKind::Max ? "-0x7fffffffffffffffll - 1" : "0x7fffffffffffffffll";
}

/// A fragment that the body of a reduction reads at the reduction's index.
LoadOp fragmentLoad(ReduceOp reduce) {
  LoadOp found;
  reduce.walk([&](LoadOp load) {
    if (space(load.getSource()) == Space::Register &&
        llvm::is_contained(load.getIndices(), reduce.getBody().getArgument(0)) &&
        (!found || load.getIndices().size() > found.getIndices().size()))
      found = load;
  });
  return found;
}

} // namespace

void KernelEmitter::emitUniformReduce(ReduceOp reduce) {
  if (fragmentLoad(reduce)) {
    emitFragmentReduce(reduce, nullptr);
    return;
  }
  bool isFloat = reduce.getResult().getType().isF32();
  std::string type = cppType(reduce.getResult());
  std::string name = nameValue(reduce.getResult(), "reduced");
  out.line("{} {} = {};", type, name, neutral(reduce.getKind(), isFloat));
  BlockArgument index = reduce.getBody().getArgument(0);
  names[index] = freshName(reduce.getName());
  std::string indexType = cppType(index), lower = scalar(reduce.getLower()).in(Code::add);
  out.open("for ({} {} = {} + ({})role_lane; {} < {}; {} += 32)", indexType, names[index], lower, indexType, names[index],
           scalar(reduce.getUpper()).in(Code::relation + 1), names[index]);
  emitBlock(reduce.getBody().front());
  Value yielded = cast<YieldOp>(reduce.getBody().front().getTerminator()).getValue();
  out.line("{} = {};", name, combine(reduce.getKind(), name, scalar(yielded).in(Code::add + 1), isFloat));
  out.close();
  out.directive("#pragma unroll");
  out.line("for (int step = 16; step; step /= 2) {} = {};", name,
           combine(reduce.getKind(), name, fmt::format("shuffle_xor({}, step)", name), isFloat));
}

void KernelEmitter::emitSequentialReduce(ReduceOp reduce) {
  if (names.count(reduce.getResult()))
    return; // of fragments: computed before the loop
  bool isFloat = reduce.getResult().getType().isF32();
  std::string type = cppType(reduce.getResult());
  std::string name = nameValue(reduce.getResult(), "reduced");
  out.line("{} {} = {};", type, name, neutral(reduce.getKind(), isFloat));
  BlockArgument index = reduce.getBody().getArgument(0);
  names[index] = freshName(reduce.getName());
  out.open("for ({} {} = {}; {} < {}; ++{})", cppType(index), names[index], scalar(reduce.getLower()).text, names[index],
           scalar(reduce.getUpper()).in(Code::relation + 1), names[index]);
  emitBlock(reduce.getBody().front());
  Value yielded = cast<YieldOp>(reduce.getBody().front().getTerminator()).getValue();
  out.line("{} = {};", name, combine(reduce.getKind(), name, scalar(yielded).in(Code::add + 1), isFloat));
  out.close();
}

void KernelEmitter::emitMapReductions(MapOp map, const PointLayout &chosen) {
  map.walk([&](ReduceOp reduce) {
    if (fragmentLoad(reduce))
      emitFragmentReduce(reduce, &chosen);
  });
}

void KernelEmitter::emitFragmentReduce(ReduceOp reduce, const PointLayout *chosen) {
  LoadOp load = fragmentLoad(reduce);
  auto map = reduce->getParentOfType<MapOp>();
  BlockArgument index = reduce.getBody().getArgument(0);
  std::vector<int> order;
  std::vector<std::string> indexNames;
  auto dimOf = [&](Value argument) {
    auto found = llvm::find(load.getIndices(), argument);
    return found == load.getIndices().end() ? -1 : static_cast<int>(found - load.getIndices().begin());
  };
  if (chosen)
    for (BlockArgument argument : map.getBody().getArguments()) {
      order.push_back(dimOf(argument));
      indexNames.push_back(cast<StringAttr>(map.getNames()[argument.getArgNumber()]).getValue().str());
    }
  order.push_back(dimOf(index));
  indexNames.push_back(reduce.getName().str());
  if (llvm::is_contained(order, -1)) {
    reportAt(diags, DiagnosticKind::Unsupported, files, reduce,
             "a reduction in a `map` reads a fragment that does not have the map's own indices");
    return;
  }
  int last = static_cast<int>(order.size()) - 1;
  PointLayout full{layoutOf(cast<FragOp>(declaration(load.getSource()))).keep(order), 1, 1, {}, {}, -1, -1, {}};
  full.inner = full.layout.digits(Source::Register);
  full.blockSize = full.layout.registers();
  int64_t count = chosen ? chosen->layout.registers() : 1;
  bool isFloat = reduce.getResult().getType().isF32();
  std::string type = isFloat ? "float" : "i64";
  std::string_view hint = nameHint(reduce.getResult().getLoc());
  std::string name = freshName(hint.empty() ? std::string("reduced") : std::string(hint) + "_sum");
  out.line("{} {}[{}];", type, name, count);
  out.directive("#pragma unroll");
  out.line("for (int k = 0; k < {}; ++k) {}[k] = {};", count, name, neutral(reduce.getKind(), isFloat));
  emitBases(full, indexNames);

  const PointLayout *outerPoints = points;
  points = &full;
  openInnerLoop(full);
  if (chosen)
    for (BlockArgument argument : map.getBody().getArguments())
      names[argument] = "(" + coordinate(full, argument.getArgNumber()) + ")";
  names[index] = freshName(reduce.getName());
  out.line("const int {} = {};", names[index], coordinate(full, last));
  std::string bounds = boundsCondition(full);
  if (!bounds.empty())
    out.open("if ({})", bounds);
  emitBlock(reduce.getBody().front());
  std::vector<LayoutDigit> kept;
  for (const LayoutDigit &digit : full.inner)
    if (digit.dim != last)
      kept.push_back(digit);
  std::string element = fmt::format("{}[{}]", name, compressedIndex(full, kept));
  Value yielded = cast<YieldOp>(reduce.getBody().front().getTerminator()).getValue();
  out.line("{} = {};", element, combine(reduce.getKind(), element, scalar(yielded).in(Code::add + 1), isFloat));
  if (!bounds.empty())
    out.close();
  if (full.blockSize > 1)
    out.close();
  points = outerPoints;
  combineAcrossThreads(reduce, full.layout, last, name, count);

  if (!chosen) {
    out.line("const {} {} = {}[0];", cppType(reduce.getResult()), nameValue(reduce.getResult(), "reduced"), name);
    return;
  }
  std::string place = chosen->blocks > 1 ? fmt::format("b * {}", chosen->blockSize) : "";
  if (chosen->blockSize > 1)
    place += place.empty() ? "k" : " + k";
  names[reduce.getResult()] = fmt::format("{}[{}]", name, place.empty() ? "0" : place);
}

void KernelEmitter::combineAcrossThreads(ReduceOp reduce, const FragmentLayout &layout, int dim, const std::string &name,
                                         int64_t count) {
  bool isFloat = reduce.getResult().getType().isF32();
  auto each = [&](const std::string &value) {
    out.directive("#pragma unroll");
    out.line("for (int k = 0; k < {}; ++k) {}[k] = {};", count, name,
             combine(reduce.getKind(), name + "[k]", value, isFloat));
  };
  std::vector<LayoutDigit> lanes = layout.digits(Source::Lane);
  int64_t place = 1;
  for (auto digit = lanes.rbegin(); digit != lanes.rend(); ++digit) {
    if (digit->dim == dim)
      for (int64_t step = digit->extent / 2; step; step /= 2)
        each(fmt::format("shuffle_xor({}[k], {})", name, step * place));
    place *= digit->extent;
  }
  if (!layout.moves(Source::Warp, dim))
    return;
  // Each thread leaves its partial result; after the barrier it adds those of the other warps, in order.
  std::string scratch = fmt::format("shared + {}", role->getAttrOfType<IntegerAttr>("scratch").getInt());
  std::string type = isFloat ? "f32" : "i64";
  int64_t bytes = isFloat ? 4 : 8, barrier = role->getAttrOfType<IntegerAttr>("barrier_id").getInt();
  auto partial = [&](const std::string &warp) {
    return fmt::format("{} + {} * (({} * {} + k) * 32 + lane)", scratch, bytes, warp, count);
  };
  out.line("named_barrier({}, {});", barrier, role.threads());
  out.directive("#pragma unroll");
  out.line("for (int k = 0; k < {}; ++k) store_{}({}, {}[k]);", count, type, partial("warp"), name);
  out.line("named_barrier({}, {});", barrier, role.threads());
  out.directive("#pragma unroll");
  out.line("for (int k = 0; k < {}; ++k) {}[k] = load_{}({});", count, name, type, partial("0"));
  int64_t warps = layout.count(Source::Warp);
  for (const LayoutDigit &digit : layout.digits(Source::Warp))
    if (digit.dim != dim)
      warps /= digit.extent;
  out.directive("#pragma unroll");
  out.open("for (int other = 1; other < {}; ++other)", warps);
  each(fmt::format("load_{}({})", type, partial("other")));
  out.close();
}

void KernelEmitter::emitScans(MapOp map, const PointLayout &chosen) {
  map.walk([&](ScanOp scan) {
    int last = static_cast<int>(map.getDomain().size()) - 1;
    if (static_cast<int>(scan.getDim()) != last) {
      reportAt(diags, DiagnosticKind::Unsupported, files, scan, "a scan runs along the last index of its `map`");
      names[scan.getResult()] = "0.0f"; // so that its uses are not reported as well
      return;
    }
    std::string name = freshName("scanned");
    // A thread's consecutive elements of a line: registers of other dimensions begin other lines.
    const bool pieces = !chosen.inner.empty() && chosen.inner.back().dim == last;
    int64_t registers = chosen.layout.registers(), piece = pieces ? chosen.inner.back().extent : 1;
    out.line("float {}[{}];", name, registers);
    openInnerLoop(chosen);
    std::string element = fmt::format("{}[{}]", name, chosen.blockSize > 1 ? "k" : "0");
    out.line("{} = 0.0f;", element);
    nameCoordinates(map.getBody().front(), chosen);
    std::string bounds = boundsCondition(chosen);
    if (!bounds.empty())
      out.open("if ({})", bounds);
    // What the scan's body needs of the map's own scalars stands before it in the map's block.
    for (Operation &op : map.getBody().front()) {
      if (&op == scan)
        break;
      if (!isa<StoreOp, ScanOp>(op))
        emitOp(op);
    }
    if (scan.getMask())
      out.open("if ({})", scalar(scan.getMask()).text);
    emitBlock(scan.getBody().front());
    out.line("{} = {};", element, scalar(cast<YieldOp>(scan.getBody().front().getTerminator()).getValue()).text);
    if (scan.getMask())
      out.close();
    if (!bounds.empty())
      out.close();
    if (chosen.blockSize > 1)
      out.close();
    // Of a thread's consecutive elements, then of the lanes before it (behind it).
    bool reverse = scan.getReverse();
    out.directive("#pragma unroll");
    out.open("for (int row = 0; row < {}; ++row)", registers / piece);
    out.line("float *line = {} + {} * row;", name, piece);
    if (piece > 1) {
      out.directive("#pragma unroll");
      if (reverse)
        out.line("for (int k = {}; k >= 0; --k) line[k] += line[k + 1];", piece - 2);
      else
        out.line("for (int k = 1; k < {}; ++k) line[k] += line[k - 1];", piece);
    }
    out.line("const float others = warp_exclusive_{}scan(line[{}], lane);", reverse ? "r" : "", reverse ? 0 : piece - 1);
    out.directive("#pragma unroll");
    out.line("for (int k = 0; k < {}; ++k) line[k] += others;", piece);
    out.close();
    names[scan.getResult()] = element;
  });
}

} // namespace flashqla::codegen
