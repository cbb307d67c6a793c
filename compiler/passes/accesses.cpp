#include "compiler/passes/accesses.h"

using namespace mlir;
using namespace flashqla::tile;

namespace flashqla::passes {
namespace {

/// The window that a reference names, in all dimensions of the tile.
SmallVector<Span, 2> boxOf(Value reference) {
  SmallVector<Span, 2> box;
  if (auto view = reference.getDefiningOp<ViewOp>()) {
    for (auto [offset, size] : llvm::zip_equal(view.getOffsets(), view.getSizes()))
      box.push_back({linearOf(offset), std::max<int64_t>(size, 1)});
    return box;
  }
  for (int64_t extent : extents(reference))
    box.push_back({Linear(), extent});
  return box;
}

Linear generationOf(Value reference) {
  auto view = reference.getDefiningOp<ViewOp>();
  return view ? linearOf(view.getGeneration(), view.getGenerationOffset()) : Linear();
}

/// What an index ranges over in a statement; absent where it depends on the point in another way
/// than by a sum.
std::optional<Span> spanOf(Value index, Operation *statement, DenseSet<Value> &moving, bool &exact) {
  Linear start = linearOf(index);
  int64_t extent = 1;
  bool moves = false;
  for (auto [atom, coefficient] : llvm::to_vector(start.terms)) {
    if (!statement->isAncestor(atom.getParentRegion()->getParentOp()))
      continue;
    auto argument = dyn_cast<BlockArgument>(atom);
    if (!argument)
      return std::nullopt;
    int64_t lower = 0, count = 0;
    Operation *owner = argument.getOwner()->getParentOp();
    if (auto map = dyn_cast<MapOp>(owner)) {
      count = map.getDomain()[argument.getArgNumber()];
    } else if (auto reduce = dyn_cast<ReduceOp>(owner)) {
      auto first = constantOf(reduce.getLower()), last = constantOf(reduce.getUpper());
      if (!first || !last)
        return std::nullopt;
      lower = *first;
      count = *last - *first;
    } else {
      return std::nullopt;
    }
    // Steps, sums of two indices and diagonals leave out elements of the box.
    exact &= std::abs(coefficient) == 1 && !moves && moving.insert(atom).second;
    moves = true;
    int64_t lowest = coefficient > 0 ? lower : lower + count - 1;
    start = start.plus(linearOf(atom), -coefficient).plus(coefficient * lowest);
    extent += std::abs(coefficient) * (count - 1);
  }
  return Span{start, extent};
}

/// The box of an element access: the window of its base narrowed by the indices.
SmallVector<Span, 2> boxOf(Value reference, OperandRange indices, Operation *statement, bool &exact) {
  SmallVector<Span, 2> box = boxOf(reference);
  DenseSet<Value> moving;
  auto view = reference.getDefiningOp<ViewOp>();
  size_t next = 0;
  for (size_t dim = 0; dim < box.size(); ++dim) {
    if (view && view.getSizes()[dim] == 0)
      continue;
    if (auto span = spanOf(indices[next++], statement, moving, exact))
      box[dim] = {box[dim].start.plus(span->start), span->extent};
    else
      exact = false;
  }
  return box;
}

Actor actorOf(CopyOp copy) {
  switch (copy.getKind()) {
  case CopyKind::Tma:
    return space(copy.getTarget()) == Space::Shared ? Actor::BulkLoad : Actor::BulkStore;
  case CopyKind::Async:
    return Actor::AsyncCopy;
  case CopyKind::Plain:
    break;
  }
  return Actor::Threads;
}

class Collector {
public:
  explicit Collector(Operation *statement) : statement(statement) {}
  std::vector<SharedAccess> run();

private:
  void whole(Value reference, bool write, Actor actor) {
    if (space(reference) != Space::Shared)
      return;
    Operation *place =
        isa<ViewOp>(reference.getDefiningOp()) ? reference.getDefiningOp() : statement;
    accesses.push_back({statement, reference, place, cast<SharedOp>(declaration(reference)),
                        generationOf(reference), boxOf(reference), write, actor});
  }
  void element(Operation *place, Value reference, OperandRange indices, bool write) {
    if (space(reference) != Space::Shared)
      return;
    bool exact = true;
    for (Operation *op = place; op != statement; op = op->getParentOp())
      exact &= !isa<scf::IfOp>(op->getParentOp()); // a point may be left out
    SmallVector<Span, 2> box = boxOf(reference, indices, statement, exact);
    accesses.push_back({statement, reference, place, cast<SharedOp>(declaration(reference)), generationOf(reference), box,
                        write, Actor::Threads, exact});
  }

