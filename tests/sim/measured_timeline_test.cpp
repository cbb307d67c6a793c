// Records of a GPU as a timeline, and beside a simulated one.
#include "compiler/sim/measured_timeline.h"
#include "compiler/sim/timeline_output.h"
#include "runtime/manifest.h"

#include <gtest/gtest.h>

using namespace flashqla;
using namespace flashqla::sim;

namespace {

constexpr uint32_t life = ManifestTimeline::life;

Manifest manifestOfTwoRoles() {
  Manifest manifest;
  manifest.kernel = "ring";
  manifest.timeline.emplace();
  manifest.timeline->roles = {"load", "mma"};
  manifest.timeline->steps = {{"load", "copy", 7, "copy.tma a_s[k] <- a"}, {"mma", "wait", 9, "wait full[k]"}};
  return manifest;
}

std::vector<std::vector<TimelineRecord>> recordsOfTwoRoles(uint32_t start) {
  const auto at = [&](uint32_t begin, uint32_t end, uint32_t code) -> TimelineRecord {
    return {start + begin, start + end, code};
  };
  return {{at(3, 100, life), at(110, 140, 2), at(140, 180, 2), at(180, 200, life)},
          {at(0, 105, life), at(105, 900, 3), at(900, 950, life)}};
}

void expectTwoRoles(const Timeline &timeline) {
  EXPECT_EQ(timeline.cycles, 950);
  EXPECT_FALSE(timeline.truncated);
  ASSERT_EQ(timeline.rows.size(), 2u);
  EXPECT_EQ(timeline.rows[0].name, "load");
  EXPECT_EQ(timeline.rows[0].begin, 100);
  EXPECT_EQ(timeline.rows[0].end, 200);
  EXPECT_EQ(timeline.rows[1].begin, 105);
  ASSERT_EQ(timeline.spans.size(), 3u);
  EXPECT_EQ(timeline.spans[1].begin, 140);
  EXPECT_EQ(timeline.spans[1].end, 180);
  EXPECT_EQ(timeline.spans[2].row, 1u);
  EXPECT_EQ(timeline.steps[timeline.spans[2].step].statement.kind, StatementKind::Wait);
}

} // namespace

TEST(MeasuredTimeline, counts_from_the_first_warp_of_the_cta) {
  expectTwoRoles(measuredTimeline(manifestOfTwoRoles(), recordsOfTwoRoles(1000)));
}

TEST(MeasuredTimeline, the_clock_may_wrap_meanwhile) {
  for (const uint32_t start : {UINT32_MAX, UINT32_MAX - 1, UINT32_MAX - 130, UINT32_MAX / 2 - 120})
    expectTwoRoles(measuredTimeline(manifestOfTwoRoles(), recordsOfTwoRoles(start)));
}

TEST(MeasuredTimeline, says_that_its_end_found_no_room) {
  auto records = recordsOfTwoRoles(0);
  records[0].pop_back();
  const Timeline timeline = measuredTimeline(manifestOfTwoRoles(), records);
  EXPECT_TRUE(timeline.truncated);
  EXPECT_EQ(timeline.rows[0].end, 180);
  EXPECT_NE(timelineSummary(timeline).find("\nthe end is missing: records found no room\n"), std::string::npos);
}

TEST(MeasuredTimeline, stands_beside_a_simulated_one) {
  const Timeline measured = measuredTimeline(manifestOfTwoRoles(), recordsOfTwoRoles(0));
  Timeline simulated = measured;
  simulated.source = "simulated";
  simulated.steps.push_back({"load", {StatementKind::Await, "await copy.tma", 8}});
  simulated.rows.push_back({"copy in", /*engine=*/true});
  simulated.spans[2].end = 505;
  simulated.spans.push_back({2, 0, 0, 1000});
  simulated.spans.push_back({0, 2, 180, 190});
  EXPECT_EQ(timelineComparison(simulated, measured),
            "role  line  statement             times  simulated  measured\n"
            "load     7  copy.tma a_s[k] <- a      2         35        35\n"
            "load     8  await copy.tma            1         10         -\n"
            "mma      9  wait full[k]              1        400       795\n");
}
