// The machine without kernels: what each rule reports, and that right protocols pass.
#include "compiler/sim/machine.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>

using namespace flashqla::sim;

namespace {

const Region tile = Region::box({{0, 64}, {0, 64}});

/// Roles as lists of actions; an action that returns false is tried again.
class Script {
public:
  explicit Script(bool fences = false) : machine({.fences = fences}) {}

  Machine::RoleId role(std::string name, bool lane = false) {
    actions.emplace_back();
    waiting.emplace_back();
    return machine.addRole(std::move(name), lane);
  }
  void step(Machine::RoleId role, std::function<bool()> action) { actions[role].push_back(std::move(action)); }
  void act(Machine::RoleId role, std::function<void()> action) {
    step(role, [action = std::move(action)] { return action(), true; });
  }
  void wait(Machine::RoleId role, Machine::BarrierId barrier, int64_t generation, Where where = 0) {
    step(role, [=, this] {
      waiting[role] = {role, barrier, generation, where};
      return machine.wait(role, barrier, generation, where);
    });
  }
  void arrive(Machine::RoleId role, Machine::BarrierId barrier, int64_t generation, Where where = 0) {
    act(role, [=, this] { machine.arrive(role, barrier, generation, where); });
  }
  void load(Machine::RoleId role, Machine::TileId t, Machine::BarrierId barrier, int64_t generation, Where where = 0) {
    act(role, [=, this] { machine.bulkLoad(role, {t, generation, tile}, nullptr, barrier, generation, 0, where); });
  }
  void read(Machine::RoleId role, Machine::TileId t, int64_t generation, Where where = 0) {
    act(role, [=, this] { machine.read(role, {t, generation, tile}, where); });
  }
  void write(Machine::RoleId role, Machine::TileId t, int64_t generation, Where where = 0) {
    act(role, [=, this] { machine.write(role, {t, generation, tile}, where); });
  }
  void product(Machine::RoleId role, Machine::TileId t, int64_t generation, Where where = 0) {
    act(role, [=, this] {
      const Machine::Window operand{t, generation, tile};
      machine.product(role, {&operand, 1}, where);
    });
  }

  /// Runs roles in an order that `seed` chooses, one action at a time.
  void run(unsigned seed = 0) {
    machine.start();
    std::vector<size_t> next(actions.size());
    unsigned state = seed * 2654435761u + 1;
    for (size_t idle = 0; idle < actions.size() && !machine.stopped();) {
      state = state * 1664525u + 1013904223u;
      const size_t role = seed ? (state >> 16) % actions.size() : idle;
      bool moved = next[role] < actions[role].size() && actions[role][next[role]]();
      next[role] += moved;
      idle = moved ? 0 : idle + 1;
      if (seed && !moved) // look at the others before giving up
        for (size_t other = 0; other < actions.size() && !moved; ++other)
          if (next[other] < actions[other].size() && actions[other][next[other]]()) {
            ++next[other];
            moved = true;
            idle = 0;
          }
    }
    std::vector<Machine::Blocked> blocked;
    for (size_t role = 0; role < actions.size(); ++role)
      if (next[role] < actions[role].size())
        blocked.push_back(waiting[role]);
    if (machine.stopped())
      return;
    if (!blocked.empty())
      return machine.deadlock(blocked);
    for (Machine::RoleId role = 0; role < actions.size(); ++role)
      machine.finishRole(role, nowhere);
    machine.finish();
  }
  std::vector<FindingKind> kinds() const {
    std::vector<FindingKind> result;
    for (const Finding &finding : machine.findings())
      result.push_back(finding.kind);
    return result;
  }

  Machine machine;

private:
  std::vector<std::deque<std::function<bool()>>> actions;
  std::vector<Machine::Blocked> waiting;
};

using Kinds = std::vector<FindingKind>;

/// A producer and a consumer of a ring of bulk loads, read by products.
struct Pipeline {
  int64_t slots = 2, trips = 7, waitsBehind = 2;
  bool awaits = true, releases = true, waitsForEmpty = true, waitsForFull = true;

