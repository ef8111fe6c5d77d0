//===- HotSetTest.cpp - Hot sets against all sizes there are --------------===//
#include "strata/lib/Plan/Transfers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

using namespace strata;
using namespace strata::plan;

static constexpr int64_t kRows = 4, kContext = 40;

/// Groups of caches of `kContext` records, with convex curves that end at 0.
static Problem makeGroups(int groups, bool areAlike, std::mt19937 &random) {
  Problem problem;
  problem.context = kContext;
  for (int number = 0; number < groups; ++number) {
    RowGroup group;
    group.name = "group " + std::to_string(number);
    group.k = kRows;
    std::vector<double> falls;
    for (int i = 0; i < 8; ++i)
      falls.push_back(double(1 + random() % 100));
    std::sort(falls.rbegin(), falls.rend());
    double left = 0;
    for (double fall : falls)
      left += fall;
    double scale = double(1 + random() % 100) / 100 / left;
    for (size_t i = 0; i <= falls.size(); ++i) {
      group.misses.slots.push_back(1 + 0.5 * double(i));
      group.misses.share.push_back(left * scale);
      left -= i < falls.size() ? falls[i] : 0;
    }
    group.misses.share.back() = 0;
    Buffer cache;
    cache.name = "latents " + std::to_string(number);
    cache.bufferClass = BufferClass::Latents;
    cache.rowBytes = areAlike ? 128 : 64 * (1 + random() % 4);
    cache.bytes = uint64_t(kContext) * cache.rowBytes;
    cache.elsewhere = Buffer::Elsewhere::Rows;
    for (int i = 0; i < 1 + number % 2; ++i) {
      group.caches.push_back(int(problem.buffers.size()));
      problem.buffers.push_back(cache);
      problem.buffers.back().name += i ? " again" : "";
    }
    problem.groups.push_back(group);
  }
  return problem;
}

static Machine makeMachine() {
  Machine machine;
  machine.tiers = {{"hbm", 0, 1e12}, {"ddr", 1ull << 40, 1e11}};
  machine.links = {{"link", 1e9}};
  machine.engines = {{"gather in", MachineEngine::Kind::Gather, 1, 0, 0, 1e9}};
  return machine;
}

/// The least seconds of gathers of the groups from `first` on, of all numbers of slots.
static double findLeast(const Problem &problem, const Machine &machine, uint64_t bytes,
                        size_t first) {
  if (first == problem.groups.size())
    return 0;
  const RowGroup &group = problem.groups[first];
  GroupSizes sizes(problem, group);
  double least = std::numeric_limits<double>::infinity();
  for (int64_t slots = kRows; slots <= kContext && uint64_t(slots) * sizes.rowBytes <= bytes;
       ++slots)
    least =
        std::min(least, (slots == kContext ? 0 : getGatherSeconds(problem, machine, group, slots)) +
                            findLeast(problem, machine, bytes - uint64_t(slots) * sizes.rowBytes,
                                      first + 1));
  return least;
}

/// Caches of equal records: no part of the memory is left that one more slot needs.
TEST(HotSets, AreTheBestThereAre) {
  Machine machine = makeMachine();
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    Problem problem = makeGroups(3, true, random);
    // An even number of records: the second group's two caches take two at a time.
    for (uint64_t records = 4 * kRows; records <= 4 * kContext; records += 12) {
      problem.capacity = records * 128;
      Expected<Plan> plan = makePlan(problem, machine);
      ASSERT_TRUE(plan.ok()) << plan.status().message();
      double least = findLeast(problem, machine, problem.capacity, 0);
      // One record that doesn't fit is all that may be lost.
      double slack = 0;
      for (const RowGroup &group : problem.groups)
        slack = std::max(slack, getGatherSeconds(problem, machine, group, kRows) -
                                    getGatherSeconds(problem, machine, group, kRows + 1));
      EXPECT_GE(plan->transferSeconds, least - 1e-15);
      EXPECT_LE(plan->transferSeconds, least + slack) << "seed " << seed << " records " << records;
      EXPECT_LE(plan->lowerBound, least + 1e-15) << "seed " << seed << " records " << records;
    }
  }
}

/// One cache in each group: then nothing is lost.
TEST(HotSets, OfEqualGroupsAreExact) {
  Machine machine = makeMachine();
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    Problem problem = makeGroups(3, true, random);
    problem.groups[1].caches.resize(1);
    problem.buffers[2].elsewhere = Buffer::Elsewhere::Never;
    for (uint64_t records = 3 * kRows; records <= 3 * kContext; records += 7) {
      problem.capacity = records * 128 + problem.buffers[2].bytes;
      Expected<Plan> plan = makePlan(problem, machine);
      ASSERT_TRUE(plan.ok()) << plan.status().message();
      EXPECT_NEAR(plan->transferSeconds, findLeast(problem, machine, records * 128, 0), 1e-14)
          << "seed " << seed << " records " << records;
    }
  }
}

/// Records of other sizes, and curves as they are measured: falling, but not convex.
TEST(HotSets, OfAnyCurvesAreMonotone) {
  Machine machine = makeMachine();
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    Problem problem = makeGroups(3, false, random);
    for (RowGroup &group : problem.groups) {
      for (double &share : group.misses.share)
        share = double(random() % 100) / 100;
      std::sort(group.misses.share.rbegin(), group.misses.share.rend());
    }
    uint64_t least = 0, whole = 0;
    for (const Buffer &buffer : problem.buffers) {
      least += uint64_t(kRows) * buffer.rowBytes;
      whole += buffer.bytes;
    }
    double previous = std::numeric_limits<double>::infinity();
    for (problem.capacity = least; problem.capacity <= whole; problem.capacity += 64) {
      Expected<Plan> plan = makePlan(problem, machine);
      ASSERT_TRUE(plan.ok()) << plan.status().message();
      EXPECT_LE(plan->nearBytes, problem.capacity);
      EXPECT_LE(plan->stepSeconds, previous + 1e-15)
          << "seed " << seed << " capacity " << problem.capacity;
      EXPECT_LE(plan->lowerBound, plan->stepSeconds + 1e-15);
      previous = plan->stepSeconds;
    }
    EXPECT_EQ(previous, 0);
  }
}
