//===- BoundTest.cpp - The planner's bound is a linear program's optimum --===//
#include "strata/lib/Plan/Candidates.h"
#include "strata/lib/Plan/LinearProgram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace strata;
using namespace strata::plan;

/// Weights, and groups of latents with miss curves of their own.
static Problem makeProblem(unsigned seed) {
  std::mt19937 random(seed);
  Problem problem;
  problem.context = 65536;
  for (int i = 0; i < 60; ++i) {
    Buffer weight;
    weight.name = "weight " + std::to_string(i);
    weight.bytes = weight.bytesPerStep = (1 << 16) + random() % (1 << 23);
    weight.elsewhere = Buffer::Elsewhere::Reload;
    problem.buffers.push_back(weight);
  }
  for (int i = 0; i < 12; ++i) {
    RowGroup group;
    group.name = "group " + std::to_string(i);
    group.k = 512 << random() % 3;
    group.misses = defaultMissCurve(i);
    for (unsigned layer = 0; layer <= random() % 4; ++layer) {
      Buffer latents;
      latents.name = group.name + " latents " + std::to_string(layer);
      latents.bufferClass = BufferClass::Latents;
      latents.rowBytes = 1152;
      latents.stagedBytes = 1152 * 64;
      latents.bytes = uint64_t(problem.context) * latents.rowBytes;
      latents.elsewhere = Buffer::Elsewhere::Rows;
      group.caches.push_back(int(problem.buffers.size()));
      problem.buffers.push_back(latents);
    }
    problem.groups.push_back(group);
  }
  return problem;
}

/// Seconds of transfers that remain when candidates are divisible, weights above `largest` stay,
/// and the others have a slot of `slot` bytes; infinity if that doesn't fit.
static double relax(const Problem &problem, const Candidates &candidates, uint64_t largest,
                    uint64_t slot) {
  LinearProgram program;
  double room = double(problem.capacity) - double(candidates.leastBytes) - double(slot);
  int memory = program.addRow(-LinearProgram::kUnlimited, room / 1e6);
  for (const Candidate &candidate : candidates.order) {
    bool stays = candidate.buffer >= 0 && problem.buffers[candidate.buffer].bytes > largest;
    program.addColumn(-candidate.seconds * 1e3, stays ? 1 : 0, 1,
                      {{memory, double(candidate.bytes) / 1e6}});
  }
  Expected<LinearProgram::Solution> solution = program.solve();
  return solution.ok() ? candidates.movedSeconds + solution->cost / 1e3 : HUGE_VAL;
}

/// The same with a slot as large as the largest weight that moves, whichever that is.
static double relaxWithSlot(const Problem &problem, const Candidates &candidates) {
  double least = relax(problem, candidates, 0, 0);
  for (const Candidate &candidate : candidates.order)
    if (candidate.buffer >= 0) {
      uint64_t bytes = problem.buffers[candidate.buffer].bytes;
      least = std::min(least, relax(problem, candidates, bytes, bytes));
    }
  return least;
}

TEST(PlanBound, LiesBetweenRelaxationsWithoutAndWithTheSlot) {
  if (!LinearProgram::isSupported())
    GTEST_SKIP() << "without a solver there is nothing to compare with";
  Machine machine = *findMachine("h100-pcie");
  for (unsigned seed = 0; seed < 10; ++seed) {
    Problem problem = makeProblem(seed);
    uint64_t whole = 0;
    for (const Buffer &buffer : problem.buffers)
      whole += buffer.bytes;
    problem.capacity = whole;
    uint64_t least = makePlan(problem, machine)->leastCapacity;
    Candidates candidates(problem, machine);
    for (int part = 0; part <= 20; ++part) {
      problem.capacity = least + (whole - least) * uint64_t(part) / 20;
      Expected<Plan> plan = makePlan(problem, machine);
      ASSERT_TRUE(plan.ok()) << plan.status().message();
      // There is nothing to compute in these steps, so that they are as long as their transfers.
      double tolerance = 1e-6 * candidates.movedSeconds;
      double relaxed = relax(problem, candidates, UINT64_MAX, 0);
      EXPECT_GE(plan->lowerBound, relaxed - tolerance) << "seed " << seed << " part " << part;
      EXPECT_LE(plan->lowerBound, relaxWithSlot(problem, candidates) + tolerance)
          << "seed " << seed << " part " << part;
      EXPECT_GE(plan->transferSeconds, relaxed - tolerance) << "seed " << seed << " part " << part;
    }
  }
}
