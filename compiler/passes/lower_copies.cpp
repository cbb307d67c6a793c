/// Bulk copies: tensor maps, boxes, coordinates and byte counts.
///
/// A copy between a window of a tensor and a window of a shared tile becomes one bulk operation for each panel of the
/// tile. Its tensor map is a recipe in the kernel's attribute `tensor_maps`, encoded at launch: one per tensor, box,
/// swizzle and raggedness. A window `t +: C until e` whose limit is not the tensor's own extent takes a *ragged* map
/// (runtime/manifest.h): two dimensions of 2^31 move the base so that the hardware clips at e.
#include "compiler/passes/linear.h"
#include "compiler/passes/passes.h"

using namespace mlir;
using namespace flashqla::tile;

namespace flashqla::passes {
namespace {

constexpr int64_t ragged = 1 << 30;

class CopyLowering {
public:
  CopyLowering(KernelOp kernel, Context &context) : kernel(kernel), context(context), builder(kernel.getContext()) {}
  bool run();

private:
  struct Plan {
    ArgumentOp argument;
    SmallVector<Value> coordinates; ///< innermost first
    SmallVector<int64_t> dims, boxes;
    std::optional<Value> until;
    Value raggedOffset;
    int64_t map = 0, bytes = 0, panels = 1, panelColumns = 0, panelBytes = 0;
  };
  bool lower(CopyOp copy);
  std::optional<Plan> plan(CopyOp copy, Value window, Value tile);
  bool planDims(CopyOp copy, Value window, Plan &plan);
  bool checkBox(CopyOp copy, Value window, Value tile, Plan &plan);
  int64_t mapIndex(Plan &plan, SharedOp shared);
  void emit(CopyOp copy, Value tile, Plan &plan);
  SmallVector<Value> coordinatesOf(OpBuilder &at, Location loc, Plan &plan, int64_t panel);
  void attachBytes(CopyOp copy, int64_t bytes);