  Kinds run(unsigned seed = 0) const {
    Script script;
    auto load = script.role("load"), mma = script.role("mma");
    auto a = script.machine.addTile("a_s", slots, true);
    auto full = script.machine.addBarrier("full", slots, std::array{load});
    auto empty = script.machine.addBarrier("empty", slots, std::array{mma});
    for (int64_t k = 0; k < trips; ++k) {
      if (waitsForEmpty)
        script.wait(load, empty, k - waitsBehind, 1);
      script.load(load, a, full, k, 2);
      script.arrive(load, full, k, 3);
      if (waitsForFull)
        script.wait(mma, full, k, 4);
      script.product(mma, a, k, 5);
      if (awaits)
        script.act(mma, [&script, mma] { script.machine.awaitProducts(mma, 0); });
      if (releases)
        script.arrive(mma, empty, k, 6);
    }
    if (!awaits)
      script.act(mma, [&script, mma] { script.machine.awaitProducts(mma, 0); });
    script.run(seed);
    return script.kinds();
  }
};

} // namespace

TEST(Machine, a_ring_of_loads_is_clean_in_every_schedule) {
  for (int64_t slots : {1, 2, 3, 4})
    for (int64_t trips : {0, 1, 2, 9})
      for (unsigned seed = 0; seed < 20; ++seed)
        EXPECT_EQ((Pipeline{.slots = slots, .trips = trips, .waitsBehind = slots}.run(seed)), Kinds{});
}

TEST(Machine, a_mistake_is_found_in_every_schedule) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    EXPECT_EQ((Pipeline{.awaits = false}.run(seed)), Kinds{FindingKind::Race}) << "released while a product reads";
    EXPECT_EQ((Pipeline{.releases = false}.run(seed)), Kinds{FindingKind::Deadlock});
    EXPECT_EQ((Pipeline{.waitsForEmpty = false}.run(seed)).back(), FindingKind::OverArrival);
    EXPECT_FALSE((Pipeline{.waitsForFull = false}.run(seed)).empty());
    EXPECT_EQ((Pipeline{.waitsBehind = 4}.run(seed)), Kinds{FindingKind::Aliasing}) << "a ring too late";
    EXPECT_EQ((Pipeline{.waitsBehind = 1}.run(seed)), Kinds{}) << "a ring that is never full";
    EXPECT_EQ((Pipeline{.waitsBehind = 0}.run(seed)), Kinds{FindingKind::Deadlock});
  }
}

TEST(Machine, a_role_waits_for_a_copy_itself) {
  Script script;
  auto load = script.role("load"), first = script.role("first"), second = script.role("second");
  auto a = script.machine.addTile("a_s", 1, false);
  auto full = script.machine.addBarrier("full", 1, std::array{load});
  auto told = script.machine.addBarrier("told", 1, std::array{first});
  script.load(load, a, full, 0);
  script.arrive(load, full, 0);
  script.wait(first, full, 0);
  script.arrive(first, told, 0);
  script.wait(second, told, 0);
  script.read(second, a, 0, 7);
  script.run();
  EXPECT_EQ(script.kinds(), Kinds{FindingKind::MissingWait});
}

TEST(Machine, writes_by_threads_are_passed_on_through_a_third_role) {
  Script script;
  auto writer = script.role("writer"), relay = script.role("relay"), reader = script.role("reader");
  auto a = script.machine.addTile("a_s", 1, false);
  auto one = script.machine.addBarrier("one", 1, std::array{writer});
  auto two = script.machine.addBarrier("two", 1, std::array{relay});
  script.write(writer, a, 0);
  script.arrive(writer, one, 0);
  script.wait(relay, one, 0);
  script.arrive(relay, two, 0);
  script.wait(reader, two, 0);
  script.read(reader, a, 0);
  script.run();
  EXPECT_EQ(script.kinds(), Kinds{});
}

TEST(Machine, an_asynchronous_access_needs_a_fence_on_its_way) {
  enum Place { None, BeforeWrite, Writer, WithoutSync, Reader };
  auto run = [](Place place) {
    Script script(/*fences=*/true);
    auto writer = script.role("writer"), mma = script.role("mma");
    auto a = script.machine.addTile("a_s", 1, false);
    auto ready = script.machine.addBarrier("ready", 1, std::array{writer});
    auto fence = [&](auto role) { script.act(role, [&script, role] { script.machine.fence(role, /*tensors=*/false); }); };
    if (place == BeforeWrite)
      fence(writer);
    script.write(writer, a, 0);
    if (place == Writer)
      fence(writer);
    script.arrive(writer, ready, 0);
    script.wait(mma, ready, 0);
    if (place == Reader || place == WithoutSync)
      fence(mma);
    if (place == Reader)
      script.act(mma, [&script, mma] { script.machine.sync(mma); });
    script.product(mma, a, 0);
    script.act(mma, [&script, mma] { script.machine.awaitProducts(mma, 0); });
    script.run();
    return script.kinds();
  };
  EXPECT_EQ(run(None), Kinds{FindingKind::MissingFence});
  EXPECT_EQ(run(BeforeWrite), Kinds{FindingKind::MissingFence});
  EXPECT_EQ(run(WithoutSync), Kinds{FindingKind::MissingFence});
  EXPECT_EQ(run(Writer), Kinds{});
  EXPECT_EQ(run(Reader), Kinds{});
}

