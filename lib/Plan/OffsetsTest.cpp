//===- OffsetsTest.cpp - Buffers don't overlap ----------------------------===//
#include "strata/lib/Plan/Offsets.h"

#include <gtest/gtest.h>

#include <random>

using namespace strata::plan;

static void expectApart(const std::vector<LiveBytes> &buffers, const Offsets &found) {
  ASSERT_EQ(found.offsets.size(), buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_LE(found.offsets[i] + buffers[i].bytes, found.end);
    for (size_t j = 0; j < i; ++j) {
      bool meet = buffers[i].first <= buffers[j].last && buffers[j].first <= buffers[i].last;
      if (meet && buffers[i].bytes && buffers[j].bytes)
        EXPECT_TRUE(found.offsets[i] + buffers[i].bytes <= found.offsets[j] ||
                    found.offsets[j] + buffers[j].bytes <= found.offsets[i])
            << i << " and " << j;
    }
  }
}

TEST(Offsets, BuffersThatNeverMeetShareAPlace) {
  Offsets found = assignOffsets({{100, 0, 4}, {80, 5, 9}, {30, 3, 6}}, 1);
  EXPECT_EQ(found.maxLive, 130u);
  EXPECT_EQ(found.end, 130u);
  expectApart({{100, 0, 4}, {80, 5, 9}, {30, 3, 6}}, found);
}

TEST(Offsets, AreAligned) {
  Offsets found = assignOffsets({{1, 0, 1}, {65, 0, 1}, {64, 0, 1}}, 64);
  for (uint64_t offset : found.offsets)
    EXPECT_EQ(offset % 64, 0u);
  EXPECT_EQ(found.maxLive, 256u);
  EXPECT_EQ(found.end, 256u);
}

TEST(Offsets, NothingTakesNothing) {
  Offsets found = assignOffsets({}, 64);
  EXPECT_EQ(found.end, 0u);
  EXPECT_EQ(found.maxLive, 0u);
}

TEST(Offsets, RandomBuffersEndNearTheBound) {
  double worst = 1;
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    std::vector<LiveBytes> buffers;
    for (int i = 0; i < 300; ++i) {
      int64_t first = int64_t(random() % 200);
      buffers.push_back({random() % 1000, first, first + int64_t(random() % 40)});
    }
    Offsets found = assignOffsets(buffers, 1);
    expectApart(buffers, found);
    EXPECT_GE(found.end, found.maxLive);
    worst = std::max(worst, double(found.end) / double(found.maxLive));
  }
  EXPECT_LE(worst, 1.15);
}

/// Saved tensors of a training step: made in the forward span, used in the backward one, nested.
TEST(Offsets, NestedLifetimesReachTheBound) {
  std::mt19937 random(1);
  std::vector<LiveBytes> buffers;
  for (int64_t layer = 0; layer < 80; ++layer)
    for (int i = 0; i < 20; ++i)
      buffers.push_back({1 + random() % 1000, layer, 159 - layer});
  Offsets found = assignOffsets(buffers, 1);
  expectApart(buffers, found);
  EXPECT_EQ(found.end, found.maxLive);
}
