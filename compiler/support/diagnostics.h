// Errors, warnings and remarks about `.tile` text.
//
// Whoever notices a mistake reports it at once, with the narrowest range and a sentence; messages
// are formatted at the call site with fmt, so that the compiler checks their arguments. Everything
// else is optional:
//
//   diags.error(DiagnosticKind::MatmulShape, b.range,
//               fmt::format("shapes do not multiply: [{}] @ [{}]", aShape, bShape))
//       .primary(fmt::format("K is {} here", kOfB))       // the text beside the carets
//       .label(a.range, fmt::format("K is {} here", kOfA))
//       .help(fmt::format("`{}.T` is [{}]", b.range.text(), transposed));
//
// The kinds live in diagnostic_kinds.def. Nothing is printed here: render.h turns diagnostics into
// text or JSON.
#pragma once

#include "compiler/support/source.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flashqla {

enum class Severity { Error, Warning, Remark };

/// `error`, `warning`, `remark`.
std::string_view severityName(Severity severity);

enum class DiagnosticKind {
#define FQ_DIAGNOSTIC(EnumName, name, severity, explanation) EnumName,
#include "compiler/support/diagnostic_kinds.def"
};

/// What diagnostic_kinds.def says about a kind.
struct DiagnosticInfo {
  DiagnosticKind kind;
  std::string_view name; ///< `matmul-shape`
  Severity severity;
  std::string_view explanation; ///< one paragraph for `flashqlac explain`
};

/// All kinds in the order of the registry.
std::span<const DiagnosticInfo> allDiagnostics();
const DiagnosticInfo &diagnosticInfo(DiagnosticKind kind);

/// The kind of that kebab-case name; nothing if there is none.
std::optional<DiagnosticKind> diagnosticNamed(std::string_view name);

/// docs/diagnostics.md: one section per kind, in the order of the registry.
std::string diagnosticsMarkdown();

/// A text beside a place.
struct Label {
  SourceRange range;
  std::string text;
};

/// A sentence below the source lines; `range`, where given, is shown as `file:line:column`.
struct Note {
  std::string text; ///< may have several lines; the renderer indents them
  SourceRange range;
};

struct Diagnostic {
  DiagnosticKind kind;
  Severity severity;
  SourceRange range; ///< may be absent: an error about no place
  std::string message;
  std::string primary; ///< text beside the carets; may be empty
  std::vector<Label> labels;
  std::vector<Note> notes;
  std::string help; ///< the one right thing to do; may be empty
};

class Diagnostics;

/// Adds to the diagnostic that was just reported. Used within the reporting expression only.
class DiagnosticBuilder {
public:
  DiagnosticBuilder &primary(std::string text);
  DiagnosticBuilder &label(SourceRange range, std::string text);
  DiagnosticBuilder &note(std::string text, SourceRange range = {});
  DiagnosticBuilder &help(std::string text);

private:
  friend class Diagnostics;
  DiagnosticBuilder(Diagnostics &sink, size_t index) : sink(sink), index(index) {}

  Diagnostics &sink;
  size_t index;
};

/// The sink. Not thread-safe; a compile has one.
class Diagnostics {
public:
  Diagnostics() = default;
  Diagnostics(const Diagnostics &) = delete;
  Diagnostics &operator=(const Diagnostics &) = delete;

  DiagnosticBuilder error(DiagnosticKind kind, SourceRange range, std::string message);
  DiagnosticBuilder warning(DiagnosticKind kind, SourceRange range, std::string message);
  DiagnosticBuilder remark(DiagnosticKind kind, SourceRange range, std::string message);

  /// With the severity that the registry gives the kind.
  DiagnosticBuilder report(DiagnosticKind kind, SourceRange range, std::string message);

  bool hasErrors() const { return errorCount() != 0; }
  size_t errorCount() const { return errors; }

  /// In the order in which they were reported.
  std::span<const Diagnostic> all() const { return diagnostics; }

  /// By file name, then place, then order of reporting; those without a place come last.
  /// Repetitions are left out: a kernel that is checked for several instantiations, and a role with
  /// several instances (`w[0]`, `w[1]`), say the same thing once.
  std::vector<const Diagnostic *> sorted() const;

private:
  friend class DiagnosticBuilder;
  DiagnosticBuilder add(DiagnosticKind kind, Severity severity, SourceRange range,
                        std::string message);

  std::vector<Diagnostic> diagnostics;
  size_t errors = 0;
};

} // namespace flashqla
