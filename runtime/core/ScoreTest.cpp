//===- ScoreTest.cpp - Windows of a text, and what they score -------------===//
#include "strata/runtime/core/Score.h"

#include "strata/runtime/core/FakeExecutor.h"

#include <cmath>

namespace strata::rt {
namespace {

ModelDescription byteModel() {
  ModelDescription model;
  model.vocabularySize = 256;
  model.maxPositions = 100;
  model.pageSize = 4;
  model.rowWidths = {3, 3};
  return model;
}

std::string textOf(int64_t bytes) {
  std::string text;
  for (int64_t i = 0; i < bytes; ++i)
    text += char(i * i * 7 + 3 * i);
  return text;
}

/// What the fake model says of a window, without steps, pages and batches.
double expectedScore(std::string_view text, int64_t begin, int64_t length) {
  double sum = 0;
  std::vector<int32_t> seen;
  for (int64_t i = begin; i < begin + length; ++i) {
    seen.push_back(static_cast<unsigned char>(text[size_t(i)]));
    std::vector<float> logits = FakeExecutor::logitsOf(seen, 256);
    double total = 0;
    for (float logit : logits)
      total += std::exp(double(logit) - 1000);
    sum += std::log(total) + 1000 - logits[static_cast<unsigned char>(text[size_t(i) + 1])];
  }
  return sum / double(length);
}

Expected<std::vector<double>> score(std::string_view text, std::vector<int64_t> windows,
                                    ScoreOptions options, RecallSums *recall = nullptr) {
  ExecutorOptions limits;
  planScore(byteModel(), options, int64_t(windows.size()), limits);
  FakeExecutor executor(byteModel(), limits);
  ScoreStatistics statistics;
  Expected<std::vector<double>> scores =
      scoreWindows(executor, limits, text, windows, options, statistics, recall);
  EXPECT_EQ(statistics.tokens, int64_t(windows.size()) * options.window);
  return scores;
}

TEST(Score, WholeWindowsWithATargetForEachInput) {
  EXPECT_EQ(windowCount(0, 8), 0);
  EXPECT_EQ(windowCount(8, 8), 0);
  EXPECT_EQ(windowCount(9, 8), 1);
  EXPECT_EQ(windowCount(16, 8), 1);
  EXPECT_EQ(windowCount(17, 8), 2);
}

TEST(Score, ChunksAndBatchesDoNotChangeTheResult) {
  std::string text = textOf(60);
  for (int64_t window : {1, 3, 8, 10})
    for (int64_t chunk : {1, 2, 3, 7, 8, 9, 16, 25, 100}) {
      std::vector<int64_t> windows{0, 4, 1, 2};
      Expected<std::vector<double>> scores = score(text, windows, {window, chunk});
      ASSERT_TRUE(scores.ok()) << scores.status().message();
      for (size_t i = 0; i < windows.size(); ++i)
        EXPECT_NEAR((*scores)[i], expectedScore(text, windows[i] * window, window), 1e-9)
            << "window " << window << " chunk " << chunk;
    }
}

TEST(Score, RowsOfAllWindowsGoIntoTheRecall) {
  Expected<RecallSums> recall = RecallSums::create(byteModel());
  ASSERT_TRUE(recall.ok());
  ASSERT_TRUE(score(textOf(60), {0, 1}, {20, 7}, &*recall).ok());
  EXPECT_EQ(recall->tokens(), 4); // positions 3 and 19 of each
}

TEST(Score, LimitsOfTheExecutor) {
  ExecutorOptions limits;
  planScore(byteModel(), {10, 256}, 3, limits);
  EXPECT_EQ(limits.maxTokens, 30);
  EXPECT_EQ(limits.maxSequences, 3);
  EXPECT_EQ(limits.maxPages, 9);
  planScore(byteModel(), {100, 10}, 50, limits);
  EXPECT_EQ(limits.maxTokens, 10);
  EXPECT_EQ(limits.maxWanted, 10);
  EXPECT_EQ(limits.maxSequences, 2);
  planScore(byteModel(), {100, kMaxStepTokens}, 100000, limits);
  EXPECT_EQ(limits.maxWanted * 256 * 4, 64 << 20);
}

TEST(Score, AFailedStep) {
  ExecutorOptions limits;
  ScoreOptions options{4, 4};
  planScore(byteModel(), options, 1, limits);
  FakeExecutor executor(byteModel(), limits);
  executor.failNext = true;
  ScoreStatistics statistics;
  EXPECT_EQ(scoreWindows(executor, limits, textOf(9), {0}, options, statistics).status().message(),
            "the fake executor was told to fail");
}

TEST(Score, Refusals) {
  auto errorOf = [](const ModelDescription &model, const std::string &text, int64_t window) {
    return checkScore(model, text, {window, 256}).message();
  };
  EXPECT_EQ(errorOf(byteModel(), "", 8), "the text is empty");
  EXPECT_EQ(errorOf(byteModel(), "12345678", 8),
            "expected at least 9 bytes, a window of 8 and the byte after it, but the text has 8");
  EXPECT_EQ(errorOf(byteModel(), "123456789", 8), "");
  EXPECT_EQ(errorOf(byteModel(), "123456789", 101),
            "expected a window of at most 100 bytes, the model's positions, but got 101");
  ModelDescription small = byteModel();
  small.vocabularySize = 16;
  EXPECT_EQ(errorOf(small, "123456789", 8),
            "expected a vocabulary of the 256 bytes, which a text is scored by, but the model's "
            "has 16 entries");
}

} // namespace
} // namespace strata::rt
