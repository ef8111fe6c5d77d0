//===- TimelineTest.cpp - Engines, links and stalls -----------------------===//
#include "strata/lib/Sim/Timeline.h"

#include <gtest/gtest.h>

namespace strata::sim {
namespace {

Operation compute(int64_t nanoseconds) {
  Operation operation;
  operation.nanoseconds = nanoseconds;
  return operation;
}
Operation start(int transfer) {
  Operation operation;
  operation.kind = Operation::Kind::Start;
  operation.transfer = transfer;
  return operation;
}
Operation wait(int transfer) {
  Operation operation = start(transfer);
  operation.kind = Operation::Kind::Wait;
  return operation;
}

Transfer transfer(int engine, int64_t bytes, bool toNear = true) {
  Transfer transfer;
  transfer.engine = engine;
  transfer.bytes = bytes;
  transfer.toNear = toNear;
  return transfer;
}

/// Engines of 1 byte a nanosecond on links of their own.
Links makeLinks(size_t engines) {
  Links links;
  links.engines.assign(engines, {1e9, -1, 0});
  return links;
}

TEST(Timeline, WhoHadToWaitGoesOnLater) {
  Operation late = wait(0);
  late.nanoseconds = 5;
  EXPECT_EQ(
      runTimeline({start(0), compute(60), late}, {transfer(0, 100)}, makeLinks(1)).nanoseconds,
      105);
  EXPECT_EQ(
      runTimeline({start(0), compute(200), late}, {transfer(0, 100)}, makeLinks(1)).nanoseconds,
      200);
}

TEST(Timeline, TransfersRunBesideCompute) {
  Timeline timeline =
      runTimeline({start(0), compute(60), wait(0), compute(10)}, {transfer(0, 100)}, makeLinks(1));
  EXPECT_EQ(timeline.nanoseconds, 110);
  EXPECT_EQ(timeline.transferNanoseconds(), 100);
  EXPECT_EQ(timeline.exposedNanoseconds(), 40);
  ASSERT_EQ(timeline.stalls.size(), 1u);
  EXPECT_EQ(timeline.stalls[0].time.begin, 60);
  EXPECT_EQ(timeline.stalls[0].time.end, 100);
}

TEST(Timeline, AnEngineTakesOneAfterTheOther) {
  Timeline timeline = runTimeline({start(0), start(1), wait(1), wait(0)},
                                  {transfer(0, 100), transfer(0, 50)}, makeLinks(1));
  EXPECT_EQ(timeline.transfers[1].begin, 100);
  EXPECT_EQ(timeline.transfers[1].end, 150);
  // The stall is of both: the one before had to end first.
  EXPECT_EQ(timeline.exposed[0], 100);
  EXPECT_EQ(timeline.exposed[1], 50);
  EXPECT_EQ(timeline.stalls.size(), 1u);
}

TEST(Timeline, SetupComesBeforeBytes) {
  Transfer slow = transfer(0, 100);
  slow.setupNanoseconds = 30;
  slow.stretch = 2;
  Timeline timeline = runTimeline({start(0), wait(0)}, {slow}, makeLinks(1));
  EXPECT_EQ(timeline.nanoseconds, 230);
  Transfer none = transfer(0, 0);
  none.setupNanoseconds = 30;
  EXPECT_EQ(runTimeline({start(0), wait(0)}, {none}, makeLinks(1)).nanoseconds, 30);
  EXPECT_EQ(runTimeline({start(0), wait(0)}, {transfer(0, 0)}, makeLinks(1)).nanoseconds, 0);
}

TEST(Timeline, EnginesShareALink) {
  Links links = makeLinks(2);
  links.engines[0].link = links.engines[1].link = 0;
  links.links = {{1e9, 0}};
  // Half the rate each until the shorter one ends.
  Timeline timeline = runTimeline({start(0), start(1), wait(0), wait(1)},
                                  {transfer(0, 100), transfer(1, 50)}, links);
  EXPECT_EQ(timeline.transfers[1].end, 100);
  EXPECT_EQ(timeline.transfers[0].end, 150);
  // An engine that can't use its share leaves it to the other.
  links.engines[1].bandwidth = 0.25e9;
  timeline = runTimeline({start(0), start(1), wait(0), wait(1)}, {transfer(0, 75), transfer(1, 50)},
                         links);
  EXPECT_EQ(timeline.transfers[0].end, 100);
  EXPECT_EQ(timeline.transfers[1].end, 200);
}

TEST(Timeline, BothDirectionsHaveALimitTogether) {
  Links links = makeLinks(2);
  links.engines[0].link = links.engines[1].link = 0;
  links.links = {{1e9, 1.6e9}};
  Timeline timeline = runTimeline({start(0), start(1), wait(0), wait(1)},
                                  {transfer(0, 80), transfer(1, 80, /*toNear=*/false)}, links);
  EXPECT_EQ(timeline.transfers[0].end, 100);
  EXPECT_EQ(timeline.transfers[1].end, 100);
}

TEST(Timeline, EnginesSlowComputeDown) {
  Links links = makeLinks(1);
  links.engines[0].computeSlowdown = 0.5;
  Timeline timeline = runTimeline({start(0), compute(100), wait(0)}, {transfer(0, 100)}, links);
  EXPECT_EQ(timeline.nanoseconds, 150);
  EXPECT_EQ(timeline.stalls.size(), 0u);
}

TEST(Timeline, WhatNobodyWaitsForEndsLater) {
  Timeline timeline = runTimeline({start(0), compute(10)}, {transfer(0, 100)}, makeLinks(1));
  EXPECT_EQ(timeline.nanoseconds, 10);
  EXPECT_EQ(timeline.transfers[0].end, 100);
  EXPECT_EQ(timeline.exposedNanoseconds(), 0);
}

TEST(Timeline, UnlimitedEnginesTakeNoTime) {
  Links links;
  links.engines = {{0, -1, 0}};
  EXPECT_EQ(runTimeline({start(0), wait(0)}, {transfer(0, 1 << 30)}, links).nanoseconds, 0);
}

} // namespace
} // namespace strata::sim
