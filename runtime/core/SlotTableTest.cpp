//===- SlotTableTest.cpp --------------------------------------------------===//
#include "strata/runtime/core/SlotTable.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace strata::rt;

namespace {

/// The rules of SlotTable.h by plain searches.
class Oracle {
public:
  Oracle(int64_t slots, int64_t k) : slots_(size_t(slots)), k_(k) {}

  struct Slot {
    int32_t record = -1;
    int64_t used = 0;
  };

  int find(int32_t record) const {
    for (size_t i = 0; i < slots_.size(); ++i)
      if (slots_[i].record == record)
        return int(i);
    return -1;
  }

  /// The slot to take: an empty one, else the one used longest ago.
  int oldest() const {
    size_t best = 0;
    for (size_t i = 1; i < slots_.size(); ++i) {
      bool empty = slots_[i].record < 0, bestEmpty = slots_[best].record < 0;
      if (empty != bestEmpty ? empty : (!empty && slots_[i].used < slots_[best].used))
        best = i;
    }
    return int(best);
  }

  struct Result {
    std::vector<int64_t> ends;
    std::vector<std::set<int32_t>> missed; ///< by block
    int64_t hits = 0, misses = 0, own = 0;
  };

  Result resolve(const std::vector<int32_t> &records, const std::vector<int32_t> &own) {
    Result result;
    int64_t tokens = int64_t(records.size()) / k_;
    for (int32_t record : own)
      if (int slot = find(record); slot >= 0)
        slots_[size_t(slot)] = {};
    for (int64_t first = 0; first < tokens;) {
      std::set<int32_t> distinct;
      int64_t end = first;
      for (; end < tokens; ++end) {
        std::set<int32_t> with = distinct;
        for (int64_t j = 0; j < k_; ++j)
          if (records[size_t(end * k_ + j)] >= 0)
            with.insert(records[size_t(end * k_ + j)]);
        if (with.size() > slots_.size())
          break;
        distinct = with;
      }
      std::vector<int32_t> order;
      for (int64_t i = first * k_; i < end * k_; ++i)
        if (records[size_t(i)] >= 0 &&
            std::find(order.begin(), order.end(), records[size_t(i)]) == order.end())
          order.push_back(records[size_t(i)]);
      std::set<int32_t> missed;
      for (int32_t record : order)
        if (int slot = find(record); slot >= 0)
          slots_[size_t(slot)].used = ++time_, ++result.hits;
        else
          missed.insert(record);
      for (int32_t record : order)
        if (missed.count(record)) {
          slots_[size_t(oldest())] = {record, ++time_};
          ++(std::find(own.begin(), own.end(), record) == own.end() ? result.misses : result.own);
        }
      result.ends.push_back(end);
      result.missed.push_back(missed);
      first = end;
    }
    return result;
  }

