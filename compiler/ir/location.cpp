#include "compiler/ir/location.h"

#include "mlir/IR/MLIRContext.h"

using namespace mlir;

namespace flashqla {

Location toLocation(MLIRContext *context, SourceRange range) {
  if (!range)
    return UnknownLoc::get(context);
  LineColumn begin = range.file->position(range.begin);
  LineColumn end = range.file->position(range.end);
  return FileLineColRange::get(StringAttr::get(context, range.file->name()), begin.line,
                               begin.column, end.line, end.column);
}

Location toLocation(MLIRContext *context, SourceRange range, std::string_view name) {
  return NameLoc::get(StringAttr::get(context, name), toLocation(context, range));
}

std::string_view nameHint(Location location) {
  if (auto named = dyn_cast<NameLoc>(location))
    return named.getName().getValue();
  return {};
}

void SourceFiles::add(const SourceFile &file) { files.insert_or_assign(file.name(), &file); }

SourceRange SourceFiles::range(Location location) const {
  if (auto named = dyn_cast<NameLoc>(location))
    return range(named.getChildLoc());
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return range(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(location)) {
    for (Location part : fused.getLocations())
      if (SourceRange found = range(part))
        return found;
    return {};
  }
  auto place = dyn_cast<FileLineColRange>(location);
  if (!place)
    return {};
  auto file = files.find(std::string_view(place.getFilename().getValue()));
  if (file == files.end())
    return {};
  auto begin = file->second->offset({place.getStartLine(), place.getStartColumn()});
  auto end = file->second->offset({place.getEndLine(), place.getEndColumn()});
  if (!begin || !end)
    return {};
  return {file->second, *begin, *end};
}

DiagnosticBuilder reportAt(Diagnostics &diags, DiagnosticKind kind, const SourceFiles &files,
                           Operation *op, std::string message) {
  return diags.report(kind, files.range(op), std::move(message));
}

} // namespace flashqla
