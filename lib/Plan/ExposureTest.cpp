//===- ExposureTest.cpp - What a step waits for ---------------------------===//
#include "strata/lib/Plan/Exposure.h"

#include <gtest/gtest.h>

#include <random>

using namespace strata;
using namespace strata::plan;

TEST(Exposure, TransfersHideUnderTheCommandsBefore) {
  // Known behind command 0, needed by command 3: commands 1 and 2 hide 2 s of it.
  std::vector<double> commands(5, 1.0);
  EXPECT_DOUBLE_EQ(getExposedSeconds(commands, {{0, 0, 3, 2.0, 0}}), 0);
  EXPECT_DOUBLE_EQ(getExposedSeconds(commands, {{0, 0, 3, 2.5, 0}}), 0.5);
  EXPECT_DOUBLE_EQ(getExposedSeconds(commands, {{0, 2, 3, 2.5, 0}}), 2.5);
  EXPECT_DOUBLE_EQ(getExposedSeconds(commands, {{0, -1, 0, 2.5, 0}}), 2.5);
}

TEST(Exposure, ACommandThatHasWorkBeforeItNeedsTheRestWaitsLess) {
  std::vector<double> commands(3, 1.0);
  EXPECT_DOUBLE_EQ(getExposedSeconds(commands, {{0, 1, 2, 0.9, 0.4}}), 0.5);
  EXPECT_DOUBLE_EQ(getExposedSeconds(commands, {{0, 1, 2, 0.3, 0.4}}), 0);
}

TEST(Exposure, ALinkBringsTheEarliestDeadlineFirst) {
  std::vector<double> commands(5, 1.0);
  std::vector<Arrival> both{{0, 0, 4, 3.0, 0}, {0, 0, 2, 1.0, 0}};
  EXPECT_DOUBLE_EQ(getExposedSeconds(commands, both), 1);
  // Two links bring them at the same time.
  both[0].link = 1;
  EXPECT_DOUBLE_EQ(getExposedSeconds(commands, both), 0);
}

/// Nobody waits longer than for everything, nor less than what the link can't do.
TEST(Exposure, StaysWithinItsBounds) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    auto draw = [&](double most) { return most * double(random() % 1000) / 1000; };
    std::vector<double> commands;
    double work = 0;
    for (int i = 0; i < 60; ++i)
      work += commands.emplace_back(draw(1));
    std::vector<Arrival> arrivals;
    double link = 0;
    for (int i = 0; i < 20; ++i) {
      int64_t command = int64_t(random() % 60);
      arrivals.push_back({0, int64_t(random() % 60) - 1, command, draw(3), 0});
      arrivals.back().ready = std::min(arrivals.back().ready, command - 1);
      link += arrivals.back().seconds;
    }
    double exposed = getExposedSeconds(commands, arrivals);
    EXPECT_LE(exposed, link + 1e-9);
    EXPECT_GE(exposed, link - work - 1e-9);
  }
}

/// A group of four layers on a machine with one link of 1 GB/s: 1 KB a microsecond.
static Problem makeGroup(Machine &machine) {
  machine.tiers = {{"hbm", 0, 1e12}, {"ddr", 1ull << 40, 1e11}};
  machine.links = {{"link", 1e9}};
  machine.engines = {{"gather in", MachineEngine::Kind::Gather, 1, 0, 0, 1e9}};
  Problem problem;
  RowGroup group;
  group.name = "layers 0-3";
  group.k = 100;
  group.known = 0;
  group.misses = {{1, 2}, {0.5, 0}};
  for (int layer = 0; layer < 4; ++layer) {
    Buffer cache;
    cache.name = "latents " + std::to_string(layer);
    cache.bufferClass = BufferClass::Latents;
    cache.bytes = 1000000;
    cache.rowBytes = 1000;
    cache.elsewhere = Buffer::Elsewhere::Rows;
    // Selection, then for each layer attention and an expert.
    cache.firstUse = cache.lastUse = 1 + 2 * layer;
    group.caches.push_back(layer);
    problem.buffers.push_back(cache);
  }
  problem.groups.push_back(group);
  problem.commandSeconds.assign(9, 40e-6);
  problem.context = 1000;
  problem.capacity = 400000; // hot sets of k
  return problem;
}

TEST(Exposure, FollowersHideUnderLayersAndTheLeaderUnderScores) {
  Machine machine;
  Problem problem = makeGroup(machine);
  Expected<Plan> plan = makePlan(problem, machine);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  ASSERT_EQ(plan->slotsOfGroup[0], 100);
  // 50 rows miss, 50 µs for each cache. The leader's scores of hits, 0.53 × 0.5 × 40 µs, hide a
  // part. Each follower has 80 µs for it.
  EXPECT_NEAR(plan->transferSeconds, 200e-6, 1e-12);
  EXPECT_NEAR(plan->exposedSeconds, 50e-6 - 0.53 * 0.5 * 40e-6, 1e-12);
  EXPECT_NEAR(plan->scheduledSeconds, 360e-6 + plan->exposedSeconds, 1e-12);
  // With all memory there is nothing to wait for.
  EXPECT_NEAR(plan->perGigabyte, plan->exposedSeconds, 1e-12);
}

TEST(Exposure, ALinkThatIsTooSlowIsTheStep) {
  Machine machine;
  Problem problem = makeGroup(machine);
  machine.engines[0].bandwidth = 1e8;
  Expected<Plan> plan = makePlan(problem, machine);
  ASSERT_TRUE(plan.ok());
  EXPECT_NEAR(plan->stepSeconds, 2e-3, 1e-12);
  EXPECT_GE(plan->scheduledSeconds, plan->stepSeconds);
  EXPECT_GT(plan->perTenGigabytesPerSecond, 0);
}
