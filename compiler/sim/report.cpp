#include "compiler/sim/report.h"

#include <fmt/format.h>

namespace flashqla::sim {
namespace {

DiagnosticKind diagnosticOf(FindingKind kind) {
  switch (kind) {
  case FindingKind::Race: return DiagnosticKind::Race;
  case FindingKind::MissingWait: return DiagnosticKind::MissingWait;
  case FindingKind::MissingSync: return DiagnosticKind::MissingSync;
  case FindingKind::MissingFence: return DiagnosticKind::MissingFence;
  case FindingKind::Unwritten: return DiagnosticKind::UnwrittenRead;
  case FindingKind::Aliasing: return DiagnosticKind::PhaseAliasing;
  case FindingKind::OverArrival: return DiagnosticKind::OverArrival;
  case FindingKind::SkippedArrival: return DiagnosticKind::ArrivalOrder;
  case FindingKind::LateCopy: return DiagnosticKind::CopyNoArrive;
  case FindingKind::CopyBytes: return DiagnosticKind::LoweringFault;
  case FindingKind::Deadlock: return DiagnosticKind::Deadlock;
  case FindingKind::AccumulatorInFlight: return DiagnosticKind::AccumulatorInFlight;
  case FindingKind::OperandInFlight: return DiagnosticKind::OperandInFlight;
  case FindingKind::NeverAwaited: return DiagnosticKind::NeverAwaited;
  case FindingKind::OutOfBounds: return DiagnosticKind::OutOfBounds;
  case FindingKind::BlockOverlap: return DiagnosticKind::BlockOverlap;
  case FindingKind::Lowering: return DiagnosticKind::LoweringFault;
  case FindingKind::Assertion: return DiagnosticKind::AssertionFailed;
  case FindingKind::DivisionByZero: return DiagnosticKind::DivisionByZero;
  case FindingKind::Endless:
  case FindingKind::Unbounded: return DiagnosticKind::StepLimit;
  }
  return DiagnosticKind::Race;
}

SourceRange rangeOf(Where where, const DecodedKernel &kernel, const SourceFiles &files) {
  return where == nowhere ? SourceRange() : files.range(kernel.places[where]);
}

} // namespace

void report(const SimResult &result, const DecodedKernel &kernel, const std::string &situation, const SourceFiles &files,
            Diagnostics &diags) {
  for (const Finding &finding : result.findings) {
    const DiagnosticKind kind = diagnosticOf(finding.kind);
    const SourceRange range = rangeOf(finding.where, kernel, files);
    bool known = false;
    for (const Diagnostic &earlier : diags.all())
      known |= earlier.kind == kind && earlier.range == range;
    if (known)
      continue;
    DiagnosticBuilder made = diags.report(kind, range, finding.message);
    if (!finding.primary.empty())
      made.primary(finding.primary);
    for (const Finding::Label &label : finding.labels)
      made.label(rangeOf(label.where, kernel, files), label.text);
    for (const std::string &note : finding.notes)
      made.note(note);
    made.note("found " + situation);
  }
}

void reportRedundantWaits(std::span<const SimResult> results, const DecodedKernel &kernel, const SourceFiles &files,
                          Diagnostics &diags) {
  std::map<Where, Machine::WaitCount> totals;
  for (const SimResult &result : results)
    for (const auto &[where, count] : result.waits) {
      totals[where].executed += count.executed;
      totals[where].implied += count.implied;
    }
  for (const auto &[where, count] : totals)
    if (count.executed > 0 && count.implied == count.executed)
      diags.report(DiagnosticKind::RedundantWait, rangeOf(where, kernel, files),
                   fmt::format("this wait is implied by others: executed {} times, it told the role nothing new",
                               count.executed));
}

void reportSingleRounds(std::span<const SimResult> results, const DecodedKernel &kernel, const SourceFiles &files,
                        Diagnostics &diags) {
  for (uint32_t index = 0; index < kernel.program.barriers.size(); ++index) {
    const BarrierObject &barrier = kernel.program.barriers[index];
    bool counted = false, again = false;
    for (const RoleProgram &role : kernel.program.roles)
      for (const Step &step : role.steps)
        counted |= step.kind == StepKind::Wait && step.barrier == index && step.generation.base;
    for (const SimResult &result : results)
      again |= result.rounds[index] > 1;
    if (counted && !again)
      diags.report(DiagnosticKind::CheckCoverage, rangeOf(barrier.where, kernel, files),
                   fmt::format("no case uses a slot of `{}` a second time", barrier.name))
          .help("add a `check` case in which the loop runs longer");
  }
}

} // namespace flashqla::sim
