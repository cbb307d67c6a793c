/// Layouts: of shared tiles from their shape and element type, of fragments from their uses.
///
/// Fragments that meet at the same point of a map share a layout. Where one of them is a product's operand or result, or
/// a window of it is taken, it is the accumulator layout, otherwise the vector layout. A 1-D fragment that meets a 2-D one
/// is its row or column slice; it makes accumulators of all that it is a slice of if one of them is. Two uses that
/// disagree are an error that names both: data never moves silently.
#include "compiler/passes/linear.h"
#include "compiler/passes/passes.h"

#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using namespace flashqla::tile;

namespace flashqla::passes {
namespace {

/// A fragment and the indices by which a statement reads or writes it.
struct Meeting {
  FragOp frag;
  SmallVector<Value> indices;
  Operation *op;
};

/// A 1-D fragment as a slice of a 2-D one.
struct Slice {
  FragOp of;
  int dim;
  Operation *op; ///< where they meet
};

class FragmentLayouts {
public:
  FragmentLayouts(RoleOp role, Context &context) : role(role), context(context) {}
  bool run();

private:
  void collect();
  void meet(const Meeting &a, const Meeting &b);
  void spread();
  bool canAccumulate(FragOp frag);
  bool assignMatrices();
  bool assignVectors();
  LayoutAttr matrixLayout(FragOp frag, bool accumulator);
  int64_t pieceOf(FragOp frag);

