//===- RetentionTest.cpp - Plans of retention against their relaxation ----===//
#include "strata/lib/Plan/Retention.h"
#include "strata/lib/Plan/LinearProgram.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <random>

using namespace strata;
using namespace strata::plan;

/// A training step: layers forwards and backwards, each with the same saved tensors but for some
/// percent, as in the published prototypes of such planners.
static RetentionProblem makeTrainingStep(int64_t layers, int tensors, unsigned seed) {
  std::mt19937 random(seed);
  auto draw = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  const double megabytes[] = {2, 4, 8, 16, 16, 32, 64, 64, 128, 256};
  const double milliseconds[] = {0.02, 0.05, 0.1, 0.3, 0.6, 1.2, -1};
  RetentionProblem problem;
  problem.periodSeconds.assign(2 * layers, 9e-3);
  problem.outRate = problem.inRate = 50e9;
  problem.window = 2;
  std::vector<RetainedTensor> kinds;
  for (int i = 0; i < tensors; ++i) {
    RetainedTensor tensor;
    tensor.bytes = uint64_t(megabytes[random() % 10] * 1e6 * draw(0.8, 1.2));
    double recompute = milliseconds[random() % 7];
    tensor.recomputeSeconds = recompute < 0 ? -1 : recompute * 1e-3;
    kinds.push_back(tensor);
  }
  for (int64_t layer = 0; layer < layers; ++layer)
    for (RetainedTensor tensor : kinds) {
      tensor.produced = layer;
      tensor.used = 2 * layers - 1 - layer;
      problem.tensors.push_back(tensor);
    }
  return problem;
}

/// Lifetimes of any kind.
static RetentionProblem makeRandom(int64_t periods, int tensors, unsigned seed) {
  std::mt19937 random(seed);
  auto draw = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  RetentionProblem problem;
  for (int64_t i = 0; i < periods; ++i)
    problem.periodSeconds.push_back(draw(1e-3, 2e-2));
  problem.outRate = draw(2e9, 6e10);
  problem.inRate = draw(2e9, 6e10);
  problem.window = 1 + int64_t(random() % 3);
  for (int i = 0; i < tensors; ++i) {
    RetainedTensor tensor;
    tensor.bytes = uint64_t(std::exp(draw(std::log(1e5), std::log(2e7))));
    tensor.produced = int64_t(random() % uint64_t(periods));
    tensor.used = tensor.produced + int64_t(random() % uint64_t(periods - tensor.produced));
    tensor.recomputeSeconds =
        random() % 5 ? double(tensor.bytes) * std::exp(draw(std::log(1e-13), std::log(1e-10))) : -1;
    problem.tensors.push_back(tensor);
  }
  return problem;
}

static uint64_t getWholeBytes(const RetentionProblem &problem) {
  std::vector<Retention> keep(problem.tensors.size(), Retention::Keep);
  return evaluateRetention(problem, keep).peakBytes;
}

static uint64_t getLeastCapacity(RetentionProblem problem) {
  problem.capacity = getWholeBytes(problem);
  return planRetention(problem)->leastCapacity;
}

TEST(Retention, CountsMemoryAndStalls) {
  RetentionProblem problem;
  problem.periodSeconds = {1, 1, 1, 1, 1};
  problem.tensors = {{30, 0, 4, 0.5}, {20, 0, 4, -1}};
  problem.outRate = 20;
  problem.inRate = 10;
  RetentionPlan kept = evaluateRetention(problem, {Retention::Keep, Retention::Keep});
  EXPECT_EQ(kept.peakBytes, 50u);
  EXPECT_EQ(kept.seconds, 5);
  // Out in a second; back in two, of which there is one.
  RetentionPlan out = evaluateRetention(problem, {Retention::Keep, Retention::Offload});
  EXPECT_EQ(out.peakBytes, 50u);
  EXPECT_EQ(out.stallSeconds, 1);
  EXPECT_EQ(out.seconds, 6);
  RetentionPlan again = evaluateRetention(problem, {Retention::Recompute, Retention::Keep});
  EXPECT_EQ(again.seconds, 5.5);
  // Both go out in 2.5 seconds, of which there is one, and come back in 5.
  RetentionPlan both = evaluateRetention(problem, {Retention::Offload, Retention::Offload});
  EXPECT_EQ(both.stallSeconds, 1.5 + 4);
}