TEST(Machine, a_fence_of_tiles_does_not_cover_tensors) {
  for (bool tensors : {false, true}) {
    Script script(/*fences=*/true);
    auto work = script.role("work");
    auto a = script.machine.addTile("a_s", 1, false);
    auto y = script.machine.addTensor("y");
    auto full = script.machine.addBarrier("full", 1, std::array{work});
    script.write(work, y, 0, 1);
    script.act(work, [&script, work, tensors] {
      script.machine.fence(work, tensors);
      script.machine.sync(work);
    });
    script.act(work, [&script, work, a, y, full] {
      const Machine::Window source{y, 0, tile};
      script.machine.bulkLoad(work, {a, 0, tile}, &source, full, 0, 0, 2);
    });
    script.arrive(work, full, 0);
    script.wait(work, full, 0);
    script.run();
    EXPECT_EQ(script.kinds(), tensors ? Kinds{} : Kinds{FindingKind::MissingFence});
  }
}

TEST(Machine, reads_of_another_generation_are_unwritten) {
  Script script;
  auto work = script.role("work");
  auto a = script.machine.addTile("a_s", 2, true);
  script.write(work, a, 0);
  script.read(work, a, 0);
  script.read(work, a, 2, 8);
  script.read(work, a, 1, 9);
  script.run();
  EXPECT_EQ(script.kinds(), (Kinds{FindingKind::Unwritten, FindingKind::Unwritten}));
}

TEST(Machine, halves_of_a_tile_belong_to_two_roles) {
  Script script;
  auto left = script.role("left"), right = script.role("right");
  auto a = script.machine.addTile("a_s", 1, false);
  for (auto role : {left, right})
    script.act(role, [&script, role, a] {
      script.machine.write(role, {a, 0, Region::box({{0, 64}, {32 * role, 32 * role + 32}})}, 0);
    });
  script.read(left, a, 0, 5);
  script.run();
  EXPECT_EQ(script.kinds().back(), FindingKind::Race) << "the read of both halves, not the writes";
}

TEST(Machine, two_arrivals_and_skipped_ones) {
  auto run = [](std::vector<int64_t> arrivals) {
    Script script;
    auto work = script.role("work");
    auto b = script.machine.addBarrier("b", 2, std::array{work});
    for (int64_t generation : arrivals)
      script.arrive(work, b, generation);
    script.run();
    return script.kinds();
  };
  EXPECT_EQ(run({0, 1, 2, 3, 4}), Kinds{});
  EXPECT_EQ(run({0, 0}), Kinds{FindingKind::OverArrival});
  EXPECT_EQ(run({2}), Kinds{FindingKind::SkippedArrival});
  EXPECT_EQ(run({-1, 0}), Kinds{});
}

TEST(Machine, an_arriver_may_not_run_a_ring_ahead_of_another) {
  Script script;
  auto fast = script.role("fast"), slow = script.role("slow");
  auto b = script.machine.addBarrier("b", 1, std::array{fast, slow});
  for (int64_t generation : {0, 1}) {
    script.arrive(slow, b, generation);
    script.arrive(fast, b, generation);
  }
  script.run();
  EXPECT_EQ(script.kinds(), Kinds{FindingKind::OverArrival});
}

TEST(Machine, a_wait_may_be_overtaken) {
  Script script;
  auto producer = script.role("producer"), consumer = script.role("consumer");
  auto b = script.machine.addBarrier("b", 1, std::array{producer});
  for (int64_t generation = 0; generation < 3; ++generation)
    script.arrive(producer, b, generation);
  for (int64_t generation = 0; generation < 3; ++generation)
    script.wait(consumer, b, generation);
  script.run();
  EXPECT_EQ(script.kinds(), Kinds{FindingKind::Aliasing});
}