  RoleOp role;
  Context &context;
  SmallVector<FragOp> frags;
  llvm::EquivalenceClasses<Operation *> classes;
  DenseMap<Operation *, Operation *> products; ///< a fragment's use as operand or result of a product, or a window of it
  DenseMap<Operation *, SmallVector<Slice>> slices;
  bool ok = true;
};

SmallVector<Meeting> meetingsOf(Operation *statement) {
  SmallVector<Meeting> result;
  statement->walk([&](Operation *op) {
    Value addressable;
    OperandRange indices(nullptr, 0);
    if (auto load = dyn_cast<LoadOp>(op)) {
      addressable = load.getSource();
      indices = load.getIndices();
    } else if (auto store = dyn_cast<StoreOp>(op)) {
      addressable = store.getTarget();
      indices = store.getIndices();
    }
    if (addressable && space(addressable) == Space::Register)
      result.push_back({cast<FragOp>(declaration(addressable)), SmallVector<Value>(indices), op});
  });
  return result;
}

void FragmentLayouts::collect() {
  role.walk([&](Operation *op) {
    if (auto frag = dyn_cast<FragOp>(op)) {
      frags.push_back(frag);
      classes.insert(frag);
    } else if (auto product = dyn_cast<WgmmaOp>(op)) {
      for (Value operand : {product.getTarget(), product.getA()})
        if (space(operand) == Space::Register)
          products.try_emplace(declaration(operand), op);
    } else if (auto inverse = dyn_cast<InverseOp>(op)) {
      products.try_emplace(declaration(inverse.getTarget()), op);
      products.try_emplace(declaration(inverse.getSource()), op);
    } else if (auto view = dyn_cast<ViewOp>(op); view && space(view.getBase()) == Space::Register) {
      products.try_emplace(declaration(view.getBase()), op); // a thread's columns lie apart in accumulators alone
    } else if (isa<MapOp>(op) || (isa<ReduceOp>(op) && !op->getParentOfType<MapOp>())) {
      SmallVector<Meeting> meetings = meetingsOf(op);
      for (size_t i = 0; i < meetings.size(); ++i)
        for (size_t j = 0; j < i; ++j)
          meet(meetings[j], meetings[i]);
    }
  });
}

void FragmentLayouts::meet(const Meeting &a, const Meeting &b) {
  if (a.indices.size() == b.indices.size()) {
    if (a.indices == b.indices) {
      classes.unionSets(a.frag, b.frag);
    } else if (a.indices.size() == 2 && a.indices[0] == b.indices[1] && a.indices[1] == b.indices[0]) {
      FragOp first = a.frag, second = b.frag;
      context
          .report(DiagnosticKind::LayoutConflict, b.op,
                  fmt::format("`{}` is read along the other diagonal than `{}`", second.getName().str(),
                              first.getName().str()))
          .label(context.files.range(a.op), "indexed the other way round here")
          .help("pass one of them through a shared tile");
      ok = false;
    }
    return;
  }
  const Meeting &vector = a.indices.size() == 1 ? a : b, &matrix = a.indices.size() == 1 ? b : a;
  if (vector.indices.size() != 1 || matrix.indices.size() != 2)
    return;
  for (int dim : {0, 1})
    if (matrix.indices[dim] == vector.indices[0])
      slices[vector.frag].push_back({matrix.frag, dim, b.op});
}

int64_t FragmentLayouts::pieceOf(FragOp frag) {
  // 16 bytes of the narrowest elements that come and go, as long as every lane has some.
  int64_t bytes = 8, last = frag.getType().getShape().back();
  bool packed = false;
  for (auto member : classes.members(frag)) {
    auto other = cast<FragOp>(member);
    bytes = std::min(bytes, elementBytes(other.getType().getElementType()));
    packed |= elementBytes(other.getType().getElementType()) == 2;
    for (Operation *user : other->getUsers())
      if (auto copy = dyn_cast<CopyOp>(user))
        for (Value end : {copy.getTarget(), copy.getSource()})
          bytes = std::min(bytes, elementBytes(elementType(end)));
  }
  int64_t piece = 16 / bytes, lanes = frag.getType().getShape().size() == 1 ? role.threads() : 32;
  while (piece > (packed ? 2 : 1) && last < piece * lanes)
    piece /= 2;
  return piece;
}

LayoutAttr FragmentLayouts::matrixLayout(FragOp frag, bool accumulator) {
  ArrayRef<int64_t> shape = frag.getType().getShape();
  SmallVector<int64_t> keep;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    keep.push_back(dim);
  int64_t piece = 1;
  if (!accumulator)
    for (auto member : classes.members(frag))
      piece = std::max(piece, pieceOf(cast<FragOp>(member)));
  return LayoutAttr::get(frag.getContext(), accumulator ? LayoutKind::Accumulator : LayoutKind::Vector, shape,
                         role.warps(), piece, keep);
}

/// Rows in blocks of 64 for each warpgroup, columns by eight.
bool FragmentLayouts::canAccumulate(FragOp frag) {
  ArrayRef<int64_t> shape = frag.getType().getShape();
  return role.isWarpgroup() && shape.size() == 2 && shape[0] % (64 * role.warpgroups()) == 0 && shape[1] % 8 == 0;
}

/// Fragments of one shape with the same slice are dealt alike. From an accumulator it goes by its slices to the fragments
/// that these meet elsewhere, and on from there.
void FragmentLayouts::spread() {
  auto useOf = [&](FragOp frag) -> Operation * {
    for (Operation *member : classes.members(frag))
      if (Operation *use = products.lookup(member))
        return use;
    return nullptr;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (FragOp vector : frags) {
      SmallVector<Slice> met;
      for (Operation *member : classes.members(vector))
        llvm::append_range(met, slices.lookup(member));
      Operation *use = nullptr;
      for (const Slice &slice : met)
        use = use ? use : useOf(slice.of);
      for (Slice &slice : met)
        for (Slice &other : met)
          if (slice.dim == other.dim && slice.of.getType().getShape() == other.of.getType().getShape() &&
              !classes.isEquivalent(slice.of, other.of)) {
            classes.unionSets(slice.of, other.of);
            changed = true;
          }
      for (const Slice &slice : met) {
        bool fits = llvm::all_of(classes.members(slice.of),
                                 [&](Operation *member) { return canAccumulate(cast<FragOp>(member)); });
        if (!use || !fits || useOf(slice.of))
          continue;
        products.try_emplace(slice.of, use);
        changed = true;
      }
    }
  }
}

bool FragmentLayouts::assignMatrices() {
  for (FragOp frag : frags) {
    ArrayRef<int64_t> shape = frag.getType().getShape();
    if (shape.size() < 2)
      continue;
    bool accumulator = llvm::any_of(classes.members(frag), [&](Operation *member) { return products.count(member); });
    if (accumulator && !canAccumulate(frag)) {
      Operation *product = nullptr;
      for (Operation *member : classes.members(frag))
        if (Operation *found = products.lookup(member))
          product = found;
      context
          .report(DiagnosticKind::FragmentShape, frag,
                  fmt::format("`{}` is [{}], which an accumulator of {} warpgroup{} cannot be", frag.getName().str(),
                              fmt::join(shape.begin(), shape.end(), ", "), role.warpgroups(),
                              role.warpgroups() == 1 ? "" : "s"))
          .label(context.files.range(product), "made an accumulator by this statement")
          .note("rows come in multiples of 64 for each warpgroup, columns in multiples of 8");
      return false;
    }
    frag.setLayoutAttr(matrixLayout(frag, accumulator));
  }
  return true;
}

bool FragmentLayouts::assignVectors() {
  for (FragOp frag : frags) {
    if (frag.getType().getShape().size() != 1)
      continue;
    // Any member of the class may have met a matrix.
    const Slice *chosen = nullptr;
    LayoutAttr layout;
    for (Operation *member : classes.members(frag))
      for (const Slice &slice : slices[member]) {
        FragOp of = slice.of;
        LayoutAttr whole = of.getLayoutAttr();
        LayoutAttr candidate = LayoutAttr::get(frag.getContext(), whole.getKind(), whole.getShape(), whole.getWarps(),
                                               whole.getPiece(), {static_cast<int64_t>(slice.dim)});
        if (layout && layout != candidate && !(layout.layout() == candidate.layout())) {
          FragOp first = chosen->of;
          context
              .report(DiagnosticKind::LayoutConflict, slice.op,
                      fmt::format("`{}` cannot be a slice of both `{}` and `{}`", frag.getName().str(),
                                  first.getName().str(), of.getName().str()))
              .label(context.files.range(chosen->op), fmt::format("meets `{}` here", first.getName().str()))
              .help("copy it to a second fragment through a shared tile");
          return false;
        }
        layout = candidate;
        chosen = &slice;
      }
    if (!layout) {
      ArrayRef<int64_t> shape = frag.getType().getShape();
      int64_t piece = 16;
      for (Operation *member : classes.members(frag))
        piece = std::min(piece, pieceOf(cast<FragOp>(member)));
      layout = LayoutAttr::get(frag.getContext(), LayoutKind::Vector, shape, role.warps(), piece, {0});
    }
    frag.setLayoutAttr(layout);
  }
  return true;
}

bool FragmentLayouts::run() {
  collect();
  spread();
  return ok && assignMatrices() && assignVectors();
}

/// The swizzle of a tile of this width, as wide as its rows allow.
Swizzle swizzleOf(SharedOp shared) {
  ArrayRef<int64_t> shape = shared.getType().getShape();
  if (elementBytes(shared.getType().getElementType()) != 2 || shape.size() < 2)
    return Swizzle::None;
  int64_t rowBytes = shape.back() * 2, rows = 1;
  for (int64_t extent : shape.drop_back())
    rows *= extent;
  if (rows % 8 != 0)
    return Swizzle::None;
  return rowBytes % 128 == 0 ? Swizzle::B128 : rowBytes == 64 ? Swizzle::B64 : rowBytes == 32 ? Swizzle::B32 : Swizzle::None;
}

/// A product reads the elements of a window if it starts at a panel or lies inside one; across the end of a panel it would
/// go on in the next row (docs/hopper.md, "Products").
bool checkOperandWindow(WgmmaOp product, Value operand, SharedOp shared, Context &context) {
  auto view = operand.getDefiningOp<ViewOp>();
  if (!view)
    return true;
  int64_t panel = layoutOf(shared).panelColumns();
  Linear column = linearOf(view.getOffsets().back());
  bool atPanel = column.known && column.constant % panel == 0 &&
                 llvm::all_of(column.terms, [&](auto &term) { return term.second % panel == 0; });
  bool inPanel = column.known && column.terms.empty() && column.constant % panel + extents(operand).back() <= panel;
  if (atPanel || inPanel)
    return true;
  context
      .report(DiagnosticKind::WindowAlignment, product,
              fmt::format("this window of `{}` starts inside a panel and is not known to end there", shared.getName().str()))
      .label(context.files.range(shared.getOperation()), fmt::format("swizzled in panels of {} columns", panel))
      .note(fmt::format("a product reads windows that start at multiples of {} columns, or start at a constant and lie "
                        "inside one panel",
                        panel));
  return false;
}

bool assignShared(KernelOp kernel, Context &context) {
  for (auto shared : kernel.getBody().front().getOps<SharedOp>())
    shared.setSwizzle(swizzleOf(shared));
  bool ok = true;
  kernel.walk([&](WgmmaOp product) {
    for (Value operand : {product.getA(), product.getB()}) {
      if (space(operand) != Space::Shared)
        continue;
      auto shared = cast<SharedOp>(declaration(operand));
      if (shared.getSwizzle() != Swizzle::None && elementBytes(shared.getType().getElementType()) == 2) {
        ok = checkOperandWindow(product, operand, shared, context) && ok;
        continue;
      }
      ok = false;
      context
          .report(DiagnosticKind::OperandTile, product,
                  fmt::format("`{}` cannot be an operand of a product", shared.getName().str()))
          .label(context.files.range(shared.getOperation()),
                 "an operand has bf16 or f16 elements, rows in multiples of 8, and 16, 32 or a multiple of 64 columns");
    }
  });
  return ok;
}

} // namespace

bool assignLayouts(KernelOp kernel, Context &context) {
  bool ok = assignShared(kernel, context);
  for (auto role : kernel.getBody().front().getOps<RoleOp>())
    ok &= FragmentLayouts(role, context).run();
  return ok;
}

} // namespace flashqla::passes
