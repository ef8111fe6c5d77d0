//===- StackDistancesTest.cpp - Miss curves against a slot table ----------===//
#include "strata/lib/Plan/StackDistances.h"

#include "strata/lib/Support/Npy.h"
#include "strata/lib/Support/TestFolder.h"
#include "strata/runtime/core/SlotTable.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

using namespace strata;
using namespace strata::plan;

/// Rows of steps that keep a part of what they had and take the rest anywhere.
static std::vector<int32_t> makeRows(int64_t steps, int64_t k, int32_t context, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> all(static_cast<size_t>(context)), rows;
  std::iota(all.begin(), all.end(), 0);
  for (int64_t step = 0; step < steps; ++step) {
    // Some of the first k change places with any others, the later ones less often.
    for (int64_t i = 0; i < k / 3; ++i) {
      double far = std::pow(double(random() % 1000) / 1000, 3);
      std::swap(all[random() % size_t(k)], all[size_t(double(context - 1) * far)]);
    }
    rows.insert(rows.end(), all.begin(), all.begin() + k);
  }
  return rows;
}

static double countMisses(const std::vector<int32_t> &rows, int64_t k, int64_t slots,
                          int64_t warmUp) {
  rt::SlotTable table(slots, k);
  int64_t misses = 0, hits = 0;
  for (int64_t step = 0; step * k < int64_t(rows.size()); ++step) {
    table.beginStep();
    rt::SlotPlan plan = table.resolve(rows.data() + step * k, 1, {}, nullptr, nullptr, nullptr);
    if (step >= warmUp)
      misses += plan.misses, hits += plan.hits;
  }
  return double(misses) / double(misses + hits);
}

TEST(StackDistances, AreWhatASlotTableMisses) {
  for (unsigned seed = 0; seed < 4; ++seed) {
    int64_t k = 64;
    std::vector<int32_t> rows = makeRows(400, k, 4000, seed);
    MissCurve curve = measureMissCurve(rows.data(), 400, k, 20);
    ASSERT_GE(curve.slots.size(), 5u);
    for (size_t i = 0; i < curve.slots.size(); ++i) {
      auto slots = int64_t(std::ceil(curve.slots[i] * double(k)));
      EXPECT_NEAR(curve.share[i], countMisses(rows, k, slots, 20), 0.01)
          << "slots " << slots << " seed " << seed;
    }
    EXPECT_TRUE(std::is_sorted(curve.share.rbegin(), curve.share.rend()));
  }
}

TEST(StackDistances, TheSameRowsNeverMiss) {
  std::vector<int32_t> rows;
  for (int step = 0; step < 10; ++step)
    rows.insert(rows.end(), {4, 7, 1, -1});
  MissCurve curve = measureMissCurve(rows.data(), 10, 4, 1);
  ASSERT_EQ(curve.slots.size(), 1u);
  EXPECT_EQ(curve.share[0], 0);
}

TEST(StackDistances, ALoopThatIsLargerThanTheSlotsMissesAllOfIt) {
  // Steps of 2 rows go through 8: LRU has none of them with fewer than 8 slots.
  std::vector<int32_t> rows;
  for (int step = 0; step < 40; ++step)
    rows.insert(rows.end(), {2 * (step % 4), 2 * (step % 4) + 1});
  MissCurve curve = measureMissCurve(rows.data(), 40, 2, 4);
  EXPECT_EQ(curve.at(3), 1);
  EXPECT_EQ(curve.at(4), 0);
}

TEST(StackDistances, NothingAfterTheWarmUpIsNoCurve) {
  int32_t rows[] = {1, 2};
  EXPECT_TRUE(measureMissCurve(rows, 1, 2, 1).slots.empty());
}

TEST(StackDistances, AreReadFromRowsOfEachIndexer) {
  TestFolder folder;
  std::vector<int32_t> rows = makeRows(50, 8, 100, 1), other = makeRows(50, 8, 100, 2);
  MissCurve expected = measureMissCurve(other.data(), 50, 8, 5);
  rows.insert(rows.end(), other.begin(), other.end());
  std::string path = folder.file("rows.npy");
  ASSERT_TRUE(writeNpy(path, {2, 50, 8}, rows.data()).ok());
  Expected<std::vector<MissCurve>> curves = readMissCurves(path);
  ASSERT_TRUE(curves.ok()) << curves.status().message();
  ASSERT_EQ(curves->size(), 2u);
  EXPECT_EQ((*curves)[1].share, expected.share);

  ASSERT_TRUE(writeNpy(path, {100, 8}, rows.data()).ok());
  EXPECT_EQ(readMissCurves(path).status().message(),
            path + ": expected rows [indexers, steps, k] of at least two steps but got [100, 8]");
}