  KernelOp kernel;
  Context &context;
  Builder builder;
  SmallVector<Attribute> maps;
};

bool CopyLowering::planDims(CopyOp copy, Value window, Plan &plan) {
  auto view = window.getDefiningOp<ViewOp>();
  int64_t rank = plan.argument.getType().getRank();
  int64_t untilDim = -1;
  if (view && view.getUntil() && view.getUntil() != plan.argument.getExtents()[*view.getUntilDim()]) {
    untilDim = *view.getUntilDim();
    plan.until = view.getUntil();
  }
  for (int64_t dim = rank - 1; dim >= 0; --dim) {
    int64_t size = view ? view.getSizes()[dim] : 0;
    Value offset = view ? view.getOffsets()[dim] : Value();
    if (!view)
      size = *constantOf(plan.argument.getExtents()[dim]); // a whole tensor has constant extents
    if (dim == untilDim)
      continue; // comes last
    if (plan.until && size == 0 && constantOf(offset) == 0)
      continue; // a literal zero needs no dimension
    if (dim < untilDim && size > 1) { // the box lies in shared memory in the order of the map
      context
          .report(DiagnosticKind::TmaBox, copy,
                  fmt::format("dimension {} of this window of `{}` stands outside the `until`; a ragged tensor map has it "
                              "outermost",
                              dim, plan.argument.getName().str()))
          .help("copy one index of it at a time, or use `copy.async`");
      return false;
    }
    plan.dims.push_back(dim);
    plan.boxes.push_back(std::max<int64_t>(size, 1));
    plan.coordinates.push_back(offset);
  }
  if (plan.until) {
    if (plan.dims.size() > 2) {
      context
          .report(DiagnosticKind::TmaBox, copy,
                  fmt::format("a window with `until` has {} more dimensions; a ragged tensor map has room for two",
                              plan.dims.size()))
          .help("index the others by a literal 0, or leave `until` out where the limit is the tensor's own extent");
      return false;
    }
    plan.dims.push_back(untilDim);
    plan.boxes.push_back(view.getSizes()[untilDim]);
    plan.raggedOffset = view.getOffsets()[untilDim];
  }
  return true;
}

bool CopyLowering::checkBox(CopyOp copy, Value window, Value tile, Plan &plan) {
  auto shared = cast<SharedOp>(declaration(tile));
  SourceRange declared = context.files.range(shared.getOperation());
  std::string tensor = plan.argument.getName().str();
  int64_t bytes = elementBytes(elementType(window));
  if (plan.dims.size() > 5) {
    context.report(DiagnosticKind::TmaBox, copy,
                   fmt::format("`{}` has {} dimensions; a tensor map has at most 5", tensor, plan.dims.size()));
    return false;
  }
  const int64_t innermost = plan.argument.getType().getRank() - 1;
  if (plan.until && plan.dims.back() == innermost) {
    context
        .report(DiagnosticKind::TmaBox, copy,
                fmt::format("the `until` stands at the innermost dimension of `{}`; a bulk copy clips any other", tensor))
        .help("`copy.async` and plain copies take any window");
    return false;
  }
  if (plan.dims.empty() || plan.dims[0] != innermost || plan.boxes[0] * bytes % 16 != 0) {
    context
        .report(DiagnosticKind::TmaBox, copy,
                fmt::format("the innermost run of this window of `{}` is {} bytes; a bulk copy moves multiples of 16",
                            tensor, plan.dims.empty() ? 0 : plan.boxes[0] * bytes))
        .help("`copy.async` and plain copies take any window");
    return false;
  }
  // A start that is unknown may be right; one that cannot be is refused. The hardware ends the kernel (docs/hopper.md).
  Linear column = linearOf(plan.coordinates[0]);
  int64_t unit = 16 / bytes;
  if (column.known && column.constant % unit != 0 &&
      llvm::all_of(column.terms, [&](auto &term) { return term.second % unit == 0; })) {
    context
        .report(DiagnosticKind::TmaBox, copy,
                fmt::format("this window of `{}` starts {} bytes behind a multiple of 16", tensor,
                            (column.constant % unit + unit) % unit * bytes))
        .help("`copy.async` and plain copies take any window");
    return false;
  }
  for (int64_t box : plan.boxes)
    if (box > 256) {
      context
          .report(DiagnosticKind::TmaBox, copy,
                  fmt::format("a box of {} elements exceeds the 256 of a bulk copy", box))
          .label(declared, "the tile")
          .help("copies of windows of at most 256 elements a side move the same");
      return false;
    }
  if (layoutOf(shared).swizzleBytes() && plan.panelColumns != plan.boxes[0]) {
    context
        .report(DiagnosticKind::TmaBox, copy,
                fmt::format("a window of {} columns is not a whole number of panels of `{}`", extents(tile).back(),
                            shared.getName().str()))
        .label(declared, fmt::format("swizzled in panels of {} columns", plan.panelColumns));
    return false;
  }
  return true;
}

std::optional<CopyLowering::Plan> CopyLowering::plan(CopyOp copy, Value window, Value tile) {
  Plan plan;
  plan.argument = cast<ArgumentOp>(declaration(window));
  auto shared = cast<SharedOp>(declaration(tile));
  SharedLayout layout = layoutOf(shared);
  if (!planDims(copy, window, plan))
    return std::nullopt;
  plan.panelColumns = layout.swizzleBytes() ? layout.panelColumns() : extents(tile).back();
  if (!plan.boxes.empty() && layout.swizzleBytes() && plan.boxes[0] > plan.panelColumns &&
      plan.boxes[0] % plan.panelColumns == 0) {
    plan.panels = plan.boxes[0] / plan.panelColumns;
    plan.boxes[0] = plan.panelColumns;
  }
  plan.panelBytes = layout.panelBytes();
  if (!checkBox(copy, window, tile, plan))
    return std::nullopt;
  plan.bytes = elementBytes(elementType(window));
  for (int64_t box : plan.boxes)
    plan.bytes *= box;
  plan.map = mapIndex(plan, shared);
  return plan;
}

int64_t CopyLowering::mapIndex(Plan &plan, SharedOp shared) {
  Attribute recipe = builder.getDictionaryAttr(
      {builder.getNamedAttr("argument", plan.argument.getNameAttr()),
       builder.getNamedAttr("dims", builder.getDenseI64ArrayAttr(plan.dims)),
       builder.getNamedAttr("boxes", builder.getDenseI64ArrayAttr(plan.boxes)),
       builder.getNamedAttr("ragged", builder.getBoolAttr(plan.until.has_value())),
       builder.getNamedAttr("swizzle", SwizzleAttr::get(builder.getContext(), shared.getSwizzle().value_or(Swizzle::None)))});
  for (auto [index, known] : llvm::enumerate(maps))
    if (known == recipe)
      return index;
  maps.push_back(recipe);
  return maps.size() - 1;
}

SmallVector<Value> CopyLowering::coordinatesOf(OpBuilder &at, Location loc, Plan &plan, int64_t panel) {
  auto constant = [&](int64_t value) -> Value { return arith::ConstantOp::create(at, loc, at.getI64IntegerAttr(value)); };
  SmallVector<Value> coordinates;
  for (auto [index, coordinate] : llvm::enumerate(plan.coordinates)) {
    Value value = coordinate ? coordinate : constant(0);
    if (index == 0 && panel > 0)
      value = arith::AddIOp::create(at, loc, value, constant(panel * plan.panelColumns));
    coordinates.push_back(value);
  }
  if (plan.until) { // 2^30 - (e - t), e, 2^30
    Value left = arith::SubIOp::create(at, loc, *plan.until, plan.raggedOffset);
    coordinates.push_back(arith::SubIOp::create(at, loc, constant(ragged), left));
    coordinates.push_back(*plan.until);
    coordinates.push_back(constant(ragged));
  }
  return coordinates;
}

void CopyLowering::emit(CopyOp copy, Value tile, Plan &plan) {
  OpBuilder at(copy);
  Location loc = copy.getLoc();
  bool load = space(copy.getTarget()) == Space::Shared;
  for (int64_t panel = 0; panel < plan.panels; ++panel) {
    SmallVector<Value> coordinates = coordinatesOf(at, loc, plan, panel);
    auto byte = at.getI64IntegerAttr(panel * plan.panelBytes), bytes = at.getI64IntegerAttr(plan.bytes);
    auto map = at.getI64IntegerAttr(plan.map);
    if (load)
      TmaLoadOp::create(at, loc, plan.argument.getResult(), tile, copy.getBarrier(), copy.getSlot(),
                        copy.getGeneration(), coordinates, copy.getOffsetAttr(), byte, bytes, map);
    else
      TmaStoreOp::create(at, loc, plan.argument.getResult(), tile, coordinates, byte, bytes, map);
  }
  if (load)
    attachBytes(copy, plan.bytes * plan.panels);
  else
    CommitStoresOp::create(at, loc);
  copy.erase();
}

/// The arrival beside the copy announces its bytes; where there is none, the block of the copy does.
void CopyLowering::attachBytes(CopyOp copy, int64_t bytes) {
  OpBuilder at(copy);
  for (Operation *op = copy->getNextNode(); op; op = op->getNextNode())
    if (auto arrive = dyn_cast<ArriveSlotOp>(op);
        arrive && arrive.getBarrier() == copy.getBarrier() && arrive.getSlot() == copy.getSlot()) {
      arrive.setTxBytes(arrive.getTxBytes() + bytes);
      return;
    }
  ExpectTxOp::create(at, copy.getLoc(), copy.getBarrier(), copy.getSlot(), copy.getGeneration(), copy.getOffset(),
                     bytes);
}

bool CopyLowering::lower(CopyOp copy) {
  bool load = space(copy.getTarget()) == Space::Shared;
  Value window = load ? copy.getSource() : copy.getTarget(), tile = load ? copy.getTarget() : copy.getSource();
  std::optional<Plan> found = plan(copy, window, tile);
  if (!found)
    return false;
  emit(copy, tile, *found);
  return true;
}

bool CopyLowering::run() {
  SmallVector<CopyOp> copies;
  kernel.walk([&](CopyOp copy) {
    if (copy.getKind() == CopyKind::Tma)
      copies.push_back(copy);
  });
  for (CopyOp copy : copies)
    if (!lower(copy))
      return false;
  SmallVector<AwaitOp> awaits;
  kernel.walk([&](AwaitOp await) { awaits.push_back(await); });
  for (AwaitOp await : awaits) {
    bool read = await.getKind() == AwaitKind::Tile;
    if (!read && await.getKind() != AwaitKind::Tensor && await.getKind() != AwaitKind::CopyTma)
      continue;
    OpBuilder at(await);
    int64_t keep = await.getKind() == AwaitKind::CopyTma ? await.getKeep() : 0;
    WaitStoresOp::create(at, await.getLoc(), keep, read);
    await.erase();
  }
  kernel->setAttr("tensor_maps", builder.getArrayAttr(maps));
  return true;
}

} // namespace

bool lowerCopies(KernelOp kernel, Context &context) { return CopyLowering(kernel, context).run(); }

} // namespace flashqla::passes
