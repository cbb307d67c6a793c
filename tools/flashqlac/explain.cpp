#include "compiler/frontend/scope.h"
#include "tools/flashqlac/verbs.h"

#include <fmt/format.h>

#include <ostream>
#include <sstream>

namespace flashqla::cli {

namespace {

constexpr std::size_t pageColumns = 80;

std::string wrapped(std::string_view text) {
  std::istringstream words{std::string(text)};
  std::string page, word;
  std::size_t column = 0;
  while (words >> word) {
    if (column != 0 && column + 1 + word.size() > pageColumns) {
      page += '\n';
      column = 0;
    }
    if (column != 0) {
      page += ' ';
      ++column;
    }
    page += word;
    column += word.size();
  }
  return page + "\n";
}

} // namespace

int explainVerb(Context &context, std::string name) {
  if (name.starts_with('[') && name.ends_with(']')) // as diagnostics show it
    name = name.substr(1, name.size() - 2);
  if (name.empty()) {
    for (const DiagnosticInfo &info : allDiagnostics())
      context.out << fmt::format("{:<8} {}\n", severityName(info.severity), info.name);
    return Done;
  }
  if (const std::optional<DiagnosticKind> kind = diagnosticNamed(name)) {
    const DiagnosticInfo &info = diagnosticInfo(*kind);
    context.out << fmt::format("{} ({})\n\n{}", info.name, severityName(info.severity),
                               wrapped(info.explanation));
    return Done;
  }
  std::vector<std::string> names;
  for (const DiagnosticInfo &info : allDiagnostics())
    names.emplace_back(info.name);
  Error error = usageError(fmt::format("`{}` is no diagnostic of kernels", name));
  if (const std::string close = frontend::closestName(name, names); !close.empty())
    error.notes.push_back(fmt::format("did you mean `{}`?", close));
  error.notes.emplace_back("`flashqlac explain` lists them all; errors of files, launches and the "
                           "command line have no more to say");
  return fail(context, error);
}

} // namespace flashqla::cli
