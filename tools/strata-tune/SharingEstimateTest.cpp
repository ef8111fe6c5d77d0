//===- SharingEstimateTest.cpp - What sharing may cost --------------------===//
#include "SharingEstimate.h"

#include <gtest/gtest.h>

namespace strata::tune {
namespace {

/// Rows agree less the further indexers are apart: 1 − distance / 10.
Matrix fadingRecall(size_t indexers) {
  Matrix recall(indexers, std::vector<double>(indexers));
  for (size_t i = 0; i < indexers; ++i)
    for (size_t j = 0; j < indexers; ++j)
      recall[i][j] = 1 - (i > j ? double(i - j) : double(j - i)) / 10;
  return recall;
}

TEST(SharingEstimate, MissedRowsOfFollowers) {
  SharingEstimate estimate("FFFF", fadingRecall(4));
  EXPECT_NEAR(estimate.of("FFFF"), 0, 1e-12);
  EXPECT_NEAR(estimate.of("FSFF"), 0.1, 1e-12);
  EXPECT_NEAR(estimate.of("FSSF"), 0.3, 1e-12);
}

TEST(SharingEstimate, LayersThatShareAnywayCostWhatTheirLeaderMisses) {
  SharingEstimate estimate("FSFS", fadingRecall(2));
  EXPECT_NEAR(estimate.of("FSFS"), 0, 1e-12);
  EXPECT_NEAR(estimate.of("FSSS"), 0.2, 1e-12);
}

TEST(SharingEstimate, LearntSensitivity) {
  SharingEstimate estimate("FFFF", fadingRecall(4));
  estimate.learn(2, 0.5, 0);
  EXPECT_NEAR(estimate.of("FFSF"), 0.5, 1e-12);
  EXPECT_NEAR(estimate.of("FSSF"), 0.1 + 2 * 0.5, 1e-12);
  estimate.learn(1, -1, 0.01);
  EXPECT_NEAR(estimate.of("FSFF"), 0.01, 1e-12);
}

TEST(SharingEstimate, IndexersThatAgreeCostNothing) {
  SharingEstimate estimate("FF", {{1, 1}, {1, 1}});
  estimate.learn(1, 0.5, 0.01);
  EXPECT_EQ(estimate.of("FS"), 0);
}

TEST(SharingEstimate, BestOfEachCount) {
  SharingEstimate estimate("FFFFFF", fadingRecall(6));
  EXPECT_EQ(estimate.best(6), "FFFFFF");
  EXPECT_EQ(estimate.best(3), "FSFSFS");
  EXPECT_EQ(estimate.best(2), "FSSFSS");
  EXPECT_EQ(estimate.best(1), "FSSSSS");
  // A layer that is hurt more keeps its indexer.
  estimate.learn(1, 10, 0);
  EXPECT_EQ(estimate.best(2), "FFSSSS");
}

TEST(SharingEstimate, OnlyDeclaredIndexersLead) {
  SharingEstimate estimate("FSSFSFSS", fadingRecall(3));
  EXPECT_EQ(estimate.best(3), "FSSFSFSS");
  EXPECT_EQ(countLeaders(estimate.best(2)), 2);
  EXPECT_EQ(estimate.best(1), "FSSSSSSS");
}

} // namespace
} // namespace strata::tune