TEST(Machine, stores_are_awaited_before_their_tile_is_written_again) {
  for (bool read : {false, true})
    for (bool awaits : {false, true}) {
      Script script;
      auto work = script.role("work");
      auto a = script.machine.addTile("a_s", 1, false);
      auto y = script.machine.addTensor("y");
      for (int64_t i = 0; i < 3; ++i) {
        script.act(work, [&script, work] { script.machine.sync(work); });
        script.write(work, a, 0, 1);
        script.act(work, [&script, work] { script.machine.sync(work); });
        script.act(work, [&script, work, a, y, i] {
          script.machine.bulkStore(work, {a, 0, tile}, {y, 0, Region::box({{64 * i, 64 * i + 64}, {0, 64}})}, 2);
          script.machine.commitStores(work);
        });
        if (awaits)
          script.act(work, [&script, work, read] { script.machine.awaitStores(work, 0, read); });
      }
      script.act(work, [&script, work] { script.machine.awaitStores(work, 0, true); });
      script.run();
      EXPECT_EQ(script.kinds(), awaits ? Kinds{} : Kinds{FindingKind::Race});
    }
}

TEST(Machine, a_load_reads_its_tensor_until_it_has_landed) {
  for (bool waits : {false, true}) {
    Script script;
    auto work = script.role("work");
    auto a = script.machine.addTile("a_s", 1, false);
    auto y = script.machine.addTensor("y");
    auto full = script.machine.addBarrier("full", 1, std::array{work});
    script.act(work, [&script, work, a, y, full] {
      const Machine::Window source{y, 0, tile};
      script.machine.bulkLoad(work, {a, 0, tile}, &source, full, 0, 0, 1);
    });
    script.arrive(work, full, 0);
    if (waits)
      script.wait(work, full, 0);
    script.write(work, y, 0, 2);
    if (!waits)
      script.wait(work, full, 0);
    script.run();
    EXPECT_EQ(script.kinds(), waits ? Kinds{} : Kinds{FindingKind::Race});
  }
}

TEST(Machine, a_generation_that_is_overwritten_is_gone) {
  for (int64_t asked : {0, 2}) {
    Script script;
    auto work = script.role("work");
    auto a = script.machine.addTile("a_s", 2, true);
    const Region half = Region::box({{0, 32}, {0, 64}}), rest = Region::box({{32, 64}, {0, 64}});
    auto sync = [&] { script.act(work, [&script, work] { script.machine.sync(work); }); };
    script.write(work, a, 0);
    sync();
    script.act(work, [=, &script] { script.machine.write(work, {a, 2, half}, 1); });
    sync();
    script.act(work, [=, &script] { script.machine.read(work, {a, 2 - asked, asked ? half : rest}, 2); });
    script.act(work, [=, &script] { script.machine.read(work, {a, asked, asked ? half : rest}, 3); });
    script.run();
    EXPECT_EQ(script.kinds(), Kinds{FindingKind::Unwritten});
  }
}

TEST(Machine, threads_of_a_role_are_apart_until_they_meet) {
  enum Between { Nothing, Sync, Chain };
  auto run = [](Between between, bool firstWrites, bool secondWrites) {
    Script script;
    auto work = script.role("work"), other = script.role("other");
    auto a = script.machine.addTile("a_s", 1, false);
    auto there = script.machine.addBarrier("there", 1, std::array{work});
    auto back = script.machine.addBarrier("back", 1, std::array{other});
    auto statement = [&] { script.act(work, [&script, work] { script.machine.statement(work); }); };
    auto sync = [&] { script.act(work, [&script, work] { script.machine.sync(work); }); };
    script.write(work, a, 0);
    sync();
    statement();
    firstWrites ? script.write(work, a, 0, 1) : script.read(work, a, 0, 1);
    if (between == Sync)
      sync();
    if (between == Chain) {
      script.arrive(work, there, 0);
      script.wait(other, there, 0);
      script.arrive(other, back, 0);
      script.wait(work, back, 0);
    }
    statement();
    script.read(work, a, 0, 2); // the points of a map read what they write
    if (secondWrites)
      script.write(work, a, 0, 3);
    script.run();
    return script.kinds();
  };
  for (bool writes : {false, true})
    for (bool again : {false, true})
      for (Between between : {Nothing, Sync, Chain})
        EXPECT_EQ(run(between, writes, again).empty(), between != Nothing || (!writes && !again))
            << writes << again << between;
  EXPECT_EQ(run(Nothing, false, true), Kinds{FindingKind::MissingSync});
}

