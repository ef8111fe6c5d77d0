//===- TopKTest.cpp -------------------------------------------------------===//
#include "strata/runtime/cpu/TopK.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>

using namespace strata::rt;

static constexpr float kInfinity = std::numeric_limits<float>::infinity();
static constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// The definition: sort all positions.
static std::vector<int32_t> sortedRow(const std::vector<float> &scores, int64_t k) {
  std::vector<int32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  auto value = [&](int32_t i) { return std::isnan(scores[i]) ? -kInfinity : scores[i]; };
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return value(a) != value(b) ? value(a) > value(b) : a < b;
  });
  order.resize(std::min<size_t>(size_t(k), order.size()));
  std::sort(order.begin(), order.end());
  return order;
}

static std::vector<int32_t> positions(TopK::Best best) {
  std::vector<int32_t> row;
  for (int64_t i = 0; i < best.count; ++i)
    row.push_back(positionOf(best.candidates[i]));
  return row;
}

/// A selection with room of its own.
struct OwningTopK : private std::vector<Candidate>, public TopK {
  OwningTopK(int64_t k, int64_t block)
      : std::vector<Candidate>(size_t(storageSize(k, block))), TopK(k, block, data()) {}
};

static std::vector<int32_t> selectedRow(const std::vector<float> &scores, int64_t k,
                                        int64_t block) {
  OwningTopK topK(k, block);
  for (int64_t begin = 0; begin < int64_t(scores.size()); begin += block)
    topK.add(scores.data() + begin, std::min(block, int64_t(scores.size()) - begin), begin);
  return positions(topK.best());
}

static void expectRow(const std::vector<float> &scores, int64_t k, int64_t block) {
  EXPECT_EQ(selectedRow(scores, k, block), sortedRow(scores, k))
      << scores.size() << " scores, k " << k << ", block " << block;
}

// Row 41 of the list of known errors.
TEST(TopK, Row41ZeroPlateauIsFilledFromTheFront) {
  std::vector<float> scores(5000);
  for (size_t i = 0; i < scores.size(); i += 3)
    scores[i] = -0.0f;
  scores[1234] = 1;
  scores[4000] = 2;
  scores[4999] = 3;
  std::vector<int32_t> expected(61);
  std::iota(expected.begin(), expected.end(), 0);
  expected.insert(expected.end(), {1234, 4000, 4999});
  for (int64_t block : {1, 7, 64, 2048, 5000})
    EXPECT_EQ(selectedRow(scores, 64, block), expected);
}

TEST(TopK, RowsOfOneValueGiveTheFirstPositions) {
  for (float value : {0.0f, -0.0f, 1.0f, -kInfinity, kInfinity, kNaN, 1e-45f}) {
    std::vector<float> scores(1000, value);
    expectRow(scores, 10, 64);
    expectRow(scores, 999, 64);
    expectRow(scores, 1000, 64);
    expectRow(scores, 2000, 64);
  }
}

TEST(TopK, NaNCountsAsMinusInfinityAndIsCounted) {
  std::vector<float> scores = {kNaN, -kInfinity, 1, kNaN, -kInfinity, -1, -kNaN};
  OwningTopK topK(4, 7);
  topK.add(scores.data(), 7, 0);
  EXPECT_EQ(positions(topK.best()), (std::vector<int32_t>{0, 1, 2, 5}));
  EXPECT_EQ(topK.nanScores(), 3);
}

TEST(TopK, AscendingAndDescendingRows) {
  std::vector<float> scores(20000);
  std::iota(scores.begin(), scores.end(), -10000.0f);
  expectRow(scores, 100, 256);
  std::reverse(scores.begin(), scores.end());
  expectRow(scores, 100, 256);
}

// Row 43: 10⁴ random rows with everything that a float can be.
TEST(TopK, Row43RandomRowsEqualASort) {
  std::mt19937 random(43);
  auto below = [&](uint32_t bound) { return int64_t(random() % bound); };
  for (int round = 0; round < 10000; ++round) {
    std::vector<float> scores(size_t(1 + below(round % 50 == 0 ? 5000 : 300)));
    int64_t kinds = 1 + below(7);
    for (float &score : scores) {
      switch (below(uint32_t(kinds))) {
      case 0:
        score = std::normal_distribution<float>()(random);
        break;
      case 1:
        score = below(2) ? 0.0f : -0.0f;
        break;
      case 2:
        score = float(below(5)) - 2;
        break;
      case 3:
        score = float(below(9) - 4) * 1e-45f;
        break;
      case 4:
        score = -kInfinity;
        break;
      case 5:
        score = below(2) ? kNaN : -kNaN;
        break;
      case 6:
        score = below(2) ? kInfinity : std::numeric_limits<float>::lowest();
        break;
      }
    }
    expectRow(scores, 1 + below(200), 1 + below(100));
  }
}

// Row 45: the same row however often it runs and however the scores are cut.
TEST(TopK, Row45RepeatedRunsGiveTheSameRow) {
  std::mt19937 random(45);
  std::vector<float> scores(10000);
  for (float &score : scores)
    score = float(random() % 100);
  std::vector<int32_t> first = selectedRow(scores, 512, 128);
  for (int64_t run = 0; run < 20; ++run)
    EXPECT_EQ(selectedRow(scores, 512, 1 + 97 * run), first);
}

// Row 68: merging the best of parts is exact, ties included.
TEST(TopK, Row68PartsMergeExactly) {
  std::mt19937 random(68);
  for (int round = 0; round < 300; ++round) {
    std::vector<float> scores(size_t(200 + random() % 800));
    for (float &score : scores)
      score = float(int(random() % 7) - 3);
    int64_t k = 1 + random() % 100, part = 100;
    std::vector<Candidate> merged;
    for (int64_t begin = 0; begin < int64_t(scores.size()); begin += part) {
      OwningTopK topK(k, 64);
      int64_t end = std::min(begin + part, int64_t(scores.size()));
      for (int64_t at = begin; at < end; at += 64)
        topK.add(&scores[size_t(at)], std::min<int64_t>(64, end - at), at);
      TopK::Best best = topK.best();
      merged.insert(merged.end(), best.candidates, best.candidates + best.count);
    }
    std::vector<Candidate> scratch(merged.size());
    keepBest(merged.data(), int64_t(merged.size()), k, scratch.data());
    EXPECT_EQ(positions({merged.data(), k}), sortedRow(scores, k));
  }
}

// Row 48: what lies behind the scores is never looked at.
TEST(TopK, Row48ScoresBehindTheEndAreNotRead) {
  std::vector<float> scores(256, kNaN);
  for (int i = 0; i < 5; ++i)
    scores[size_t(i)] = float(i);
  OwningTopK topK(3, 256);
  topK.add(scores.data(), 5, 0);
  EXPECT_EQ(positions(topK.best()), (std::vector<int32_t>{2, 3, 4}));
  EXPECT_EQ(topK.nanScores(), 0);
}
