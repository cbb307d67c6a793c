/// How the points of a map are dealt to threads, and the loops over a thread's share.
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

/// Value of the digit with this place value, out of a counter that runs over `total`.
std::string digitValue(const std::string &counter, int64_t place, int64_t extent, int64_t total) {
  std::string text = counter;
  if (place > 1)
    text = fmt::format("{} / {}", text, place);
  if (place * extent < total)
    text = fmt::format("{} % {}", text, extent);
  return text;
}

std::string times(const std::string &text, int64_t factor) {
  if (factor == 1)
    return text;
  bool atom = text.find(' ') == std::string::npos;
  return atom ? fmt::format("{} * {}", factor, text) : fmt::format("{} * ({})", factor, text);
}

std::string plus(const std::string &a, const std::string &b) {
  return a.empty() ? b : b.empty() ? a : a + " + " + b;
}

/// Takes the register digits of a layout apart so that the last `blockSize` registers are the inner loop.
void splitRegisters(PointLayout &points, int64_t blockSize) {
  std::vector<LayoutDigit> digits = points.layout.digits(Source::Register);
  points.blockSize = 1;
  points.inner.clear();
  while (points.blockSize < blockSize && !digits.empty()) {
    LayoutDigit digit = digits.back();
    int64_t rest = blockSize / points.blockSize;
    if (digit.extent > rest && (rest == 1 || digit.extent % rest != 0))
      break; // a smaller block: no register is left out
    digits.pop_back();
    if (digit.extent > rest) { // an inner part of `rest` and an outer part
      digits.push_back({digit.source, digit.extent / rest, digit.dim, digit.stride * rest});
      digit.extent = rest;
    }
    points.inner.insert(points.inner.begin(), digit);
    points.blockSize *= digit.extent;
  }
  points.outer = digits;
  points.blocks = product(digits);
}

/// The fragment accesses of a map: those at the point itself, then those under a reduction.
void forEachFragment(MapOp map, bool reduced, function_ref<void(Value fragment, ValueRange indices)> visit) {
  map.walk([&](Operation *op) {
    auto reduce = op->getParentOfType<ReduceOp>();
    if ((reduce && map->isAncestor(reduce)) != reduced)
      return;
    if (auto load = dyn_cast<LoadOp>(op); load && space(load.getSource()) == Space::Register)
      visit(load.getSource(), load.getIndices());
    if (auto store = dyn_cast<StoreOp>(op); store && space(store.getTarget()) == Space::Register)
      visit(store.getTarget(), store.getIndices());
  });
}

} // namespace