TEST(Retention, KeepsWhatFits) {
  RetentionProblem problem = makeTrainingStep(20, 10, 1);
  problem.capacity = getWholeBytes(problem);
  Expected<RetentionPlan> plan = planRetention(problem);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->choices, std::vector<Retention>(problem.tensors.size(), Retention::Keep));
  EXPECT_EQ(plan->perGigabyte, 0);
  EXPECT_EQ(plan->perTenGigabytesPerSecond, 0);
}

TEST(Retention, RefusesWhatCannotBe) {
  auto getError = [](auto change) {
    RetentionProblem problem = makeTrainingStep(4, 3, 1);
    problem.capacity = getWholeBytes(problem);
    change(problem);
    Expected<RetentionPlan> plan = planRetention(problem);
    return plan.ok() ? std::string() : plan.status().message();
  };
  EXPECT_EQ(getError([](RetentionProblem &) {}), "");
  EXPECT_EQ(getError([](RetentionProblem &problem) { problem.tensors[2].used = 8; }),
            "tensor 2: expected periods in order and below 8 but got 0 and 8");
  EXPECT_EQ(getError([](RetentionProblem &problem) { problem.tensors[2].produced = -1; }),
            "tensor 2: expected periods in order and below 8 but got -1 and 7");
  EXPECT_EQ(getError([](RetentionProblem &problem) { problem.window = 0; }),
            "expected a window of at least 1 period but got 0");
  EXPECT_EQ(getError([](RetentionProblem &problem) { problem.inRate = -1; }),
            "expected rates of links of at least 0 but got -1.000000");
  EXPECT_EQ(getError([](RetentionProblem &problem) { problem.periodSeconds[0] = -2; }),
            "expected seconds of periods of at least 0 but got -2.000000");
  RetentionProblem problem = makeTrainingStep(4, 3, 1);
  uint64_t least = getLeastCapacity(problem);
  problem.capacity = least - 1;
  Expected<RetentionPlan> plan = planRetention(problem);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().code(), StatusCode::OutOfMemory);
  EXPECT_NE(plan.status().message().find(std::to_string(least)), std::string::npos);
}

/// The best of all plans.
TEST(Retention, BoundsHoldAgainstAllPlans) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    RetentionProblem problem = makeRandom(9, 7, seed);
    // Transfers that stall, too.
    problem.outRate /= 50;
    problem.inRate /= 50;
    std::vector<RetentionPlan> all;
    std::vector<Retention> choices(problem.tensors.size(), Retention::Keep);
    for (int number = 0; number < 2187; ++number) {
      int rest = number;
      bool isPossible = true;
      for (size_t i = 0; i < choices.size(); ++i, rest /= 3) {
        choices[i] = Retention(rest % 3);
        const RetainedTensor &tensor = problem.tensors[i];
        isPossible &= choices[i] != Retention::Recompute || tensor.recomputeSeconds >= 0;
        isPossible &= choices[i] != Retention::Offload ||
                      tensor.used - tensor.produced > 2 * problem.window + 1;
      }
      if (isPossible)
        all.push_back(evaluateRetention(problem, choices));
    }
    uint64_t least = UINT64_MAX, whole = getWholeBytes(problem);
    for (const RetentionPlan &plan : all)
      least = std::min(least, plan.peakBytes);
    EXPECT_EQ(getLeastCapacity(problem), least) << "seed " << seed;
    for (int part = 0; part <= 8; ++part) {
      problem.capacity = least + (whole - least) * uint64_t(part) / 8;
      double best = HUGE_VAL;
      for (const RetentionPlan &plan : all)
        if (plan.peakBytes <= problem.capacity)
          best = std::min(best, plan.seconds);
      Expected<RetentionPlan> plan = planRetention(problem);
      ASSERT_TRUE(plan.ok()) << plan.status().message();
      EXPECT_LE(plan->lowerBound, best * (1 + 1e-9)) << "seed " << seed << " part " << part;
      EXPECT_GE(plan->seconds, best * (1 - 1e-9)) << "seed " << seed << " part " << part;
      if (!LinearProgram::isSupported())
        continue;
      Expected<RelaxedRetention> relaxed = relaxRetention(problem);
      ASSERT_TRUE(relaxed.ok()) << relaxed.status().message();
      EXPECT_LE(relaxed->lowerBound, best * (1 + 1e-6)) << "seed " << seed << " part " << part;
      EXPECT_GE(relaxed->rounded.seconds, best * (1 - 1e-9));
      EXPECT_LE(relaxed->rounded.peakBytes, problem.capacity);
    }
  }
}

