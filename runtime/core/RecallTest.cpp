//===- RecallTest.cpp - Which rows two indexers have in common ------------===//
#include "strata/runtime/core/Recall.h"

#include <gtest/gtest.h>

namespace strata::rt {
namespace {

ModelDescription modelOf(std::vector<int64_t> widths) {
  ModelDescription model;
  model.rowWidths = std::move(widths);
  return model;
}

TEST(Recall, SharesOfCommonRows) {
  Expected<RecallSums> sums = RecallSums::create(modelOf({4, 4, 4}));
  ASSERT_TRUE(sums.ok());
  // Token 1 of three; −1 is no row, so it is never shared.
  sums->add({{9, 9, 9, 9, 0, 1, 2, 3}, {9, 9, 9, 9, 1, 3, 5, 7}, {9, 9, 9, 9, 3, 4, -1, -1}}, 1);
  sums->add({{0, 1, 2, 3}, {0, 1, 2, 3}, {4, 5, 6, 7}}, 0);
  EXPECT_EQ(sums->tokens(), 2);
  std::vector<std::vector<double>> matrix = sums->matrix();
  EXPECT_EQ(matrix[0], (std::vector<double>{1, 0.75, 0.125}));
  EXPECT_EQ(matrix[1], (std::vector<double>{0.75, 1, 0.125}));
  EXPECT_EQ(matrix[2], (std::vector<double>{0.125, 0.125, 0.75}));
}

TEST(Recall, EverySixteenthPositionFromKOn) {
  Expected<RecallSums> sums = RecallSums::create(modelOf({8}));
  ASSERT_TRUE(sums.ok());
  std::vector<int64_t> counted;
  for (int64_t position = 0; position < 50; ++position)
    if (sums->counts(position))
      counted.push_back(position);
  EXPECT_EQ(counted, (std::vector<int64_t>{8, 24, 40}));
}

TEST(Recall, Refusals) {
  EXPECT_EQ(RecallSums::create(modelOf({})).status().message(), "the model has no indexers");
  EXPECT_EQ(RecallSums::create(modelOf({8, 4})).status().message(),
            "the model's indexers differ in how many rows they choose: [8, 4]");
}

} // namespace
} // namespace strata::rt
