//===- SlotTable.cpp - Which record lies in which slot --------------------===//
//
// All slots are in one list by their last use; those without a record are at its old end. So the
// oldest slot is a free one if there is any, and never one of the current block: a block has at
// most as many records as there are slots, and what it uses moves to the new end first.
//
//===----------------------------------------------------------------------===//
#include "strata/runtime/core/SlotTable.h"

#include <algorithm>
#include <cassert>

namespace strata::rt {

SlotTable::SlotTable(int64_t slots, int64_t k) : k_(k), slots_(size_t(slots)) {
  assert(slots >= k && k >= 1 && "a token's records must have room");
  for (int32_t slot = int32_t(slots) - 1; slot >= 0; --slot)
    linkOldest(slot);
}

SlotTable::Record &SlotTable::recordOf(int32_t number) {
  if (size_t(number) >= records_.size())
    records_.resize(std::max(size_t(number) + 1, records_.size() + records_.size() / 2));
  return records_[size_t(number)];
}

void SlotTable::markOwn(const std::vector<int32_t> &own, bool isOwn) {
  for (size_t n = 0; n < own.size(); ++n)
    recordOf(own[n]).token = isOwn ? int32_t(n) : -1;
}

/// The tokens from `first` on whose distinct records fit into the slots.
int64_t SlotTable::blockEnd(const int32_t *records, int64_t first, int64_t tokens) {
  int64_t distinct = 0;
  for (int64_t token = first; token < tokens; ++token) {
    for (int64_t j = 0; j < k_; ++j) {
      int32_t number = records[token * k_ + j];
      if (number < 0)
        continue;
      Record &record = recordOf(number);
      if (record.block == now_)
        continue;
      record.block = now_;
      if (++distinct > slots())
        return token;
    }
  }
  return tokens;
}

SlotPlan SlotTable::resolve(const int32_t *records, int64_t tokens, const std::vector<int32_t> &own,
                            int32_t *slotsOf, int32_t *hits, int32_t *misses) {
  SlotPlan plan;
  for (int32_t number : own)
    if (int32_t slot = recordOf(number).slot; slot >= 0) {
      release(slot);
      plan.freed.push_back(slot);
    }
  markOwn(own, true);
  for (int64_t first = 0; first < tokens;) {
    ++now_;
    SlotPlan::Block block;
    block.firstToken = first;
    block.endToken = blockEnd(records, first, tokens);
    int64_t begin = first * k_, end = block.endToken * k_;
    // What is there moves to the new end before anything is taken from the old one.
    for (int64_t i = begin; i < end; ++i) {
      int32_t slot = records[i] < 0 ? -1 : recordOf(records[i]).slot;
      if (slot >= 0 && slots_[size_t(slot)].used != now_) {
        use(slot);
        ++plan.hits;
      }
      if (slotsOf)
        slotsOf[i] = hits[i] = slot, misses[i] = -1;
    }
    plan.blocks.push_back(std::move(block));
    for (int64_t i = begin; i < end; ++i) {
      if (records[i] < 0)
        continue;
      bool isOwn = recordOf(records[i]).token >= 0;
      if (recordOf(records[i]).slot < 0) {
        bool taken = takeOldest(records[i], plan);
        assert(taken && "a block has room");
        (void)taken;
        ++(isOwn ? plan.own : plan.misses);
      }
      if (slotsOf && hits[i] < 0)
        slotsOf[i] = misses[i] = recordOf(records[i]).slot;
    }
    first = plan.blocks.back().endToken;
  }
  markOwn(own, false);
  if (slotsOf && !plan.isOneBlock()) {
    std::fill_n(hits, tokens * k_, -1);
    std::copy_n(slotsOf, tokens * k_, misses);
  }
  return plan;
}

SlotPlan SlotTable::speculate(const int32_t *records, int64_t tokens,
                              const std::vector<int32_t> &own, int64_t limit) {
  SlotPlan plan;
  plan.blocks.emplace_back();
  ++now_;
  markOwn(own, true);
  int64_t count = tokens * k_;
  for (int64_t i = 0; i < count; ++i)
    if (records[i] >= 0 && recordOf(records[i]).token < 0)
      if (int32_t slot = recordOf(records[i]).slot;
          slot >= 0 && slots_[size_t(slot)].used != now_) {
        use(slot);
        ++plan.hits;
      }
  for (int64_t i = 0; i < count && plan.misses < limit; ++i) {
    if (records[i] < 0 || recordOf(records[i]).token >= 0 || recordOf(records[i]).slot >= 0)
      continue;
    if (slots_[size_t(oldest_)].used >= stepBegin_ || !takeOldest(records[i], plan))
      break;
    ++plan.misses;
  }
  markOwn(own, false);
  return plan;
}

/// Gives the oldest slot to a record of the last block. False if the block uses all of them.
bool SlotTable::takeOldest(int32_t record, SlotPlan &plan) {
  int32_t slot = oldest_;
  Slot &taken = slots_[size_t(slot)];
  if (taken.used == now_)
    return false;
  if (taken.record >= 0)
    recordOf(taken.record).slot = -1;
  taken.record = record;
  recordOf(record).slot = slot;
  use(slot);
  plan.blocks.back().misses.push_back({record, slot, recordOf(record).token});
  return true;
}

void SlotTable::release(int32_t slot) {
  Slot &released = slots_[size_t(slot)];
  records_[size_t(released.record)].slot = -1;
  released.record = -1;
  released.used = 0;
  unlink(slot);
  linkOldest(slot);
}

void SlotTable::forget(int64_t first, int64_t end) {
  for (int64_t number = first; number < end && number < int64_t(records_.size()); ++number)
    if (int32_t slot = records_[size_t(number)].slot; slot >= 0)
      release(slot);
}

void SlotTable::clear() {
  for (int32_t slot = int32_t(slots_.size()) - 1; slot >= 0; --slot)
    if (slots_[size_t(slot)].record >= 0)
      release(slot);
}

void SlotTable::use(int32_t slot) {
  slots_[size_t(slot)].used = now_;
  unlink(slot);
  linkNewest(slot);
}

void SlotTable::unlink(int32_t slot) {
  Slot &removed = slots_[size_t(slot)];
  (removed.newer < 0 ? newest_ : slots_[size_t(removed.newer)].older) = removed.older;
  (removed.older < 0 ? oldest_ : slots_[size_t(removed.older)].newer) = removed.newer;
}

void SlotTable::linkNewest(int32_t slot) {
  slots_[size_t(slot)].older = newest_;
  slots_[size_t(slot)].newer = -1;
  (newest_ < 0 ? oldest_ : slots_[size_t(newest_)].newer) = slot;
  newest_ = slot;
}

void SlotTable::linkOldest(int32_t slot) {
  slots_[size_t(slot)].newer = oldest_;
  slots_[size_t(slot)].older = -1;
  (oldest_ < 0 ? newest_ : slots_[size_t(oldest_)].older) = slot;
  oldest_ = slot;
}

} // namespace strata::rt