  Operation *statement;
  std::vector<SharedAccess> accesses;
};

std::vector<SharedAccess> Collector::run() {
  if (auto product = dyn_cast<WgmmaOp>(statement)) {
    whole(product.getA(), false, Actor::Product);
    whole(product.getB(), false, Actor::Product);
  } else if (auto copy = dyn_cast<CopyOp>(statement)) {
    whole(copy.getSource(), false, actorOf(copy));
    whole(copy.getTarget(), true, actorOf(copy));
  } else if (auto inverse = dyn_cast<InverseOp>(statement)) {
    whole(inverse.getScratch(), true, Actor::Threads);
  } else if (isa<MapOp, ReduceOp, LoadOp>(statement)) {
    statement->walk(
        [&](LoadOp load) { element(load, load.getSource(), load.getIndices(), false); });
    statement->walk(
        [&](StoreOp store) { element(store, store.getTarget(), store.getIndices(), true); });
  }
  return std::move(accesses);
}

} // namespace

std::vector<SharedAccess> sharedAccesses(Operation *statement) {
  return Collector(statement).run();
}

std::vector<FragmentAccess> fragmentAccesses(Operation *statement) {
  std::vector<FragmentAccess> accesses;
  auto add = [&](Value reference, Operation *place, bool write) {
    if (space(reference) == Space::Register)
      accesses.push_back({cast<FragOp>(declaration(reference)), place, write});
  };
  if (auto product = dyn_cast<WgmmaOp>(statement)) {
    add(product.getA(), statement, false);
  } else if (auto copy = dyn_cast<CopyOp>(statement)) {
    add(copy.getSource(), statement, false);
    add(copy.getTarget(), statement, true);
  } else if (auto inverse = dyn_cast<InverseOp>(statement)) {
    add(inverse.getSource(), statement, false);
    add(inverse.getTarget(), statement, true);
  } else if (isa<MapOp, ReduceOp>(statement)) {
    statement->walk([&](LoadOp load) { add(load.getSource(), load, false); });
    statement->walk([&](StoreOp store) { add(store.getTarget(), store, true); });
  }
  return accesses;
}

bool boxesMayOverlap(const SharedAccess &a, const SharedAccess &b) {
  for (auto [left, right] : llvm::zip_equal(a.box, b.box))
    if (auto distance = difference(right.start, left.start);
        distance && (*distance >= left.extent || -*distance >= right.extent))
      return false;
  return true;
}

bool mayOverlap(const SharedAccess &a, const SharedAccess &b) {
  if (a.shared != b.shared)
    return false;
  SharedOp shared = a.shared;
  auto apart = difference(a.generation, b.generation);
  if (apart && *apart % shared.getType().getSlots() != 0)
    return false;
  return boxesMayOverlap(a, b);
}

bool overlapIsCertain(const SharedAccess &a, const SharedAccess &b) {
  SharedOp shared = a.shared;
  bool known = a.exact && b.exact &&
               (shared.getType().getSlots() == 1 || difference(a.generation, b.generation).has_value());
  for (auto [left, right] : llvm::zip_equal(a.box, b.box))
    known = known && difference(right.start, left.start).has_value();
  return known;
}

SourceRange operandRange(const Context &context, Operation *statement, Value operand) {
  SourceRange whole = context.files.range(statement);
  auto inside = [&](SourceRange part) {
    return part.file == whole.file && part.begin >= whole.begin && part.end <= whole.end;
  };
  // Equal views of a block have been merged, so that the place may be that of another statement.
  std::string text;
  if (operand.getDefiningOp<ViewOp>()) {
    SourceRange place = context.files.range(operand.getDefiningOp());
    if (inside(place))
      return place;
    text = place.text();
  } else {
    text = context.files.range(declaration(operand)).text();
  }
  for (size_t at = whole.text().find(text); !text.empty() && at != std::string_view::npos;
       at = whole.text().find(text, at + 1)) {
    auto isWord = [&](size_t index) {
      return index < whole.text().size() &&
             (llvm::isAlnum(whole.text()[index]) || whole.text()[index] == '_');
    };
    if ((at == 0 || !isWord(at - 1)) && !isWord(at + text.size())) {
      auto begin = whole.begin + static_cast<uint32_t>(at);
      return {whole.file, begin, begin + static_cast<uint32_t>(text.size())};
    }
  }
  return whole;
}

SourceRange rangeOf(const Context &context, const SharedAccess &access) {
  // Statements on whole tiles, `s = bf16(x)`, are maps that nobody wrote.
  SourceRange place = context.files.range(access.place);
  if (isa<LoadOp, StoreOp>(access.place) && place != context.files.range(access.statement))
    return place;
  return operandRange(context, access.statement, access.reference);
}

std::string named(const Context &context, const SharedAccess &access) {
  SourceRange range = operandRange(context, access.statement, access.reference);
  SharedOp shared = access.shared;
  std::string_view text = range.text();
  bool named = text.starts_with(shared.getName().str()) &&
               text.find_first_of("\n=") == std::string_view::npos;
  return fmt::format("`{}`", named ? text : std::string_view(shared.getName()));
}

uint32_t firstLine(SourceRange range) { return range ? range.file->lineOf(range.begin) : 0; }

uint32_t lastLine(SourceRange range) {
  return range ? range.file->lineOf(std::max(range.begin + 1, range.end) - 1) : 0;
}

std::string roleName(Operation *op) {
  auto role = dyn_cast<RoleOp>(op);
  return (role ? role : op->getParentOfType<RoleOp>()).getName().str();
}

} // namespace flashqla::passes
