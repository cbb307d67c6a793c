#include "compiler/syntax/format.h"
#include "compiler/syntax/parser.h"
#include "runtime/files.h"
#include "tools/flashqlac/verbs.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

namespace flashqla::cli {

namespace {

/// One file. Texts with mistakes stay as they are.
int formatOne(Context &context, const std::string &path, bool check) {
  const Expected<Source> source = readSource(context, path);
  if (!source)
    return fail(context, source.error());
  const SourceFile file(source->name, source->text);
  Diagnostics diagnostics;
  const ast::Module module = parse(file, diagnostics);
  report(context, diagnostics);
  if (diagnostics.hasErrors())
    return Mistakes;
  const std::string formatted = format(module);
  if (path == "-" && !check) {
    context.out << formatted;
    return Done;
  }
  if (formatted == source->text)
    return Done;
  if (check) {
    context.out << fmt::format("{} is not formatted\n", source->name);
    return Mistakes;
  }
  const Expected<void> written = writeFile(path, formatted);
  if (!written)
    return fail(context, written.error());
  context.out << fmt::format("formatted {}\n", path);
  return Done;
}

} // namespace

int formatVerb(Context &context, const FormatOptions &options) {
  const Expected<std::vector<std::string>> files = tileFiles(options.paths);
  if (!files)
    return fail(context, files.error());
  int status = Done;
  for (const std::string &path : *files)
    status = std::max(status, formatOne(context, path, options.check));
  return status;
}

} // namespace flashqla::cli
