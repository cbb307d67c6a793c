/// What check_sync.cpp says about two accesses.
#include "compiler/passes/check_sync.h"

using namespace mlir;
using namespace flashqla::tile;

namespace flashqla::passes {
namespace {

/// Whether the earlier access is that of a previous iteration.
bool wrapsAround(Operation *earlier, Operation *later) {
  if (earlier == later)
    return true;
  Operation *ancestor = earlier->getBlock()->findAncestorOpInBlock(*later);
  if (ancestor)
    return ancestor == earlier || !earlier->isBeforeInBlock(ancestor);
  Operation *outer = later->getBlock()->findAncestorOpInBlock(*earlier);
  return outer && later->isBeforeInBlock(outer);
}

std::string_view how(const SharedAccess &access) {
  switch (access.actor) {
  case Actor::Threads:
    return access.write ? "each thread writes its own elements" : "each thread reads what it needs";
  case Actor::Product:
    return "the tensor cores read all of it";
  case Actor::BulkStore:
    return "one lane starts a bulk store of all of it";
  case Actor::BulkLoad:
    return "one lane starts a bulk load into it";
  case Actor::AsyncCopy:
    return "each thread copies its own elements";
  }
  llvm_unreachable("covered");
}

std::string earlierText(const PendingAccess &earlier, const SharedAccess &later) {
  std::string text(how(earlier.access));
  if (wrapsAround(earlier.access.statement, later.statement))
    text += ", in the previous iteration";
  return text;
}

/// "after line N" if the earlier statement stands right before in the same block, else "before line
/// M".
std::string between(const Context &context, const PendingAccess &earlier,
                    const SharedAccess &later) {
  Operation *first = earlier.access.statement, *second = later.statement;
  if (first->getBlock() == second->getBlock() && !wrapsAround(first, second))
    return fmt::format("after line {}", lastLine(context.files.range(first)));
  return fmt::format("before line {}", firstLine(context.files.range(second)));
}

} // namespace

void SyncCheck::reportSync(const PendingAccess &earlier, const SharedAccess &later) {
  std::string name = named(context, later), role = roleName(later.statement);
  bool async = earlier.access.actor == Actor::AsyncCopy && earlier.inFlight;
  std::string message =
      !later.write ? fmt::format("{} is read by other threads of `{}` without `sync`", name, role)
      : earlier.access.write
          ? fmt::format("{} is written again by other threads of `{}` without `sync`", name, role)
          : fmt::format("{} is overwritten while other threads of `{}` may still read it", name,
                        role);
  SourceRange place = rangeOf(context, later), other = rangeOf(context, earlier.access);
  auto report = context.diags.report(DiagnosticKind::MissingSync, place, message);
  if (place == other)
    report.primary(earlierText(earlier, later));
  else
    report.primary(std::string(how(later))).label(other, earlierText(earlier, later));
  report.help(fmt::format("add {}`sync` {}", async ? "`await copy.async` and " : "",
                          between(context, earlier, later)));
}

void SyncCheck::reportAwait(const PendingAccess &earlier, const SharedAccess &later) {
  if (earlier.access.actor == Actor::AsyncCopy)
    return reportSync(earlier, later);
  std::string name = named(context, later);
  bool product = earlier.access.actor == Actor::Product;
  SourceRange place = rangeOf(context, later), other = rangeOf(context, earlier.access);
  auto report =
      context.diags.report(DiagnosticKind::OperandInFlight, place,
                           fmt::format("{} is overwritten while a {} may still be reading it", name,
                                       product ? "product" : "bulk store"));
  std::string awaited;
  SharedOp shared = earlier.access.shared;
  if (product) {
    auto target = cast<FragOp>(declaration(cast<WgmmaOp>(earlier.access.statement).getTarget()));
    awaited = target.getName().str();
  } else {
    awaited = shared.getName().str();
  }
  report.primary(std::string(how(later)))
      .label(other, product ? "read by this product" : "read by this store")
      .help(fmt::format("add `await {}` and `sync` before line {}", awaited,
                        firstLine(context.files.range(later.statement))));
}

/// A store that is still reading when the CTA ends reads shared memory that belongs to another one.
void SyncCheck::reportEnd(const State &state) {
  for (const PendingAccess &entry : state) {
    Operation *store = entry.access.statement;
    if (entry.access.actor != Actor::BulkStore || !entry.inFlight ||
        !firstReport(store, entry.access.shared))
      continue;
    context.diags
        .report(DiagnosticKind::NeverAwaited, context.files.range(store),
                fmt::format("`{}` may end while this store is still reading {}",
                            role.getName().str(), named(context, entry.access)))
        .help("add `await copy.tma` before the role ends");
  }
}

void SyncCheck::reportWait(const PendingAccess &earlier, const SharedAccess &later) {
  auto copy = cast<CopyOp>(earlier.access.statement);
  auto barrier = cast<BarrierOp>(declaration(copy.getBarrier()));
  context.diags
      .report(DiagnosticKind::MissingWait, rangeOf(context, later),
              fmt::format("{} is {} before its copy is known to have landed", named(context, later),
                          later.write ? "written" : "read"))
      .label(context.files.range(copy),
             fmt::format("this copy completes on `{}`", barrier.getName().str()))
      .help(fmt::format("wait for `{}` before line {}", barrier.getName().str(),
                        firstLine(context.files.range(later.statement))));
}

/// The points of one map run in no order: an element that one of them writes may be read by that
/// one alone.
void SyncCheck::checkPoints(MapOp map) {
  SmallVector<LoadOp> loads;
  map.walk([&](LoadOp load) {
    if (space(load.getSource()) == Space::Shared)
      loads.push_back(load);
  });
  std::vector<SharedAccess> accesses = sharedAccesses(map);
  for (const SharedAccess &write : accesses) {
    auto store = dyn_cast<StoreOp>(write.place);
    if (!store)
      continue;
    for (const SharedAccess &read : accesses) {
      auto load = dyn_cast<LoadOp>(read.place);
      if (!load || !mayOverlap(read, write))
        continue;
      bool same = read.reference == write.reference;
      for (auto [a, b] : llvm::zip(load.getIndices(), store.getIndices()))
        same = same && linearOf(a) == linearOf(b);
      if (same || !firstReport(map, write.shared))
        continue;
      context.diags
          .report(DiagnosticKind::MissingSync, rangeOf(context, read),
                  fmt::format("{} is read at another point than the one that writes it",
                              named(context, read)))
          .label(rangeOf(context, write), "written here, in no order")
          .help("read into a fragment first, then `sync`, then write");
    }
  }
}

} // namespace flashqla::passes
