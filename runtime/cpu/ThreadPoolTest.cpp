//===- ThreadPoolTest.cpp -------------------------------------------------===//
#include "strata/runtime/cpu/ThreadPool.h"

#include <gtest/gtest.h>
#include <numeric>
#include <sched.h>
#include <unistd.h>

using namespace strata;
using namespace strata::rt;

static std::unique_ptr<ThreadPool> makePool(int threads) {
  Expected<std::unique_ptr<ThreadPool>> pool = ThreadPool::create(threads);
  EXPECT_TRUE(pool.ok());
  return std::move(*pool);
}

TEST(ThreadPool, PiecesCoverTheItemsOnceAndAreNotTooSmall) {
  for (int threads : {1, 2, 3, 8}) {
    std::unique_ptr<ThreadPool> pool = makePool(threads);
    EXPECT_EQ(pool->threads(), threads);
    for (int64_t items : {0, 1, 2, 7, 64, 1000})
      for (int64_t grain : {0, 1, 3, 64, 5000}) {
        std::vector<std::atomic<int>> visits(static_cast<size_t>(items));
        std::atomic<bool> wrong{false};
        pool->parallelFor(items, grain, [&](int64_t begin, int64_t end, int thread) {
          if (begin >= end || end > items || thread < 0 || thread >= threads ||
              end - begin < std::min(grain, items))
            wrong = true;
          for (int64_t i = begin; i < end; ++i)
            ++visits[size_t(i)];
        });
        EXPECT_FALSE(wrong) << items << " items, grain " << grain;
        for (std::atomic<int> &count : visits)
          EXPECT_EQ(count, 1);
      }
  }
}

TEST(ThreadPool, HugeItemCountsDoNotOverflow) {
  std::unique_ptr<ThreadPool> pool = makePool(3);
  std::atomic<int64_t> sum{0};
  pool->parallelFor(INT64_MAX, 1, [&](int64_t begin, int64_t end, int) { sum += end - begin; });
  EXPECT_EQ(sum, INT64_MAX);
}

TEST(ThreadPool, WritesOfOneLoopAreSeenByTheNext) {
  std::unique_ptr<ThreadPool> pool = makePool(4);
  std::vector<int64_t> values(257);
  for (int round = 0; round < 5000; ++round)
    pool->parallelFor(int64_t(values.size()), 1, [&](int64_t begin, int64_t end, int) {
      // The other end of the array, so that pieces read what other threads wrote last.
      for (int64_t i = begin; i < end; ++i)
        values[size_t(round % 2 ? i : int64_t(values.size()) - 1 - i)] += 1;
    });
  EXPECT_EQ(std::accumulate(values.begin(), values.end(), int64_t(0)), 5000 * 257);
}

TEST(ThreadPool, WorkersWakeAfterALongPause) {
  std::unique_ptr<ThreadPool> pool = makePool(2);
  for (int round = 0; round < 5; ++round) {
    usleep(5000); // long enough for workers to leave the spin loop
    std::atomic<int> pieces{0}, workers{0};
    pool->parallelFor(2, 1, [&](int64_t, int64_t, int thread) {
      workers += thread != 0;
      // Each waits for the other: this ends only if two threads are at work.
      ++pieces;
      while (pieces < 2)
        sched_yield();
    });
    EXPECT_EQ(workers, 1);
  }
}

TEST(ThreadPool, SlowWorkersAreWaitedFor) {
  std::unique_ptr<ThreadPool> pool = makePool(2);
  std::atomic<bool> started{false}, finished{false};
  pool->parallelFor(2, 1, [&](int64_t, int64_t, int thread) {
    if (thread == 0) {
      while (!started)
        sched_yield();
      return;
    }
    started = true;
    usleep(20000); // the caller falls asleep meanwhile
    finished = true;
  });
  EXPECT_TRUE(finished);
}

TEST(ThreadPool, StartsAndStopsOften) {
  for (int round = 0; round < 200; ++round) {
    std::unique_ptr<ThreadPool> pool = makePool(3);
    if (round % 2)
      pool->parallelFor(3, 1, [](int64_t, int64_t, int) {});
  }
}

TEST(ThreadPool, ZeroThreadsMeansAllProcessorsOfTheMask) {
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  EXPECT_EQ(makePool(0)->threads(), CPU_COUNT(&set));
}

TEST(ThreadPool, RefusesCountsThatCannotBe) {
  EXPECT_FALSE(ThreadPool::create(-1).ok());
  EXPECT_FALSE(ThreadPool::create(ThreadPool::kMaxThreads + 1).ok());
}