/// A thread waits for the second generation while another is before its first arrival: the parity is that of a fresh slot.
TEST(Machine, threads_of_a_role_arrive_apart_from_each_other) {
  for (bool warp : {false, true})
    for (bool syncs : {false, true}) {
      Script script;
      auto work = script.role("work", warp);
      auto barrier = script.machine.addBarrier("b", 1, std::array{work});
      script.arrive(work, barrier, 0);
      if (syncs)
        script.act(work, [&script, work] { script.machine.sync(work); });
      script.arrive(work, barrier, 1);
      script.wait(work, barrier, 1);
      script.run();
      EXPECT_EQ(script.kinds(), warp || syncs ? Kinds{} : Kinds{FindingKind::Aliasing});
    }
}

/// One lane starts and awaits bulk copies: what it knows of a tensor the other threads do not, and it does not know what they wrote.
TEST(Machine, threads_and_their_lane_meet_at_a_tensor) {
  for (bool syncs : {false, true})
    for (bool loads : {false, true}) {
      Script script;
      auto work = script.role("work");
      auto a = script.machine.addTile("a_s", 1, false);
      auto x = script.machine.addTensor("x");
      auto full = script.machine.addBarrier("full", 1, std::array{work});
      auto sync = [&] { script.act(work, [&script, work] { script.machine.sync(work); }); };
      script.write(work, loads ? x : a, 0);
      if (!loads || syncs)
        sync();
      script.act(work, [=, &script] {
        const Machine::Window source{x, 0, tile}, target{a, 0, tile};
        if (loads)
          return script.machine.bulkLoad(work, target, &source, full, 0, 0, 1);
        script.machine.bulkStore(work, target, source, 1);
        script.machine.commitStores(work);
        script.machine.awaitStores(work, 0, /*read=*/false);
      });
      script.arrive(work, full, 0);
      if (loads)
        script.wait(work, full, 0);
      if (!loads && syncs)
        sync();
      script.read(work, x, 0, 2);
      script.run();
      EXPECT_EQ(script.kinds(), syncs ? Kinds{} : Kinds{FindingKind::MissingSync}) << loads;
    }
}

TEST(Machine, threads_await_for_themselves) {
  for (bool syncs : {false, true}) {
    Script script;
    auto work = script.role("work");
    auto a = script.machine.addTile("a_s", 1, false);
    script.write(work, a, 0);
    script.act(work, [&script, work] { script.machine.sync(work); });
    script.product(work, a, 0);
    script.act(work, [&script, work] { script.machine.awaitProducts(work, 0); });
    if (syncs)
      script.act(work, [&script, work] { script.machine.sync(work); });
    script.write(work, a, 0, 1);
    script.run();
    EXPECT_EQ(script.kinds(), syncs ? Kinds{} : Kinds{FindingKind::MissingSync});
  }
}

TEST(Machine, what_is_never_awaited) {
  Script script;
  auto work = script.role("work");
  auto a = script.machine.addTile("a_s", 2, true);
  auto full = script.machine.addBarrier("full", 2, std::array{work});
  script.load(work, a, full, 0);
  script.arrive(work, full, 0);
  script.wait(work, full, 0);
  script.product(work, a, 0, 1);
  script.load(work, a, full, 1, 2);
  script.arrive(work, full, 1);
  script.run();
  EXPECT_EQ(script.kinds(), (Kinds{FindingKind::NeverAwaited, FindingKind::NeverAwaited}));
}

TEST(Machine, waits_that_say_nothing_new_are_counted) {
  Script script;
  auto producer = script.role("producer"), consumer = script.role("consumer");
  auto first = script.machine.addBarrier("first", 1, std::array{producer});
  auto second = script.machine.addBarrier("second", 1, std::array{producer});
  auto never = script.machine.addBarrier("never", 1, std::array{producer});
  script.arrive(producer, first, 0);
  script.arrive(producer, second, 0);
  script.wait(consumer, second, 0, 1);
  script.wait(consumer, first, 0, 2);
  script.wait(consumer, never, -1, 2); // says nothing either way
  script.run();
  EXPECT_EQ(script.machine.waits().at(1).implied, 0);
  EXPECT_EQ(script.machine.waits().at(2).implied, 1);
  EXPECT_EQ(script.machine.waits().at(2).executed, 1);
}
