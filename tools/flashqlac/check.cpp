#include "tools/flashqlac/verbs.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

namespace flashqla::cli {

int checkVerb(Context &context, const std::vector<std::string> &paths, bool redundant) {
  const Expected<std::vector<std::string>> files = tileFiles(paths);
  if (!files)
    return fail(context, files.error());
  driver::Session session(context.environment);
  int status = Done;
  for (const std::string &path : *files) {
    const Expected<Source> source = readSource(context, path);
    if (!source)
      status = std::max(status, fail(context, source.error()));
    else if (!session.check(source->name, source->text, redundant))
      status = std::max<int>(status, Mistakes);
  }
  const Diagnostics &found = session.diagnostics();
  report(context, found);
  const auto count = [&](Severity severity) {
    return std::ranges::count(found.sorted(), severity,
                              [](const Diagnostic *item) { return item->severity; });
  };
  std::string summary;
  for (const Severity severity : {Severity::Error, Severity::Warning, Severity::Remark})
    if (const auto number = static_cast<std::size_t>(count(severity)))
      summary += (summary.empty() ? "" : ", ") + counted(number, severityName(severity));
  if (status != Failed || !summary.empty())
    context.out << fmt::format("{}: {}\n", counted(files->size(), "file"),
                               summary.empty() ? "no mistakes" : summary);
  return status;
}

} // namespace flashqla::cli
