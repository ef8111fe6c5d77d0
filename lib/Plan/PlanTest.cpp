//===- PlanTest.cpp - Plans against their bound, and edited ones ----------===//
#include "strata/lib/Plan/Plan.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>

using namespace strata;
using namespace strata::plan;

static Machine makeMachine() {
  Machine machine;
  machine.name = "test";
  machine.tiers = {{"hbm", 0, 4e12}, {"ddr", 1ull << 44, 1e11}};
  machine.links = {{"pcie", 55e9}};
  MachineEngine gather{"gather in", MachineEngine::Kind::Gather, 1, 0, 0, 35e9, 4e-6};
  MachineEngine copy{"copy in", MachineEngine::Kind::Copy, 1, 0, 0, 55e9, 2e-6};
  MachineEngine out{"copy out", MachineEngine::Kind::Copy, 0, 1, 0, 55e9, 2e-6};
  machine.engines = {gather, copy, out};
  return machine;
}

/// A model of `layers` layers, each with weights, and latents in groups of four.
static Problem makeProblem(int layers, int weightsOfLayer, std::mt19937 &random) {
  Problem problem;
  problem.context = 65536;
  std::uniform_int_distribution<uint64_t> size(1 << 16, 1 << 22);
  for (int layer = 0; layer < layers; ++layer) {
    for (int i = 0; i < weightsOfLayer; ++i) {
      Buffer weight;
      weight.name = "weight " + std::to_string(problem.buffers.size());
      weight.bytes = weight.bytesPerStep = size(random);
      weight.firstUse = weight.lastUse = int64_t(problem.commandSeconds.size());
      weight.elsewhere = i ? Buffer::Elsewhere::Reload : Buffer::Elsewhere::Never;
      problem.buffers.push_back(weight);
      problem.commandSeconds.push_back(2e-5);
      problem.commandLayer.push_back(layer);
    }
    Buffer latents;
    latents.name = "latents " + std::to_string(layer);
    latents.bufferClass = BufferClass::Latents;
    latents.rowBytes = 1152;
    latents.stagedBytes = 1152 * 256;
    latents.bytes = uint64_t(problem.context) * latents.rowBytes;
    latents.elsewhere = Buffer::Elsewhere::Rows;
    if (layer % 4 == 0) {
      RowGroup group;
      group.name = "layers from " + std::to_string(layer);
      group.k = 2048;
      group.misses = defaultMissCurve(layer);
      problem.groups.push_back(group);
    }
    problem.groups.back().caches.push_back(int(problem.buffers.size()));
    problem.buffers.push_back(latents);
  }
  return problem;
}

static uint64_t getWholeBytes(const Problem &problem) {
  uint64_t bytes = 0;
  for (const Buffer &buffer : problem.buffers)
    bytes += buffer.bytes;
  return bytes;
}

TEST(Plan, KeepsEverythingNearWhenItFits) {
  std::mt19937 random(1);
  Problem problem = makeProblem(8, 4, random);
  problem.capacity = getWholeBytes(problem);
  Expected<Plan> plan = makePlan(problem, makeMachine());
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  for (const Decision &decision : plan->decisions)
    EXPECT_TRUE(decision.isNear);
  for (int64_t slots : plan->slotsOfGroup)
    EXPECT_EQ(slots, 0);
  EXPECT_EQ(plan->nearBytes, problem.capacity);
  EXPECT_EQ(plan->transferSeconds, 0);
}

TEST(Plan, NamesTheLeastFeasibleCapacityAndReachesIt) {
  std::mt19937 random(2);
  Problem problem = makeProblem(8, 4, random);
  Machine machine = makeMachine();
  problem.capacity = getWholeBytes(problem);
  uint64_t least = makePlan(problem, machine)->leastCapacity;
  problem.capacity = least - 1;
  Expected<Plan> refused = makePlan(problem, machine);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::OutOfMemory);
  EXPECT_NE(refused.status().message().find(std::to_string(least)), std::string::npos);
  problem.capacity = least;
  Expected<Plan> plan = makePlan(problem, machine);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->nearBytes, least);
}

