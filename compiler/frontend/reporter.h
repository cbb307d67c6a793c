// Reports errors of the frontend. While a function is being inlined, its errors name the call.
#pragma once

#include "compiler/support/diagnostics.h"

#include <fmt/format.h>
#include <vector>

namespace flashqla::frontend {

class Reporter {
public:
  explicit Reporter(Diagnostics &diags) : diags(diags) {}

  DiagnosticBuilder error(DiagnosticKind kind, SourceRange range, std::string message) {
    DiagnosticBuilder builder = diags.error(kind, range, std::move(message));
    for (auto call = calls.rbegin(); call != calls.rend(); ++call)
      builder.note(fmt::format("in the call `{}`", call->text()), *call);
    return builder;
  }

  size_t errorCount() const { return diags.errorCount(); }

  void enter(SourceRange call) { calls.push_back(call); }
  void leave() { calls.pop_back(); }

private:
  Diagnostics &diags;
  std::vector<SourceRange> calls;
};

} // namespace flashqla::frontend
