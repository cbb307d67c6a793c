// The arithmetic of time with round costs, and what a map is made of.
#include "compiler/sim/cost_model.h"
#include "compiler/sim/map_cost.h"
#include "compiler/sim/timing.h"

#include <gtest/gtest.h>

using namespace flashqla;
using namespace flashqla::sim;

namespace {

Costs roundCosts() {
  Costs costs;
  costs.wait = costs.arrive = costs.await = costs.copyIssue = costs.productIssue = costs.productInstruction = 1;
  costs.wake = 2;
  costs.copyRate = costs.storeRate = 10;
  costs.copyLatency = 100;
  costs.storeReadLatency = 50;
  costs.storeLatency = 200;
  costs.productLatency = 5;
  costs.productQueue = 100;
  return costs;
}

void expect(Period period, Cycles begin, Cycles end) {
  EXPECT_EQ(period.begin, begin);
  EXPECT_EQ(period.end, end);
}

} // namespace

TEST(Timing, ring_of_two) {
  const Costs costs = roundCosts();
  Engines engines;
  Timing timing(costs, engines, 2, 2);
  enum { Load, Mma };
  enum { Full, Empty };
  constexpr Timing::Cause copied = 7, released = 8;
  const auto fill = [&](int64_t k) {
    const Timing::Issued issued = timing.load(Load, Full, k, /*bytes=*/100, copied);
    timing.arrive(Load, Full, k, 9);
    return issued;
  };
  const auto use = [&](int64_t k) {
    const Timing::Waited waited = timing.wait(Mma, Full, k);
    timing.product(Mma, /*instructions=*/1, /*tensorCycles=*/50);
    timing.awaitProducts(Mma, 0);
    timing.arrive(Mma, Empty, k, released);
    return waited;
  };
  // The first two need no permission. The second waits for the engine, not for the first one's landing.
  expect(timing.wait(Load, Empty, -2).period, 0, 1);
  const Timing::Issued first = fill(0);
  expect(first.role, 1, 2);
  expect(first.engine, 2, 12);
  EXPECT_EQ(first.complete, 112);
  timing.wait(Load, Empty, -1);
  expect(fill(1).engine, 12, 22);
  EXPECT_EQ(timing.now(Load), 6);

  const Timing::Waited landed = use(0);
  expect(landed.period, 0, 114);
  EXPECT_EQ(landed.cause, copied); // it came later than the arrival
  EXPECT_EQ(timing.now(Mma), 172); // issue to 116, tensor core to 166, awaited at 171, arrival
  const Timing::Waited second = use(1);
  expect(second.period, 172, 173);
  EXPECT_EQ(second.cause, Timing::noCause); // it had landed

  const Timing::Waited freed = timing.wait(Load, Empty, 0);
  expect(freed.period, 6, 174);
  EXPECT_EQ(freed.cause, released);
  expect(fill(2).engine, 175, 185);
  EXPECT_EQ(engines.copyIn.busy(), 30);
  EXPECT_EQ(engines.tensor.busy(), 100);
}

TEST(Timing, roles_share_the_tensor_cores) {
  const Costs costs = roundCosts();
  Engines engines;
  Timing timing(costs, engines, 2, 0);
  expect(timing.product(0, 4, 100).engine, 2, 102);
  const Timing::Issued behind = timing.product(1, 4, 100);
  expect(behind.role, 0, 5);
  expect(behind.engine, 102, 202);
  // All but the newest: the first is complete by then.
  timing.product(0, 4, 100);
  expect(timing.awaitProducts(0, 1), 10, 107);
  expect(timing.awaitProducts(1, 0), 5, 207);
  expect(timing.awaitProducts(0, 0), 107, 307);
}

TEST(Timing, groups_of_stores_are_read_before_they_are_complete) {
  const Costs costs = roundCosts();
  Engines engines;
  Timing timing(costs, engines, 1, 0);
  timing.store(0, 100);
  timing.store(0, 100);
  timing.commitStores(0);
  timing.store(0, 100);
  timing.commitStores(0);
  EXPECT_EQ(timing.now(0), 3);
  expect(timing.awaitStores(0, 1, /*read=*/true), 3, 71); // issued to 1, the engine works to 21
  expect(timing.awaitStores(0, 0, /*read=*/true), 71, 81);
  expect(timing.awaitStores(0, 1, /*read=*/false), 81, 221);
  expect(timing.awaitStores(0, 0, /*read=*/false), 221, 231);
  expect(timing.awaitStores(0, 0, /*read=*/false), 231, 232); // nothing in flight
}