TEST(Plan, IsMonotoneAndNearItsBound) {
  Machine machine = makeMachine();
  for (unsigned seed = 0; seed < 6; ++seed) {
    std::mt19937 random(seed);
    Problem problem = makeProblem(80, 12, random);
    uint64_t whole = getWholeBytes(problem);
    problem.capacity = whole;
    uint64_t least = makePlan(problem, machine)->leastCapacity;
    double previous = 1e9, scheduled = 1e9;
    for (int part = 0; part <= 60; ++part) {
      problem.capacity = least + (whole - least) * uint64_t(part) / 60;
      Expected<Plan> plan = makePlan(problem, machine);
      ASSERT_TRUE(plan.ok()) << plan.status().message();
      EXPECT_LE(plan->nearBytes, problem.capacity);
      EXPECT_LE(plan->stepSeconds, previous * (1 + 1e-9)) << "seed " << seed << " part " << part;
      // The order in which transfers come may turn against a plan that has fewer of them.
      EXPECT_LE(plan->scheduledSeconds, scheduled * 1.001) << "seed " << seed << " part " << part;
      EXPECT_GE(plan->scheduledSeconds, plan->stepSeconds * (1 - 1e-9));
      EXPECT_GE(plan->stepSeconds, plan->lowerBound * (1 - 1e-9));
      EXPECT_LE(plan->stepSeconds, plan->lowerBound * 1.01) << "seed " << seed << " part " << part;
      EXPECT_GE(plan->perGigabyte, 0);
      previous = plan->stepSeconds;
      scheduled = plan->scheduledSeconds;
    }
  }
}

TEST(Plan, TakesAtMostASecondForTenThousandTensors) {
  std::mt19937 random(7);
  Problem problem = makeProblem(100, 99, random);
  ASSERT_EQ(problem.buffers.size(), 10000u);
  problem.capacity = getWholeBytes(problem) / 2;
  auto begin = std::chrono::steady_clock::now();
  Expected<Plan> plan = makePlan(problem, makeMachine());
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  ASSERT_TRUE(plan.ok());
  EXPECT_LE(seconds, 1.0);
  EXPECT_LE(plan->stepSeconds, plan->lowerBound * 1.01);
}

TEST(Plan, OffsetsDoNotOverlap) {
  std::mt19937 random(3);
  Problem problem = makeProblem(12, 5, random);
  problem.capacity = getWholeBytes(problem) / 3;
  Expected<Plan> plan = makePlan(problem, makeMachine());
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  std::vector<std::pair<uint64_t, uint64_t>> parts;
  for (const Decision &decision : plan->decisions) {
    const Buffer &buffer = problem.buffers[decision.buffer];
    if (decision.isNear)
      parts.emplace_back(decision.offset, buffer.bytes);
    else if (decision.slots)
      parts.emplace_back(decision.offset, uint64_t(decision.slots) * buffer.rowBytes);
  }
  std::sort(parts.begin(), parts.end());
  for (size_t i = 1; i < parts.size(); ++i)
    EXPECT_LE(parts[i - 1].first + parts[i - 1].second, parts[i].first);
}

TEST(Plan, ComesBackFromItsFile) {
  std::mt19937 random(4);
  Problem problem = makeProblem(8, 4, random);
  problem.capacity = getWholeBytes(problem) / 3;
  Machine machine = makeMachine();
  Expected<Plan> plan = makePlan(problem, machine);
  ASSERT_TRUE(plan.ok());
  std::string text = writePlan(problem, *plan);
  Expected<Plan> read = readPlan(problem, text, "plan.json");
  ASSERT_TRUE(read.ok()) << read.status().message();
  Status status = checkPlan(problem, machine, *read);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(writePlan(problem, *read), text);
}

