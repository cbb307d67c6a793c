/// Synchronisation, copies and products.
#include "compiler/frontend/lower.h"

using namespace mlir;

namespace flashqla::frontend {

using ast::CopyKind;
using ast::Expr;

BarrierInfo *KernelLowering::findBarrier(const ast::BarrierRef &ref, bool waits) {
  const Symbol *symbol = lookupName(ref.name);
  if (!symbol)
    return nullptr;
  if (symbol->kind != SymbolKind::Barrier) {
    error(DiagnosticKind::WrongKind, ref.name.range,
          fmt::format("`{}` is {}, not a barrier", ref.name.text, describe(symbol->kind)))
        .label(symbol->declared, "declared here");
    return nullptr;
  }
  BarrierInfo &info = barriers[symbol->barrier];
  if (!info.incomplete && !llvm::is_contained(waits ? info.waiters : info.arrivers, role->name)) {
    error(DiagnosticKind::BarrierRole, ref.name.range,
          fmt::format("`{}` is not declared to {} `{}`", role->name,
                      waits ? "wait for" : "arrive at", ref.name.text))
        .label(info.barrier->name.range,
               fmt::format("{} {}", waits ? "waited for by" : "completed by",
                           fmt::join(waits ? info.waiters : info.arrivers, ", ")));
    return nullptr;
  }
  return &info;
}

/// The generation as a base value and a constant.
std::optional<std::pair<Value, int64_t>>
KernelLowering::generation(const ast::BarrierRef &ref, const BarrierInfo &info, bool isWait) {
  if (!ref.generation) {
    if (info.slots == 1)
      return std::pair(Value(), int64_t(0));
    error(
        DiagnosticKind::MissingGeneration, ref.range,
        fmt::format("`{}` is a ring of {} barriers: which generation?", ref.name.text, info.slots))
        .label(info.barrier->name.range, "declared here")
        .help(fmt::format("`{}[k]` is its k-th use", ref.name.text));
    return std::nullopt;
  }
  auto scalar = evaluateIndex(*ref.generation);
  if (!scalar)
    return std::nullopt;
  bool exact = scalar->loopBound || scalar->isConstant();
  if (isWait && exact && scalar->bounds.lowest < -info.slots) {
    error(DiagnosticKind::PhaseAliasing, ref.generation->range,
          fmt::format("`{}` has {} slot{}: a wait comes at most one ring behind", ref.name.text,
                      info.slots, info.slots == 1 ? "" : "s"))
        .primary(fmt::format("generation {} at first", scalar->bounds.lowest))
        .label(info.barrier->name.range, "declared here");
    return std::nullopt;
  }
  return std::pair(scalar->base, scalar->asInteger().value_or(scalar->offset));
}

void KernelLowering::lowerBarrierUse(const ast::BarrierRef &ref, SourceRange range, bool isWait) {
  BarrierInfo *info = findBarrier(ref, isWait);
  if (!info)
    return;
  std::vector<std::string> &used = isWait ? info->waited : info->arrived;
  if (!llvm::is_contained(used, role->name))
    used.push_back(role->name);
  if (isWait && !info->firstWait)
    info->firstWait = range;
  auto place = generation(ref, *info, isWait);
  if (!place)
    return;
  if (isWait)
    tile::WaitOp::create(builder, loc(range), info->op, place->first, place->second);
  else
    tile::ArriveOp::create(builder, loc(range), info->op, place->first, place->second);
}

static tile::AwaitKind awaitKind(const ast::Await &await, SymbolKind target) {
  if (await.kind == ast::Await::Kind::Wgmma)
    return tile::AwaitKind::Wgmma;
  if (await.kind == ast::Await::Kind::Copy)
    return await.copy == CopyKind::Async ? tile::AwaitKind::CopyAsync : tile::AwaitKind::CopyTma;
  if (target == SymbolKind::Frag)
    return tile::AwaitKind::Fragment;
  return target == SymbolKind::Shared ? tile::AwaitKind::Tile : tile::AwaitKind::Tensor;
}

void KernelLowering::lowerAwait(const ast::Await &await, SourceRange range) {
  Value target;
  int64_t keep = 0;
  SymbolKind kind = SymbolKind::Failed;
  if (await.kind == ast::Await::Kind::Target) {
    const Expr &expr = ast::withoutParens(*await.target);
    const Symbol *symbol = lookupTile(expr);
    if (!symbol)
      return;
    kind = symbol->kind;
    if (kind == SymbolKind::Tensor && expr.brackets.empty()) {
      if (!checkWritable(expr, *symbol))
        return;
      target = symbol->handle;
    } else if (auto tile = resolveTile(expr)) {
      target = tile->value;
    } else {
      return;
    }
  } else if (await.keep) {
    auto count = evaluateInteger(*await.keep, "the number of groups that may stay in flight");
    if (!count)
      return;
    if (*count < 0) {
      error(DiagnosticKind::ExtentRange, await.keep->range,
            fmt::format("{} groups cannot stay in flight", *count));
      return;
    }
    keep = *count;
  }
  tile::AwaitOp::create(builder, loc(range), awaitKind(await, kind), target, keep);
}

std::pair<const Expr *, std::optional<ScalarType>> KernelLowering::splitCast(const Expr &outer) {
  const Expr &expr = ast::withoutParens(outer);
  if (expr.kind != ast::ExprKind::Call || expr.operands.size() != 1)
    return {&expr, std::nullopt};
  std::optional<ScalarType> type = expr.callee;
  if (!type)
    if (const Symbol *symbol = lookupName(expr.name); symbol && symbol->kind == SymbolKind::Type)
      type = symbol->type;
  return {type ? &ast::withoutParens(*expr.operands[0]) : &expr, type};
}

bool KernelLowering::checkReadable(const TileRef &source) {
  if (source.symbol.kind != SymbolKind::Tensor ||
      source.symbol.argument->direction != ast::Direction::Out)
    return true;
  error(DiagnosticKind::TensorDirection, source.expr->name.range,
        fmt::format("`{}` is an `out` tensor: it cannot be read", source.symbol.name))
      .label(source.symbol.argument->directionRange, "declared here")
      .help("declare it `inout`");
  return false;
}

static std::string tileText(const TileRef &tile) {
  return fmt::format("{}[{}]", ast::scalarTypeName(tile.type()), fmt::join(tile.shape, ", "));
}

/// What every kind of copy asks of its ends.
bool KernelLowering::checkCopyEnds(const ast::Copy &copy, const TileRef &target,
                                   const TileRef &source, std::optional<ScalarType> cast) {
  if (!checkWritable(*target.expr, target.symbol) || !checkReadable(source))
    return false;
  for (const TileRef *end : {&target, &source})
    if (end->transposed) {
      error(DiagnosticKind::CopyRule, end->expr->range, "a copy does not transpose")
          .help("a `map` does");
      return false;
    }
  if (target.shape != source.shape) {
    error(DiagnosticKind::ShapeMismatch, source.expr->range,
          fmt::format("shapes differ: [{}] <- [{}]", fmt::join(target.shape, ", "),
                      fmt::join(source.shape, ", ")))
        .primary(tileText(source))
        .label(target.expr->range, tileText(target));
    return false;
  }
  ScalarType from = cast.value_or(source.type());
  bool exact = copy.kind != CopyKind::Plain;
  if (exact ? from == target.type() : widens(from, target.type()))
    return true;
  std::string_view to = ast::scalarTypeName(target.type());
  if (exact) {
    error(DiagnosticKind::TypeMismatch, source.expr->range,
          fmt::format("an asynchronous copy does not convert: {} <- {}", to,
                      ast::scalarTypeName(from)))
        .primary(tileText(source))
        .label(target.expr->range, tileText(target));
    return false;
  }
  error(DiagnosticKind::Narrowing, source.expr->range,
        fmt::format("`{}` is {}, `{}` is {}: narrowing is written out", source.expr->range.text(),
                    ast::scalarTypeName(from), target.expr->range.text(), to))
      .primary(tileText(source))
      .label(target.expr->range, tileText(target))
      .help(fmt::format("`{}({})`", to, source.expr->range.text()));
  return false;
}

bool KernelLowering::checkCopyKind(const ast::Copy &copy, const TileRef &target,
                                   const TileRef &source, bool casts) {
  bool load = source.symbol.kind == SymbolKind::Tensor && target.symbol.kind == SymbolKind::Shared;
  bool store = target.symbol.kind == SymbolKind::Tensor && source.symbol.kind == SymbolKind::Shared;
  bool bulk = copy.kind == CopyKind::Tma;
  SourceRange ends = copy.destination->range.to(copy.source->range);
  if (copy.kind != CopyKind::Plain && !load && !(bulk && store)) {
    error(DiagnosticKind::WrongSpace, ends,
          bulk ? "`copy.tma` moves between tensors and shared tiles"
               : "`copy.async` moves from tensors to shared tiles")
        .label(target.symbol.declared, std::string(describe(target.symbol.kind)))
        .label(source.symbol.declared, std::string(describe(source.symbol.kind)));
    return false;
  }
  if (copy.kind != CopyKind::Plain && casts) {
    error(DiagnosticKind::CopyRule, copy.source->range, "an asynchronous copy does not convert")
        .help("a plain `copy` does");
    return false;
  }
  if (copy.completes && !(bulk && load)) {
    error(DiagnosticKind::CopyRule, copy.completes->range,
          "only a bulk load completes on a barrier")
        .label(ends, bulk ? "a store: `await` it" : "not a `copy.tma`");
    return false;
  }
  if (!(bulk && load) || copy.completes)
    return true;
  error(DiagnosticKind::CopyRule, ends, "a bulk load completes on a barrier: which one?")
      .help("`=> full[k]` names it");
  return false;
}

static tile::CopyKind copyKind(CopyKind kind) {
  switch (kind) {
  case CopyKind::Tma:
    return tile::CopyKind::Tma;
  case CopyKind::Async:
    return tile::CopyKind::Async;
  case CopyKind::Plain:
    break;
  }
  return tile::CopyKind::Plain;
}

void KernelLowering::lowerCopy(const ast::Copy &copy, SourceRange range) {
  auto [sourceExpr, cast] = splitCast(*copy.source);
  auto target = resolveTile(*copy.destination), source = resolveTile(*sourceExpr);
  Value barrier, base;
  int64_t offset = 0;
  if (copy.completes) {
    BarrierInfo *info = findBarrier(*copy.completes, /*waits=*/false);
    auto place = info ? generation(*copy.completes, *info, false) : std::nullopt;
    if (!place)
      return;
    barrier = info->op; // attaching a copy is no arrival
    std::tie(base, offset) = *place;
  }
  if (!target || !source || !checkCopyKind(copy, *target, *source, cast.has_value()) ||
      !checkCopyEnds(copy, *target, *source, cast))
    return;
  TypeAttr castAttr;
  if (cast)
    castAttr = TypeAttr::get(mlirElementType(*cast));
  tile::CopyOp::create(builder, loc(range), copyKind(copy.kind), target->value, source->value,
                       barrier, base, /*slot=*/Value(), offset, castAttr);
}

/// What a shared operand is when it is read the other way round.
static std::string asTranspose(const TileRef &operand) {
  std::string_view text = operand.expr->range.text();
  std::string other = operand.transposed && text.ends_with(".T")
                          ? std::string(text.substr(0, text.size() - 2))
                          : fmt::format("{}.T", text);
  return fmt::format("`{}` is [{}, {}]", other, operand.columns(), operand.rows());
}

bool KernelLowering::checkProductShapes(const ast::Wgmma &wgmma, const TileRef &target,
                                        const TileRef &a, const TileRef &b) {
  for (const TileRef *operand : {&target, &a, &b})
    if (operand->shape.size() != 2) {
      error(DiagnosticKind::MatmulShape, operand->expr->range, "an operand has two dimensions")
          .primary(tileText(*operand));
      return false;
    }
  if (a.columns() != b.rows()) {
    auto report = error(DiagnosticKind::MatmulShape, b.expr->range,
                        fmt::format("shapes do not multiply: [{}, {}] @ [{}, {}]", a.rows(),
                                    a.columns(), b.rows(), b.columns()));
    report.primary(fmt::format("K is {} here", b.rows()))
        .label(a.expr->range, fmt::format("K is {} here", a.columns()));
    if (a.columns() == b.columns() && target.columns() == b.rows())
      report.help(asTranspose(b));
    else if (a.rows() == b.rows() && target.rows() == a.columns() &&
             a.symbol.kind == SymbolKind::Shared)
      report.help(asTranspose(a));
    return false;
  }
  if (target.rows() != a.rows() || target.columns() != b.columns()) {
    error(DiagnosticKind::MatmulShape, target.expr->range,
          fmt::format("the product is [{}, {}]", a.rows(), b.columns()))
        .primary(tileText(target))
        .label(a.expr->range, fmt::format("M is {} here", a.rows()))
        .label(b.expr->range, fmt::format("N is {} here", b.columns()));
    return false;
  }
  int64_t rows = 64 * role->warpgroups();
  bool fits = target.rows() % rows == 0 && target.columns() % 8 == 0 && target.columns() <= 256 &&
              a.columns() % 16 == 0;
  if (fits)
    return true;
  bool badRows = target.rows() % rows != 0, badColumns = a.columns() % 16 == 0;
  error(DiagnosticKind::MatmulShape, (badRows || badColumns ? target : a).expr->range,
        badRows      ? fmt::format("a product of `{}` has a multiple of {} rows", role->name, rows)
        : badColumns ? "a product has a multiple of 8 columns, at most 256"
                     : "the inner extent of a product is a multiple of 16")
      .primary(tileText(badRows || badColumns ? target : a));
  return false;
}

bool KernelLowering::checkProduct(const ast::Wgmma &wgmma, const TileRef &target, const TileRef &a,
                                  const TileRef &b, std::optional<ScalarType> cast) {
  auto wrongSpace = [&](const TileRef &operand, std::string_view rule) {
    error(DiagnosticKind::WrongSpace, operand.expr->range, std::string(rule))
        .primary(std::string(describe(operand.symbol.kind)))
        .label(operand.symbol.declared, "declared here");
    return false;
  };
  if (target.symbol.kind != SymbolKind::Frag || target.transposed)
    return wrongSpace(target, "a product is formed in a fragment");
  if (b.symbol.kind != SymbolKind::Shared)
    return wrongSpace(b, "the right operand of a product is a shared tile");
  if (a.symbol.kind == SymbolKind::Tensor)
    return wrongSpace(a, "the left operand of a product is a shared tile or a fragment");
  bool fragment = a.symbol.kind == SymbolKind::Frag;
  if ((a.transposed && fragment) || (cast && !fragment)) {
    error(DiagnosticKind::WrongSpace, wgmma.a->range,
          cast && !fragment ? "a shared operand is read as it is"
                            : "a fragment cannot be read as its transpose")
        .label(a.symbol.declared, "declared here");
    return false;
  }
  if (target.type() != ScalarType::F32) {
    error(DiagnosticKind::TypeMismatch, target.expr->range, "products are summed in f32")
        .primary(tileText(target))
        .label(target.symbol.declared, "declared here");
    return false;
  }
  ScalarType left = cast.value_or(a.type()), right = b.type();
  if (fragment && left == ScalarType::F32) {
    error(DiagnosticKind::Narrowing, wgmma.a->range,
          fmt::format("`{}` is f32, `{}` is {}: narrowing is written out", a.expr->range.text(),
                      b.expr->range.text(), ast::scalarTypeName(right)))
        .primary(tileText(a))
        .help(fmt::format("`{}({})`", ast::scalarTypeName(right), a.expr->range.text()));
    return false;
  }
  bool types = left == right && (left == ScalarType::BF16 || left == ScalarType::F16);
  if (!types) {
    error(DiagnosticKind::TypeMismatch, wgmma.a->range.to(wgmma.b->range),
          "the operands of a product are both bf16 or both f16")
        .label(a.symbol.declared, std::string(ast::scalarTypeName(left)))
        .label(b.symbol.declared, std::string(ast::scalarTypeName(right)));
    return false;
  }
  return checkProductShapes(wgmma, target, a, b);
}

static tile::ProductMode productMode(ast::AssignOp op) {
  switch (op) {
  case ast::AssignOp::Add:
    return tile::ProductMode::Add;
  case ast::AssignOp::Sub:
    return tile::ProductMode::Subtract;
  case ast::AssignOp::Set:
  case ast::AssignOp::Mul: // refused by the parser
    break;
  }
  return tile::ProductMode::Set;
}

void KernelLowering::lowerWgmma(const ast::Wgmma &wgmma, SourceRange range) {
  if (role->isWarp()) {
    error(DiagnosticKind::RoleOperation, range,
          fmt::format("`{}` is a warp: products are issued by warpgroups", role->name))
        .label(role->role->header, "a warp role");
    return;
  }
  auto [aExpr, cast] = splitCast(*wgmma.a);
  auto [bExpr, castB] = splitCast(*wgmma.b);
  auto target = resolveTile(*wgmma.target), a = resolveTile(*aExpr), b = resolveTile(*bExpr);
  if (!target || !a || !b)
    return;
  if (castB) {
    error(DiagnosticKind::WrongSpace, wgmma.b->range,
          "the right operand of a product is a shared tile as it is");
    return;
  }
  if (!checkProduct(wgmma, *target, *a, *b, cast))
    return;
  TypeAttr castAttr;
  if (cast && *cast != a->type())
    castAttr = TypeAttr::get(mlirElementType(*cast));
  tile::WgmmaOp::create(builder, loc(range), productMode(wgmma.op), target->value, a->value,
                        b->value, a->transposed, b->transposed, castAttr);
}

} // namespace flashqla::frontend
