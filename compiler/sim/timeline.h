/// Who did what when, in one CTA: a row for each role and for each engine, spans on them.
///
/// A simulated timeline comes from running the kernel's protocol with costs (cost_model.h, timing.h). A measured one is
/// read from a GPU that ran the kernel's instrumented text. Both name their statements alike.
///
///     DecodedKernel kernel = decode(op);                               // lowered
///     StatementTable statements = statementsOf(kernel, files);
///     auto made = simulateTimeline(kernel.program, launch, statements, {.block = 3});
///     made->timeline.spans;                                            // timeline_output.h prints them
#pragma once

#include "compiler/ir/statement.h"
#include "compiler/sim/decode.h"
#include "compiler/sim/simulate.h"
#include "compiler/sim/timing.h"

namespace flashqla::sim {

struct Span {
  static constexpr uint32_t none = UINT32_MAX;
  uint32_t row = 0;
  uint32_t step = 0;             ///< in Timeline::steps
  Cycles begin = 0, end = 0;
  int64_t generation = -1;       ///< that a wait waits for, or a copy completes; -1: none, or unknown
  uint32_t cause = none;         ///< of a wait that waited: the step that completed the generation last
};

/// A statement of a role.
struct TimelineStep {
  std::string role;
  Statement statement;
  bool operator==(const TimelineStep &) const = default;
};

struct Timeline {
  struct Row {
    std::string name;
    bool engine = false;
    Cycles begin = 0, end = 0;   ///< of a role: its life
    double use = 0;              ///< of an engine: the part of the time for which it worked
  };
  std::string kernel, source;    ///< `source`: "simulated", "measured"
  int64_t block = 0, blocks = 0;
  Cycles cycles = 0;             ///< from the start of the CTA to the end of its last role
  std::vector<Row> rows;         ///< roles, then engines
  std::vector<TimelineStep> steps;
  std::vector<Span> spans;
  bool truncated = false;        ///< of a measured timeline: its end found no room
};

/// The statements of a kernel, and which one each place of the program belongs to.
struct StatementTable {
  std::vector<TimelineStep> steps;
  std::vector<uint32_t> ofPlace; ///< by Where; Span::none
};
StatementTable statementsOf(const DecodedKernel &kernel, const SourceFiles &files);

struct TimelineOptions {
  int64_t block = 0;
  int64_t resident = 1;          ///< CTAs that share the multiprocessor, as far as the grid has them
  Costs costs;
};
struct SimulatedTimeline {
  Timeline timeline;
  std::vector<Finding> findings;
};
/// Errors: sim-launch, which includes a block that the grid does not have.
Expected<SimulatedTimeline> simulateTimeline(const Program &program, SimLaunch &launch, const StatementTable &statements,
                                             const TimelineOptions &options);

} // namespace flashqla::sim