TEST(Plan, RefusesFilesThatAreNoPlansOfTheProgram) {
  std::mt19937 random(5);
  Problem problem = makeProblem(4, 2, random);
  problem.capacity = getWholeBytes(problem);
  std::string text = writePlan(problem, *makePlan(problem, makeMachine()));
  auto error = [&](std::string changed) {
    Expected<Plan> plan = readPlan(problem, changed, "p.json");
    return plan.ok() ? std::string() : plan.status().message();
  };
  auto replace = [&](const std::string &from, const std::string &to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return changed;
  };
  EXPECT_EQ(error("[]"), "p.json: expected an object");
  EXPECT_EQ(error("{}"), "p.json: 'groups': expected a list");
  EXPECT_EQ(error(replace("\"slots\": 0", "\"slots\": -1")),
            "p.json: 'layers from 0': 'slots': expected a whole number of at least 0 but got -1");
  EXPECT_EQ(error(replace("\"weight 0\"", "\"weight x\"")),
            "p.json: 'buffers': the program has no 'weight x'");
  EXPECT_EQ(error(replace("\"weight 1\"", "\"weight 0\"")),
            "p.json: 'buffers': 'weight 0' is listed twice");
  EXPECT_EQ(error(replace("\"near\": true", "\"near\": 1")),
            "p.json: 'weight 0': 'near': expected true or false but got 1");
  EXPECT_EQ(error(replace("\"offset\": 0", "\"ofset\": 0")),
            "p.json: 'weight 0': the field 'ofset' is unknown");
  EXPECT_EQ(error(replace("\"capacity\"", "\"capacities\"")),
            "p.json: the field 'capacities' is unknown");
  EXPECT_EQ(error(replace("\"near\": true", "\"near\": false, \"engine\": 1")),
            "p.json: 'weight 0': 'engine': expected the name of an engine but got 1");
}

TEST(Plan, ChecksWhatAPersonWrote) {
  std::mt19937 random(6);
  Problem problem = makeProblem(4, 2, random);
  problem.capacity = getWholeBytes(problem);
  Machine machine = makeMachine();
  Plan plan = *makePlan(problem, machine);
  auto error = [&](auto change) {
    Plan changed = plan;
    change(changed);
    Status status = checkPlan(problem, machine, changed);
    return status.ok() ? std::string() : status.message();
  };
  EXPECT_EQ(error([](Plan &changed) { changed.decisions[0].isNear = false; }),
            "'weight 0' can't leave hbm");
  EXPECT_EQ(error([](Plan &changed) {
              changed.decisions[1].isNear = false;
              changed.decisions[1].engineName = "copy out";
            }),
            "'weight 1': expected an engine from ddr to hbm but got 'copy out'");
  EXPECT_EQ(error([](Plan &changed) { changed.slotsOfGroup[0] = 100; }),
            "group 'layers from 0': expected no slots or at least the 2048 that a token needs but "
            "got 100");
  EXPECT_EQ(error([](Plan &changed) { changed.slotsOfGroup[0] = 4096; }),
            "group 'layers from 0' has 4096 slots, so 'latents 0' can't be near");
  EXPECT_EQ(error([](Plan &changed) { changed.decisions[2].isNear = false; }),
            "group 'layers from 0' has no slots, so 'latents 0' must be near");
  // Another engine than the planner's is what was asked for.
  Plan slower = plan;
  slower.decisions[1].isNear = false;
  slower.decisions[1].engineName = "gather in";
  problem.capacity += problem.buffers[1].bytes; // for its slot
  ASSERT_TRUE(checkPlan(problem, machine, slower).ok());
  EXPECT_EQ(slower.decisions[1].engine, 0);
  EXPECT_NEAR(slower.transferSeconds, double(problem.buffers[1].bytes) / 35e9 + 4e-6, 1e-12);
  problem.capacity = slower.nearBytes - 1;
  EXPECT_EQ(error([&](Plan &changed) { changed = slower; }).find("the plan needs"), 0u);
}
