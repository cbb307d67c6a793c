#include "compiler/driver/protocol.h"

#include "compiler/driver/case_launch.h"
#include "compiler/sim/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace flashqla::driver {
namespace {

/// Steps of a CTA after which a kernel counts as endless, and of all CTAs of a case after which no other one starts:
/// some seconds. Those of the tree make some ten thousand. A compile looks at what takes a tenth of a second, and so does
/// a run at another value of a dim.
constexpr int64_t checkSteps = 20'000'000, compileSteps = 500'000, probeSteps = 20'000;
/// Rings of coprime sizes would ask for very many trips.
constexpr int64_t mostTrips = 26;

using frontend::CheckCase;

/// Whether a table says where things begin: an integer tensor that starts at 0 and never falls.
bool isOffsets(const std::vector<int64_t> &table) {
  return table.size() >= 2 && table.front() == 0 && std::is_sorted(table.begin(), table.end());
}

class ProtocolChecker {
public:
  ProtocolChecker(tile::KernelOp kernel, const SourceFiles &files, Diagnostics &diags, const ProtocolCheck &options)
      : decoded(sim::decode(kernel)), files(files), diags(diags), options(options),
        rules(kernel), errorsBefore(diags.errorCount()) {}

  void check(const CheckCase &test);
  void finish();
  /// A mistake that other parameters have shown already is not reported again, and a mistake all the same.
  bool clean() const {
    return diags.errorCount() == errorsBefore &&
           std::ranges::all_of(results, [](const sim::SimResult &result) { return result.findings.empty(); });
  }

private:
  /// Something that steers how often loops run.
  struct Knob {
    std::string name;
    std::string table; ///< its last length; empty: a dim
    int64_t value;
  };
  std::set<sim::Where> loops() const;
  std::vector<Knob> knobs(const CheckCase &test) const;
  std::optional<CheckCase> turned(const CheckCase &test, const Knob &knob, int64_t value);
  std::optional<sim::SimResult> run(const CheckCase &test, int64_t blockLimit);
  std::vector<int64_t> unitsOf(const CheckCase &test, const Knob &knob);
  void explore(const CheckCase &test, const Knob &knob);
  const sim::SimResult *runTurned(const CheckCase &test, const Knob &knob, int64_t value);
  std::string situation(const CheckCase &test) const;