TEST(Timing, arithmetic_is_shared_where_it_is_full) {
  const Costs costs = roundCosts();
  Engines engines;
  Timing timing(costs, engines, 3, 0);
  expect(timing.work(0, {100, 40}), 0, 100);
  expect(timing.work(1, {100, 40}), 0, 100); // room for both
  expect(timing.work(2, {100, 40}), 0, 120); // not for three
}

TEST(Timing, roles_share_the_way_to_global_memory) {
  const Costs costs = roundCosts();
  Engines engines;
  Timing timing(costs, engines, 3, 0);
  expect(timing.work(0, {.cycles = 10, .global = 40, .latency = 600}), 0, 640);
  expect(timing.work(1, {.cycles = 100, .global = 40, .latency = 600}), 0, 700);
  expect(timing.work(2, {.cycles = 10, .global = 40}), 0, 10); // a store, which goes on by itself
}

TEST(Timing, products_are_issued_as_far_as_there_is_room) {
  Costs costs = roundCosts();
  costs.productQueue = 2;
  Engines engines;
  Timing timing(costs, engines, 2, 0);
  const Timing::Issued first = timing.product(0, 8, 800);
  expect(first.engine, 2, 802);
  expect(first.role, 0, 602);
  expect(timing.product(1, 2, 100).role, 0, 3); // all of it waits in the queue
}

TEST(Timing, fractions_are_rounded_up) {
  const Costs costs = roundCosts();
  Engines engines;
  Timing timing(costs, engines, 1, 0);
  expect(timing.spend(0, 1.2), 0, 2);
  expect(timing.spend(0, 3.0), 2, 5);
}

TEST(Costs, are_replaced_by_name) {
  Costs costs;
  ASSERT_TRUE(readCosts(R"({"copyLatency": 123, "wait": 4.5})", costs));
  EXPECT_EQ(costs.copyLatency, 123);
  EXPECT_EQ(costs.wait, 4.5);
  Costs again;
  ASSERT_TRUE(readCosts(writeCosts(costs), again));
  EXPECT_EQ(writeCosts(again), writeCosts(costs));
  for (const auto &[json, code] : {std::pair("[1]", "costs-syntax"), std::pair("{", "costs-syntax"),
                                   std::pair(R"({"latency": 1})", "costs-field"),
                                   std::pair(R"({"wait": "1"})", "costs-field"),
                                   std::pair(R"({"wait": 0})", "costs-field")}) {
    const Expected<void> read = readCosts(json, costs);
    ASSERT_FALSE(read) << json;
    EXPECT_EQ(read.error().code, code) << json;
  }
}

TEST(MapCost, the_longest_of_issue_functions_and_memory) {
  Costs costs;
  costs.mapStart = 10;
  costs.instruction = 2;
  costs.specialRate = 16;
  costs.sharedRate = 128;
  costs.globalRate = 32;
  costs.globalLatency = 600;
  MapWork work;
  work.points = 64 * 128;
  work.operations = work.points; // one a point, 64 a thread of a warpgroup
  EXPECT_EQ(costOf(work, 4, costs).cycles, 10 + 64 * 2);
  EXPECT_EQ(costOf(work, 4, costs).share, 64 * 2);
  EXPECT_EQ(costOf(work, 8, costs).cycles, 10 + 32 * 2 * 2); // two warps on each scheduler
  EXPECT_EQ(costOf(work, 1, costs).cycles, 10 + 256 * 2);
  work.special = work.points;
  EXPECT_EQ(costOf(work, 4, costs).cycles, 10 + 512);
  work.sharedBytes = 128 * 1000;
  EXPECT_EQ(costOf(work, 4, costs).cycles, 10 + 1000);
  EXPECT_EQ(costOf(work, 4, costs).global, 0);
  work.storedBytes = 32 * 2000;
  EXPECT_EQ(costOf(work, 4, costs).global, 2000);
  EXPECT_EQ(costOf(work, 4, costs).latency, 0);
  work.loadedBytes = 32 * 2000;
  EXPECT_EQ(costOf(work, 4, costs).global, 4000);
  EXPECT_EQ(costOf(work, 4, costs).latency, 600);
  EXPECT_EQ(costOf(work, 4, costs).cycles, 10 + 1000);
}
