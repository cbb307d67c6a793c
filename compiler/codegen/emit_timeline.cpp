/// What instrumented text has more than other text: records of when statements begin and end (timeline_sm90.cuh).
#include "compiler/codegen/emitter.h"
#include "compiler/ir/statement.h"

using namespace mlir;
using namespace flashqla::tile;

namespace flashqla::codegen {
namespace {

/// Of threads that record nothing: they count on from here.
constexpr const char *nowhere = "0x80000000";

} // namespace

void KernelEmitter::emitTimelineStart() {
  if (!options.instrument)
    return;
  instructions.needTimeline();
  out.line("const u32 {} = clock_cycles(), {} = {}[0];", timelineStart = freshName("timeline_start"),
           timelineBlock = freshName("timeline_block"), timelineName);
}

void KernelEmitter::beginTimeline(RoleOp op) {
  if (!options.instrument)
    return;
  const int64_t role = static_cast<int64_t>(result.timeline->roles.size());
  const int64_t first = ManifestTimeline::head + role * result.timeline->records;
  result.timeline->roles.push_back(op.getName().str());
  timelineEnd = first + result.timeline->records;
  timelineAt = freshName("timeline_at");
  timelineNow = freshName("timeline_now");
  out.line("u32 {} = {}elect_one() && blockIdx.x == {} ? {} : {};", timelineAt,
           op.isWarpgroup() ? "role_warp == 0 && " : "", timelineBlock, first, nowhere);
  out.line("u32 {} = {};", timelineNow, timelineStart);
  endStatement(ManifestTimeline::life);
}

void KernelEmitter::endTimeline() {
  if (options.instrument)
    endStatement(ManifestTimeline::life);
}

void KernelEmitter::beginStatement() {
  if (out.size() != timelineRecorded)
    out.line("{} = clock_cycles();", timelineNow);
}

void KernelEmitter::endStatement(int64_t code) {
  out.line("{} = timeline_record({}, {}, {}, {}, {});", timelineNow, timelineName, timelineAt, timelineEnd, code,
           timelineNow);
  timelineRecorded = out.size();
}

std::optional<int64_t> KernelEmitter::timedStep(Operation &op) {
  if (!options.instrument || !role)
    return std::nullopt;
  const std::optional<Statement> statement = statementOf(op, files);
  if (!statement || statement->kind == StatementKind::Arrive)
    return std::nullopt;
  ManifestTimeline::Step step{RoleOp(role).getName().str(), std::string(statementKindName(statement->kind)),
                              static_cast<int>(statement->line), statement->text};
  std::vector<ManifestTimeline::Step> &steps = result.timeline->steps;
  auto known = std::find(steps.begin(), steps.end(), step);
  const int64_t index = known - steps.begin();
  if (known == steps.end())
    steps.push_back(std::move(step));
  return ManifestTimeline::firstStep + index;
}

} // namespace flashqla::codegen