/// Sweeps a problem's capacity; a tighter bound from the relaxation now and then.
static void sweep(RetentionProblem problem, const std::string &name) {
  uint64_t least = getLeastCapacity(problem), whole = getWholeBytes(problem);
  double previous = HUGE_VAL;
  for (int part = 0; part <= 60; ++part) {
    SCOPED_TRACE(name + ", part " + std::to_string(part));
    problem.capacity = least + (whole - least) * uint64_t(part) / 60;
    Expected<RetentionPlan> plan = planRetention(problem);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_LE(plan->peakBytes, problem.capacity);
    EXPECT_LE(plan->seconds, previous);
    EXPECT_GE(plan->seconds, plan->lowerBound * (1 - 1e-9));
    EXPECT_GE(plan->perGigabyte, 0);
    EXPECT_GE(plan->perTenGigabytesPerSecond, 0);
    previous = plan->seconds;
    if (part % 10 || !LinearProgram::isSupported())
      continue;
    Expected<RelaxedRetention> relaxed = relaxRetention(problem);
    ASSERT_TRUE(relaxed.ok()) << relaxed.status().message();
    EXPECT_LE(plan->lowerBound, relaxed->lowerBound * (1 + 1e-6));
    EXPECT_LE(plan->seconds, relaxed->lowerBound * 1.01);
    EXPECT_GE(plan->seconds, relaxed->lowerBound * (1 - 1e-6));
    EXPECT_LE(relaxed->rounded.peakBytes, problem.capacity);
    EXPECT_LE(relaxed->rounded.seconds, relaxed->lowerBound * 1.02);
  }
}

TEST(Retention, IsMonotoneAndNearItsBoundForTrainingSteps) {
  for (unsigned seed = 0; seed < 4; ++seed)
    sweep(makeTrainingStep(40, 20, seed), "training step " + std::to_string(seed));
}

TEST(Retention, IsMonotoneAndNearItsBoundForRandomLifetimes) {
  for (unsigned seed = 0; seed < 6; ++seed)
    sweep(makeRandom(40, 600, seed), "random lifetimes " + std::to_string(seed));
}

/// What the built-in bound is worth where nothing else is at hand.
TEST(Retention, TrainingStepsAreNearTheBuiltInBound) {
  for (unsigned seed = 0; seed < 4; ++seed) {
    RetentionProblem problem = makeTrainingStep(80, 30, seed);
    uint64_t least = getLeastCapacity(problem), whole = getWholeBytes(problem);
    for (int part = 1; part <= 10; ++part) {
      problem.capacity = least + (whole - least) * uint64_t(part) / 10;
      Expected<RetentionPlan> plan = planRetention(problem);
      ASSERT_TRUE(plan.ok());
      EXPECT_LE(plan->seconds, plan->lowerBound * 1.01) << "seed " << seed << " part " << part;
    }
  }
}