PointLayout KernelEmitter::choosePoints(MapOp map) {
  ArrayRef<int64_t> domain = map.getDomain();
  std::vector<int64_t> shape(domain.begin(), domain.end());
  PointLayout points{FragmentLayout::vector(shape, role ? role.warps() : result.threads / 32, 1), 1, 1, {}, {}, -1, -1, {}};
  int64_t blockSize = 1;
  bool scans = false, found = false;
  map.walk([&](ScanOp) { scans = true; });
  if (scans)
    points.layout = FragmentLayout::lines(shape, role.warps());
  auto visit = [&](Value fragment, ValueRange indices) {
    auto frag = cast<FragOp>(declaration(fragment));
    if (found || indices.size() < domain.size())
      return; // a row or column beside a whole fragment
    // Dimension of the fragment that each coordinate of the domain indexes.
    std::vector<int> order(domain.size(), -1);
    for (auto [dim, index] : llvm::enumerate(indices))
      if (auto argument = dyn_cast<BlockArgument>(index); argument && argument.getOwner() == &map.getBody().front())
        order[argument.getArgNumber()] = static_cast<int>(dim);
    if (llvm::is_contained(order, -1))
      return;
    FragmentLayout layout = layoutOf(frag);
    if (fragment.getDefiningOp<ViewOp>())
      layout = layout.window(static_cast<int>(extents(fragment).size()) - 1, extents(fragment).back());
    points.layout = layout.keep(order);
    LayoutAttr attribute = frag.getLayoutAttr();
    if (order.size() < indices.size() || attribute.getKeep().size() < attribute.getShape().size()) {
      blockSize = points.layout.registers(); // a slice is short
    } else if (attribute.getKind() == LayoutKind::Accumulator && attribute.getKeep().size() == 2) {
      points.accumulatorRow = order[0] == 0 ? 0 : 1;
      points.accumulatorColumn = 1 - points.accumulatorRow;
      blockSize = extents(fragment)[1] % 16 == 0 ? 8 : 4;
    } else if (attribute.getKind() == LayoutKind::Vector) {
      blockSize = attribute.getPiece();
    } else {
      blockSize = points.layout.registers();
    }
    found = true;
  };
  forEachFragment(map, /*reduced=*/false, visit);
  forEachFragment(map, /*reduced=*/true, visit); // whose results lie where the rows or columns do
  // Vectors alone: each thread takes the points of the elements that it has.
  std::optional<FragmentLayout> held;
  forEachFragment(map, /*reduced=*/false, [&](Value fragment, ValueRange indices) {
    if (found || scans || indices.size() >= domain.size())
      return;
    std::vector<int> order;
    for (Value index : indices)
      order.push_back(static_cast<int>(cast<BlockArgument>(index).getArgNumber()));
    const FragmentLayout own = layoutOf(cast<FragOp>(declaration(fragment)));
    const FragmentLayout wide = own.widen(order, shape);
    if (held && !(*held == wide))
      reportAt(diags, DiagnosticKind::Unsupported, files, map,
               fmt::format("the threads that have an element of `{}` do not have those of the other vectors of this `map`",
                           cast<FragOp>(declaration(fragment)).getName().str()))
          .help("read all but one of them from shared tiles");
    if (!held)
      held = points.layout = wide, blockSize = own.registers();
  });
  if (scans)
    blockSize = points.layout.registers();
  splitRegisters(points, blockSize);
  return points;
}

void KernelEmitter::emitBases(PointLayout &points, ArrayRef<std::string> baseNames) {
  points.bases.clear();
  for (size_t dim = 0; dim < points.layout.shape().size(); ++dim) {
    std::string text;
    for (Source source : {Source::Warp, Source::Lane}) {
      std::vector<LayoutDigit> digits = points.layout.digits(source);
      text = plus(text, digitSum(digits, static_cast<int>(dim), source == Source::Warp ? "warp" : "lane"));
    }
    if (text.empty()) {
      points.bases.push_back("");
      continue;
    }
    points.bases.push_back(freshName(baseNames[dim] + "0"));
    out.line("const int {} = (int)({});", points.bases.back(), text);
  }
}

std::string KernelEmitter::digitSum(const std::vector<LayoutDigit> &digits, int dim, const std::string &counter) {
  std::string text;
  int64_t total = product(digits), place = total;
  for (const LayoutDigit &digit : digits) {
    place /= digit.extent;
    if (digit.dim == dim && digit.extent > 1)
      text = plus(text, times(digitValue(counter, place, digit.extent, total), digit.stride));
  }
  return text;
}

std::string KernelEmitter::coordinate(const PointLayout &points, int dim) {
  std::string text = points.bases[dim];
  text = plus(text, digitSum(points.outer, dim, "b"));
  text = plus(text, digitSum(points.inner, dim, "k"));
  return text.empty() ? "0" : text;
}

std::string KernelEmitter::compressedIndex(const PointLayout &points, const std::vector<LayoutDigit> &wanted) {
  std::string text;
  int64_t size = product(wanted);
  for (const LayoutDigit &digit : wanted) {
    size /= digit.extent;
    for (auto [list, counter] : {std::pair{&points.outer, "b"}, {&points.inner, "k"}}) {
      int64_t total = product(*list), place = total;
      for (const LayoutDigit &candidate : *list) {
        place /= candidate.extent;
        if (candidate == digit && digit.extent > 1)
          text = plus(text, times(digitValue(counter, place, digit.extent, total), size));
      }
    }
  }
  return text.empty() ? "0" : text;
}