  sim::DecodedKernel decoded;
  const SourceFiles &files;
  Diagnostics &diags;
  const ProtocolCheck &options;
  CaseRules rules;
  const size_t errorsBefore;
  std::vector<sim::SimResult> results;
};

std::string ProtocolChecker::situation(const CheckCase &test) const {
  return (decoded.program.lowered ? "in the lowered kernel at " : "at ") + shapeText(test);
}

std::optional<sim::SimResult> ProtocolChecker::run(const CheckCase &test, int64_t blockLimit) {
  sim::SimLaunch launch = launchOf(test, decoded.program);
  launch.stepLimit = launch.totalLimit = blockLimit > 0 ? probeSteps : options.tolerant ? compileSteps : checkSteps;
  launch.blockLimit = blockLimit;
  Expected<sim::SimResult> result = sim::simulate(decoded.program, launch);
  if (!result) {
    if (!options.tolerant && blockLimit == 0) // a case that the author wrote
      diags.report(DiagnosticKind::CheckCase, test.range,
                   fmt::format("this case cannot be launched: {}", result.error().message));
    return std::nullopt;
  }
  if (options.tolerant)
    std::erase_if(result->findings, [](const sim::Finding &found) { return found.kind == sim::FindingKind::Unbounded; });
  return std::move(*result);
}

void ProtocolChecker::check(const CheckCase &test) {
  if (const std::string refusal = rules.refusal(test); !refusal.empty()) {
    if (!options.tolerant)
      diags.report(DiagnosticKind::CheckCase, test.range, refusal);
    return;
  }
  std::optional<sim::SimResult> result = run(test, 0);
  if (!result)
    return;
  sim::report(*result, decoded, situation(test), files, diags);
  if (!result->complete && !options.tolerant)
    diags.report(DiagnosticKind::StepLimit, test.range,
                 fmt::format("this case has {} CTAs and was given up after {} steps", result->blocks, result->steps))
        .help("smaller shapes find the same mistakes");
  results.push_back(std::move(*result));
  for (const Knob &knob : knobs(test))
    if (options.tripCounts && clean())
      explore(test, knob);
}

std::set<sim::Where> ProtocolChecker::loops() const {
  std::set<sim::Where> found;
  for (const sim::RoleProgram &role : decoded.program.roles)
    for (const sim::Step &step : role.steps)
      if (step.kind == sim::StepKind::LoopTest)
        found.insert(step.where);
  return found;
}

std::vector<ProtocolChecker::Knob> ProtocolChecker::knobs(const CheckCase &test) const {
  std::vector<Knob> found;
  if (loops().empty())
    return found;
  for (const auto &[name, value] : test.dims)
    for (const sim::LaunchValue &launch : decoded.program.launchValues)
      if (launch.kind == sim::LaunchValue::Dim && launch.name == name)
        found.push_back({name, {}, value});
  for (const auto &[name, table] : test.tables)
    if (isOffsets(table))
      found.push_back({fmt::format("the last length in {}", name), name, table.back() - table[table.size() - 2]});
  return found;
}

/// The case with another value of the knob, and of the dims that a `where` clause computes from it (`SLOTS == T/C + NS`);
/// nothing where the clauses forbid it.
std::optional<CheckCase> ProtocolChecker::turned(const CheckCase &test, const Knob &knob, int64_t value) {
  CheckCase changed = test;
  if (knob.table.empty()) {
    changed.dims[knob.name] = value;
  } else {
    std::vector<int64_t> &table = changed.tables[knob.table];
    const int64_t before = table.back();
    table.back() = table[table.size() - 2] + value;
    for (const sim::LaunchValue &launch : decoded.program.launchValues) // rows that the table names must exist
      if (launch.kind == sim::LaunchValue::Dim)
        if (int64_t &dim = changed.dims[launch.name]; dim >= before)
          dim = std::max(dim, table.back());
  }
  // What a table says must still hold: how many there are, and which one, unless it is offsets.
  if (knob.table.empty())
    for (const auto &[name, table] : test.tables)
      for (int64_t entry : table)
        if ((entry <= knob.value && entry > value) || (!isOffsets(table) && entry < knob.value && entry >= value))
          return std::nullopt;
  rules.follow(changed, knob.name);
  return rules.refusal(changed).empty() ? std::optional(changed) : std::nullopt;
}

/// How much of the knob an iteration of each of the loops takes that it steers, rounded up to powers of two: one loop may
/// go by rows, another by tiles of rows.
std::vector<int64_t> ProtocolChecker::unitsOf(const CheckCase &test, const Knob &knob) {
  constexpr int64_t more = 8;
  std::vector<int64_t> units;
  std::map<sim::Where, int64_t> low;
  std::set<sim::Where> reacted;
  if (const sim::SimResult *none = runTurned(test, knob, 0))
    low = none->trips;
  const std::set<sim::Where> all = loops();
  bool followed = true; // to the end of the run
  for (int64_t step = 1; step <= 1024 && followed && reacted != all && clean(); step *= 2)
    if (const sim::SimResult *far = runTurned(test, knob, more * step)) {
      followed = far->steps <= probeSteps;
      for (const auto &[loop, count] : far->trips)
        if (count >= low[loop] + more && reacted.insert(loop).second && (units.empty() || units.back() != step))
          units.push_back(step);
    }
  return units;
}

/// Null where the value is not allowed. What a run finds that is longer than it may be stands; that it is long is no
/// mistake.
const sim::SimResult *ProtocolChecker::runTurned(const CheckCase &test, const Knob &knob, int64_t value) {
  std::optional<CheckCase> changed = turned(test, knob, value);
  if (!changed)
    return nullptr;
  std::optional<sim::SimResult> result = run(*changed, 3);
  if (!result)
    return nullptr;
  std::erase_if(result->findings, [](const sim::Finding &found) { return found.kind == sim::FindingKind::Unbounded; });
  sim::report(*result, decoded, situation(*changed), files, diags);
  results.push_back(std::move(*result));
  return &results.back();
}

void ProtocolChecker::explore(const CheckCase &test, const Knob &knob) {
  int64_t period = 1;
  for (const sim::SharedObject &tile : decoded.program.shared)
    period = std::lcm(period, tile.slots);
  for (const sim::BarrierObject &barrier : decoded.program.barriers)
    period = std::lcm(period, barrier.slots);
  const int64_t wanted = std::min(2 * period + 1, mostTrips);
  for (int64_t unit : unitsOf(test, knob))
    for (int64_t trip = 0; trip <= wanted && clean(); ++trip) {
      runTurned(test, knob, trip * unit);
      if (unit > 1)
        runTurned(test, knob, trip * unit + unit / 2 + (unit > 2 ? 1 : 0));
    }
}

void ProtocolChecker::finish() {
  if (options.redundant)
    sim::reportRedundantWaits(results, decoded, files, diags);
  if (options.tripCounts && clean() && !decoded.program.lowered)
    sim::reportSingleRounds(results, decoded, files, diags);
}

} // namespace

bool checkProtocol(tile::KernelOp kernel, const std::vector<CheckCase> &cases, const SourceFiles &files,
                   Diagnostics &diags, const ProtocolCheck &options) {
  ProtocolChecker checker(kernel, files, diags, options);
  for (const CheckCase &test : cases)
    checker.check(test);
  checker.finish();
  return checker.clean();
}

} // namespace flashqla::driver