  std::vector<Slot> slots_;
  int64_t k_, time_ = 0;
};

/// What a hot set holds: which record's which version.
struct Trace {
  std::mt19937 random;
  int64_t k, slots, pageSize = 4;
  int below(int64_t bound) { return int(random() % uint32_t(bound)); }
};

int stepCount() {
  const char *counts = std::getenv("STRATA_TEST_COUNTS");
  return counts && std::strcmp(counts, "full") == 0 ? 20000 : 400;
}

/// Sequences come, grow and go; pages are used again. Each token attends to some of its sequence's
/// positions, or to all.
void runTrace(uint32_t seed, bool speculate) {
  Trace trace{std::mt19937(seed), 0, 0};
  trace.k = 1 + trace.below(6);
  trace.slots = trace.below(3) == 0 ? trace.k : trace.k + trace.below(4 * trace.k);
  SlotTable table(trace.slots, trace.k);
  Oracle oracle(trace.slots, trace.k);

  struct Sequence {
    int64_t length = 0;
    std::vector<int32_t> pages;
  };
  std::vector<Sequence> sequences(3);
  std::vector<int32_t> freePages{5, 3, 0, 1, 4, 2, 9, 8, 7, 6, 11, 10};
  std::vector<int32_t> version(size_t(trace.pageSize) * 12, 0); ///< of each record
  std::vector<std::pair<int32_t, int32_t>> content(size_t(trace.slots), {-1, -1});
  int32_t time = 0;

  for (int step = 0, count = stepCount() / 20; step < count; ++step) {
    std::vector<int32_t> records, own;
    for (Sequence &sequence : sequences) {
      if (trace.below(6) == 0) {
        freePages.insert(freePages.end(), sequence.pages.begin(), sequence.pages.end());
        sequence = {};
        std::shuffle(freePages.begin(), freePages.end(), trace.random);
      }
      int64_t tokens = trace.below(4) == 0 ? trace.below(9) : trace.below(2);
      for (int64_t n = 0; n < tokens && sequence.length < 16; ++n, ++sequence.length) {
        if (sequence.length % trace.pageSize == 0) {
          sequence.pages.push_back(freePages.back());
          freePages.pop_back();
        }
        auto recordAt = [&](int64_t position) {
          return int32_t(sequence.pages[size_t(position / trace.pageSize)] * trace.pageSize +
                         position % trace.pageSize);
        };
        own.push_back(recordAt(sequence.length));
        std::set<int64_t> positions;
        int64_t wanted = std::min(trace.k, sequence.length + 1) - trace.below(2);
        while (int64_t(positions.size()) < wanted)
          positions.insert(trace.below(sequence.length + 1));
        for (int64_t position : positions)
          records.push_back(recordAt(position));
        records.insert(records.end(), size_t(trace.k) - positions.size(), -1);
      }
    }
    int64_t tokens = int64_t(own.size());
    if (tokens == 0)
      continue;
    table.beginStep();
    auto play = [&](const SlotPlan::Block &block) {
      for (const SlotMiss &miss : block.misses) {
        if (miss.token >= 0)
          ASSERT_EQ(miss.record, own[size_t(miss.token)]);
        content[size_t(miss.slot)] = {miss.record, version[size_t(miss.record)]};
      }
    };
    if (speculate) {
      // Of the step before the writing: nothing that the step writes.
      std::vector<int32_t> guess(records);
      int64_t limit = 1 + trace.below(2 * trace.k);
      SlotPlan plan = table.speculate(guess.data(), tokens, own, limit);
      ASSERT_LE(int64_t(plan.blocks[0].misses.size()), limit);
      for (const SlotMiss &miss : plan.blocks[0].misses) {
        ASSERT_EQ(miss.token, -1);
        ASSERT_EQ(std::find(own.begin(), own.end(), miss.record), own.end());
      }
      play(plan.blocks[0]);
    }
    for (int32_t record : own)
      version[size_t(record)] = ++time;

    std::vector<int32_t> slots(records.size()), hits(slots), misses(slots);
    SlotPlan plan =
        table.resolve(records.data(), tokens, own, slots.data(), hits.data(), misses.data());
    for (int32_t slot : plan.freed)
      content[size_t(slot)] = {-1, -1};
    if (!speculate) {
      Oracle::Result expected = oracle.resolve(records, own);
      ASSERT_EQ(plan.hits, expected.hits);
      ASSERT_EQ(plan.misses, expected.misses);
      ASSERT_EQ(plan.own, expected.own);
      ASSERT_EQ(plan.blocks.size(), expected.ends.size());
      for (size_t b = 0; b < plan.blocks.size(); ++b) {
        ASSERT_EQ(plan.blocks[b].endToken, expected.ends[b]);
        std::set<int32_t> missed;
        for (const SlotMiss &miss : plan.blocks[b].misses)
          ASSERT_TRUE(missed.insert(miss.record).second);
        ASSERT_EQ(missed, expected.missed[b]);
      }
    }
    int64_t next = 0;
    for (const SlotPlan::Block &block : plan.blocks) {
      ASSERT_EQ(block.firstToken, next);
      ASSERT_GT(block.endToken, next);
      next = block.endToken;
      std::set<int32_t> filled;
      for (const SlotMiss &miss : block.misses)
        ASSERT_TRUE(filled.insert(miss.slot).second);
      // Hits are there before the misses come.
      auto holds = [&](int32_t slot, int32_t record) {
        return content[size_t(slot)] == std::make_pair(record, version[size_t(record)]);
      };
      for (int64_t i = block.firstToken * trace.k; i < block.endToken * trace.k; ++i)
        if (hits[size_t(i)] >= 0) {
          ASSERT_TRUE(holds(hits[size_t(i)], records[size_t(i)]));
          ASSERT_EQ(filled.count(hits[size_t(i)]), 0u);
        }
      play(block);
      for (int64_t i = block.firstToken * trace.k; i < block.endToken * trace.k; ++i) {
        size_t at = size_t(i);
        if (records[at] < 0) {
          ASSERT_TRUE(slots[at] == -1 && hits[at] == -1 && misses[at] == -1);
          continue;
        }
        ASSERT_TRUE(holds(slots[at], records[at]));
        ASSERT_TRUE((hits[at] == slots[at] && misses[at] == -1) ||
                    (misses[at] == slots[at] && hits[at] == -1));
      }
    }
    ASSERT_EQ(next, tokens);
  }
}

SlotPlan resolve(SlotTable &table, const std::vector<int32_t> &records, int64_t k,
                 const std::vector<int32_t> &own = {}) {
  return table.resolve(records.data(), int64_t(records.size()) / k, own, nullptr, nullptr, nullptr);
}

TEST(SlotTable, AgreesWithPlainSearches) {
  for (int seed = 0; seed < stepCount() / 4; ++seed)
    ASSERT_NO_FATAL_FAILURE(runTrace(uint32_t(seed), false)) << "seed " << seed;
}

TEST(SlotTable, SpeculationGivesRecordsThatAreThere) {
  for (int seed = 0; seed < stepCount() / 4; ++seed)
    ASSERT_NO_FATAL_FAILURE(runTrace(uint32_t(seed), true)) << "seed " << seed;
}

TEST(SlotTable, TakesTheSlotUsedLongestAgo) {
  SlotTable table(3, 1);
  for (int32_t record : {10, 11, 12, 10})
    resolve(table, {record}, 1);
  SlotPlan plan = resolve(table, {13}, 1);
  ASSERT_EQ(plan.blocks[0].misses.size(), 1u);
  EXPECT_EQ(plan.blocks[0].misses[0].slot, 1);
  EXPECT_EQ(resolve(table, {10}, 1).hits, 1);
  EXPECT_EQ(resolve(table, {11}, 1).misses, 1);
}

TEST(SlotTable, RecordsOfManyTokensComeInBlocks) {
  SlotTable table(4, 2);
  SlotPlan plan = resolve(table, {0, 1, 1, 2, 2, 3, 3, 4, 4, -1}, 2);
  ASSERT_EQ(plan.blocks.size(), 2u);
  EXPECT_EQ(plan.blocks[0].endToken, 3);
  EXPECT_EQ(plan.hits, 1); // 3 is still there
  EXPECT_EQ(plan.misses, 5);
}

TEST(SlotTable, WhatAStepWritesComesFromTheStage) {
  SlotTable table(4, 2);
  resolve(table, {7, 8}, 2);
  SlotPlan plan = resolve(table, {7, 8}, 2, {8});
  EXPECT_EQ(plan.hits, 1);
  EXPECT_EQ(plan.misses, 0);
  EXPECT_EQ(plan.own, 1);
  EXPECT_EQ(plan.freed.size(), 1u);
  ASSERT_EQ(plan.blocks[0].misses.size(), 1u);
  EXPECT_EQ(plan.blocks[0].misses[0].token, 0);
  // Once written it is as any other.
  EXPECT_EQ(resolve(table, {7, 8}, 2).hits, 2);
}

TEST(SlotTable, SpeculationKeepsTheStepsSlots) {
  SlotTable table(4, 2);
  resolve(table, {0, 1}, 2);
  table.beginStep();
  resolve(table, {2, 3}, 2);
  std::vector<int32_t> guess{4, 5, 6, 7};
  SlotPlan plan = table.speculate(guess.data(), 2, {}, 3);
  EXPECT_EQ(plan.misses, 2);
  EXPECT_EQ(resolve(table, {2, 3}, 2).hits, 2);
  EXPECT_EQ(resolve(table, {4, 5}, 2).hits, 2);
}

TEST(SlotTable, ForgetsPages) {
  SlotTable table(4, 4);
  resolve(table, {0, 5, 6, 9}, 4);
  table.forget(4, 8);
  EXPECT_EQ(resolve(table, {0, 5, 6, 9}, 4).hits, 2);
  table.clear();
  EXPECT_EQ(resolve(table, {0, 5, 6, 9}, 4).hits, 0);
}

} // namespace