std::string KernelEmitter::registerIndex(Value fragment, ValueRange indices, const PointLayout &points) {
  auto frag = cast<FragOp>(declaration(fragment));
  FragmentLayout layout = layoutOf(frag);
  int64_t first = firstRegister(fragment);
  std::vector<LayoutDigit> digits = layout.digits(Source::Register);
  // Each register digit of the fragment is one of the loops' digits, or several that follow each other.
  std::string text;
  int64_t place = layout.registers();
  for (const LayoutDigit &digit : digits) {
    place /= digit.extent;
    if (digit.dim < 0)
      continue;
    auto argument = cast<BlockArgument>(indices[digit.dim]);
    // Arguments of a reduction inside the map come behind those of the map.
    int dim = argument.getArgNumber();
    if (isa<ReduceOp>(argument.getOwner()->getParentOp()))
      dim = static_cast<int>(points.layout.shape().size()) - 1;
    for (auto [list, counter] : {std::pair{&points.outer, "b"}, {&points.inner, "k"}}) {
      int64_t total = product(*list), digitPlace = total;
      for (const LayoutDigit &candidate : *list) {
        digitPlace /= candidate.extent;
        bool inside = candidate.dim == dim && candidate.extent > 1 && candidate.stride >= digit.stride &&
                      candidate.stride < digit.stride * digit.extent;
        if (inside)
          text = plus(text, times(digitValue(counter, digitPlace, candidate.extent, total),
                                  place * (candidate.stride / digit.stride)));
      }
    }
  }
  if (points.layout == layout || (first == 0 && points.blocks * points.blockSize == layout.registers() && points.isAccumulator()))
    text = plus(points.blocks > 1 ? times("b", points.blockSize) : "", points.blockSize > 1 ? "k" : "");
  if (first)
    text = plus(fmt::format("{}", first), text);
  return text.empty() ? "0" : text;
}

std::string KernelEmitter::boundsCondition(const PointLayout &points) {
  std::string text;
  for (size_t dim = 0; dim < points.layout.shape().size(); ++dim)
    if (points.layout.isPadded(static_cast<int>(dim))) {
      std::string index = coordinate(points, static_cast<int>(dim));
      text += fmt::format("{}{} < {}", text.empty() ? "" : " && ", index, points.layout.shape()[dim]);
    }
  return text;
}

std::string KernelEmitter::replicaCondition(const FragmentLayout &layout, Source source) {
  std::vector<LayoutDigit> digits = layout.digits(source);
  std::string text;
  int64_t total = source == Source::Lane ? 32 : role ? role.warps() : result.threads / 32;
  int64_t place = product(digits);
  // What the digits do not count is a replica too.
  if (place < total)
    text = fmt::format("{} / {} == 0", source == Source::Lane ? "lane" : "warp", place);
  for (const LayoutDigit &digit : digits) {
    place /= digit.extent;
    if (digit.dim < 0 && digit.extent > 1)
      text += fmt::format("{}{} == 0", text.empty() ? "" : " && ",
                          digitValue(source == Source::Lane ? "lane" : "warp", place, digit.extent, total));
  }
  return text;
}

void KernelEmitter::openLoops(const PointLayout &points) {
  if (points.blocks > 1) {
    out.directive("#pragma unroll");
    out.open("for (int b = 0; b < {}; ++b)", points.blocks);
  }
}

void KernelEmitter::openInnerLoop(const PointLayout &points) {
  if (points.blockSize > 1) {
    out.directive("#pragma unroll");
    out.open("for (int k = 0; k < {}; ++k)", points.blockSize);
  }
}

} // namespace flashqla::codegen