TEST(Retention, TakesAtMostASecondForTenThousandTensors) {
  RetentionProblem problem = makeTrainingStep(100, 100, 3);
  ASSERT_EQ(problem.tensors.size(), 10000u);
  problem.capacity = getWholeBytes(problem) / 3;
  auto begin = std::chrono::steady_clock::now();
  Expected<RetentionPlan> plan = planRetention(problem);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_LE(seconds, 1.0);
  EXPECT_LE(plan->seconds, plan->lowerBound * 1.01);
}

TEST(Retention, NeedsNoLink) {
  RetentionProblem problem = makeTrainingStep(20, 10, 5);
  problem.outRate = problem.inRate = 0;
  for (RetainedTensor &tensor : problem.tensors)
    tensor.recomputeSeconds = std::abs(tensor.recomputeSeconds);
  problem.capacity = getWholeBytes(problem) / 2;
  Expected<RetentionPlan> plan = planRetention(problem);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->stallSeconds, 0);
  EXPECT_GT(plan->recomputeSeconds, 0);
  EXPECT_EQ(plan->perTenGigabytesPerSecond, 0);
}

static void expectNoOverlap(const RetentionProblem &problem, const RetentionLayout &layout) {
  for (size_t i = 0; i < layout.parts.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const NearPart &a = layout.parts[i], &b = layout.parts[j];
      if (a.last < b.first || b.last < a.first)
        continue;
      EXPECT_TRUE(a.offset + problem.tensors[a.tensor].bytes <= b.offset ||
                  b.offset + problem.tensors[b.tensor].bytes <= a.offset)
          << "tensors " << a.tensor << " and " << b.tensor;
    }
}

TEST(Retention, LayoutsDoNotOverlap) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    RetentionProblem problem =
        seed % 2 ? makeRandom(40, 300, seed) : makeTrainingStep(30, 10, seed);
    for (RetainedTensor &tensor : problem.tensors)
      tensor.bytes = (tensor.bytes + 63) / 64 * 64;
    uint64_t least = getLeastCapacity(problem);
    problem.capacity = least + (getWholeBytes(problem) - least) / 3;
    Expected<RetentionPlan> plan = planRetention(problem);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    RetentionLayout layout = layOutRetention(problem, plan->choices, 64);
    EXPECT_EQ(layout.maxLive, plan->peakBytes);
    EXPECT_GE(layout.end, layout.maxLive);
    EXPECT_LE(double(layout.end), double(layout.maxLive) * 1.1) << "seed " << seed;
    expectNoOverlap(problem, layout);
  }
}

TEST(LinearProgram, FindsTheLeastCost) {
  LinearProgram program;
  int most = program.addRow(-LinearProgram::kUnlimited, 4);
  int equal = program.addRow(1, 1);
  program.addColumn(-3, 0, 3, {{most, 1}, {equal, 1}});
  program.addColumn(-1, 0, LinearProgram::kUnlimited, {{most, 1}});
  program.addColumn(0, 0, LinearProgram::kUnlimited, {{equal, -1}});
  Expected<LinearProgram::Solution> solution = program.solve();
  if (!LinearProgram::isSupported()) {
    EXPECT_EQ(solution.status().code(), StatusCode::Unsupported);
    return;
  }
  ASSERT_TRUE(solution.ok()) << solution.status().message();
  EXPECT_DOUBLE_EQ(solution->cost, -10);
  EXPECT_DOUBLE_EQ(solution->columns[0], 3);
  EXPECT_DOUBLE_EQ(solution->columns[1], 1);
  EXPECT_DOUBLE_EQ(solution->rowPrices[most], -1);
  int never = program.addRow(2, 3);
  program.addColumn(0, 0, 1, {{never, 1}});
  EXPECT_EQ(program.solve().status().code(), StatusCode::NotFound);
}
