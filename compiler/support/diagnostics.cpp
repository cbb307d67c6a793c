#include "compiler/support/diagnostics.h"

#include <algorithm>
#include <fmt/format.h>
#include <tuple>

namespace flashqla {

std::string_view severityName(Severity severity) {
  switch (severity) {
  case Severity::Error:
    return "error";
  case Severity::Warning:
    return "warning";
  case Severity::Remark:
    return "remark";
  }
  __builtin_unreachable();
}

// --------------------------------------------------------------------------------- registry

namespace {

constexpr DiagnosticInfo registry[] = {
#define FQ_DIAGNOSTIC(EnumName, name, severity, explanation)                                       \
  {DiagnosticKind::EnumName, name, Severity::severity, explanation},
#include "compiler/support/diagnostic_kinds.def"
};

} // namespace

std::span<const DiagnosticInfo> allDiagnostics() { return registry; }

const DiagnosticInfo &diagnosticInfo(DiagnosticKind kind) {
  return registry[static_cast<size_t>(kind)];
}

std::optional<DiagnosticKind> diagnosticNamed(std::string_view name) {
  for (const DiagnosticInfo &info : registry)
    if (info.name == name)
      return info.kind;
  return std::nullopt;
}

std::string diagnosticsMarkdown() {
  std::string out = "# Diagnostics\n\nGenerated from `compiler/support/diagnostic_kinds.def`.\n";
  for (const DiagnosticInfo &info : registry)
    out += fmt::format("\n## {}\n\n*{}.* {}\n", info.name, severityName(info.severity),
                       info.explanation);
  return out;
}

// ------------------------------------------------------------------------------------- sink

DiagnosticBuilder &DiagnosticBuilder::primary(std::string text) {
  sink.diagnostics[index].primary = std::move(text);
  return *this;
}

DiagnosticBuilder &DiagnosticBuilder::label(SourceRange range, std::string text) {
  sink.diagnostics[index].labels.push_back({range, std::move(text)});
  return *this;
}

DiagnosticBuilder &DiagnosticBuilder::note(std::string text, SourceRange range) {
  sink.diagnostics[index].notes.push_back({std::move(text), range});
  return *this;
}

DiagnosticBuilder &DiagnosticBuilder::help(std::string text) {
  sink.diagnostics[index].help = std::move(text);
  return *this;
}

DiagnosticBuilder Diagnostics::add(DiagnosticKind kind, Severity severity, SourceRange range,
                                   std::string message) {
  if (severity == Severity::Error)
    ++errors;
  diagnostics.push_back({kind, severity, range, std::move(message), {}, {}, {}, {}});
  return DiagnosticBuilder(*this, diagnostics.size() - 1);
}

DiagnosticBuilder Diagnostics::error(DiagnosticKind kind, SourceRange range, std::string message) {
  return add(kind, Severity::Error, range, std::move(message));
}

DiagnosticBuilder Diagnostics::warning(DiagnosticKind kind, SourceRange range,
                                       std::string message) {
  return add(kind, Severity::Warning, range, std::move(message));
}

DiagnosticBuilder Diagnostics::remark(DiagnosticKind kind, SourceRange range, std::string message) {
  return add(kind, Severity::Remark, range, std::move(message));
}

DiagnosticBuilder Diagnostics::report(DiagnosticKind kind, SourceRange range, std::string message) {
  return add(kind, diagnosticInfo(kind).severity, range, std::move(message));
}

namespace {

/// The text without its numbers, those in names apart. Other parameters, and other instances of a role, show the same
/// mistake with other numbers: of a place the first ones are enough.
std::string withoutNumbers(std::string_view text) {
  auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
  auto isName = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  std::string result;
  bool inName = false;
  for (const char c : text) {
    inName = isName(c) || (inName && isDigit(c));
    if (inName || !isDigit(c))
      result += c;
  }
  return result;
}

bool sameDiagnostic(const Diagnostic &a, const Diagnostic &b) {
  auto sameLabel = [](const Label &x, const Label &y) {
    return x.range == y.range && withoutNumbers(x.text) == withoutNumbers(y.text);
  };
  auto sameNote = [](const Note &x, const Note &y) {
    return x.range == y.range && withoutNumbers(x.text) == withoutNumbers(y.text);
  };
  return std::tie(a.kind, a.severity, a.range) == std::tie(b.kind, b.severity, b.range) &&
         withoutNumbers(a.message) == withoutNumbers(b.message) &&
         withoutNumbers(a.primary) == withoutNumbers(b.primary) && withoutNumbers(a.help) == withoutNumbers(b.help) &&
         std::ranges::equal(a.labels, b.labels, sameLabel) &&
         std::ranges::equal(a.notes, b.notes, sameNote);
}

bool comesBefore(const Diagnostic *a, const Diagnostic *b) {
  if (!a->range || !b->range)
    return a->range && !b->range;
  return std::tie(a->range.file->name(), a->range.begin, a->range.end) <
         std::tie(b->range.file->name(), b->range.begin, b->range.end);
}

} // namespace

std::vector<const Diagnostic *> Diagnostics::sorted() const {
  std::vector<const Diagnostic *> order;
  for (const Diagnostic &diagnostic : diagnostics)
    order.push_back(&diagnostic);
  std::ranges::stable_sort(order, comesBefore);

  std::vector<const Diagnostic *> result;
  size_t samePlace = 0; // where the diagnostics with the place of the newest one begin
  for (const Diagnostic *diagnostic : order) {
    if (!result.empty() && !(result.back()->range == diagnostic->range))
      samePlace = result.size();
    auto repeats = [&](const Diagnostic *other) { return sameDiagnostic(*other, *diagnostic); };
    if (std::none_of(result.begin() + samePlace, result.end(), repeats))
      result.push_back(diagnostic);
  }
  return result;
}

} // namespace flashqla
