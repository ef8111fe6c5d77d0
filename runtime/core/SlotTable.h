//===- SlotTable.h - Which record lies in which slot ------------*- C++ -*-===//
#ifndef STRATA_RUNTIME_CORE_SLOTTABLE_H
#define STRATA_RUNTIME_CORE_SLOTTABLE_H

#include <cstdint>
#include <vector>

namespace strata::rt {

/// A record that gets a slot: from the home of a cache, or from its stage.
struct SlotMiss {
  int32_t record;
  int32_t slot;
  int32_t token; ///< the step's token that wrote the record, which the stage has; −1: the home's
};

/// What a resolution found. Caches of a group replay it one after the other.
struct SlotPlan {
  /// Tokens whose records are in the slots at the same time.
  struct Block {
    int64_t firstToken = 0, endToken = 0;
    std::vector<SlotMiss> misses;
  };
  /// At least one, unless there are no tokens; one without tokens when it is a speculation.
  std::vector<Block> blocks;
  /// Slots that lost their record before the first block and may still be empty.
  std::vector<int32_t> freed;
  /// Distinct records of blocks: found in slots, taken from homes, taken from stages.
  int64_t hits = 0, misses = 0, own = 0;

  /// Does attention go through all tokens at once?
  bool isOneBlock() const { return blocks.size() == 1; }
};

/// Assigns the slots of hot sets to records, for the caches of a share group together: they hold
/// the same records in the same slots. A slot is given to another record when it is the one that
/// was used longest ago. The same calls give the same result everywhere, so that a simulation has
/// the executor's hits, misses and bytes.
///
/// Records are numbers, page × page size + offset; −1 stands for none. Memory: 16 bytes for each
/// record up to the largest one seen, and 24 for each slot.
class SlotTable {
public:
  /// `slots` ≥ k, the most distinct records of a token.
  SlotTable(int64_t slots, int64_t k);

  int64_t slots() const { return int64_t(slots_.size()); }

  /// Slots that are used from now on belong to a new step. Speculation leaves them alone.
  void beginStep() { stepBegin_ = now_ + 1; }

  /// Finds slots for `records` [tokens, k]. The records in `own` ([tokens], record n is what token
  /// n of the step writes) lose the slots that they have: a page may have been another sequence's
  /// before. Tokens are taken in order, in blocks of as many as have at most `slots` distinct
  /// records. Writes i32 [tokens, k] each: `slotsOf` the slot of each record while its token's
  /// block runs, `hits` the same for records that may be read before the misses come, `misses` for
  /// the others; −1 elsewhere. With several blocks nothing is a hit: what is there now may be gone
  /// before its token's block. The three may be null together.
  SlotPlan resolve(const int32_t *records, int64_t tokens, const std::vector<int32_t> &own,
                   int32_t *slotsOf, int32_t *hits, int32_t *misses);

  /// Gives slots to at most `limit` of `records` ([tokens, k], by order) that have none, without
  /// touching slots that were used in this step. Records in `own` are left out: they aren't written
  /// yet.
  SlotPlan speculate(const int32_t *records, int64_t tokens, const std::vector<int32_t> &own,
                     int64_t limit);

  /// Takes the slots of records [first, end).
  void forget(int64_t first, int64_t end);
  /// Takes the slots of all records.
  void clear();

private:
  struct Record {
    uint64_t block = 0; ///< in which it was counted last
    int32_t slot = -1;
    int32_t token = -1; ///< that writes it in this step, while a call runs
  };
  struct Slot {
    uint64_t used = 0; ///< block of the last use
    int32_t record = -1;
    int32_t newer = -1, older = -1; ///< neighbours in the order of their last use
  };

  Record &recordOf(int32_t number);
  void markOwn(const std::vector<int32_t> &own, bool isOwn);
  int64_t blockEnd(const int32_t *records, int64_t first, int64_t tokens);
  void release(int32_t slot);
  void use(int32_t slot);
  void unlink(int32_t slot);
  void linkNewest(int32_t slot);
  void linkOldest(int32_t slot);
  bool takeOldest(int32_t record, SlotPlan &plan);

  int64_t k_;
  std::vector<Record> records_; ///< by number
  std::vector<Slot> slots_;
  int32_t newest_ = -1, oldest_ = -1;
  uint64_t now_ = 0;       ///< number of the block
  uint64_t stepBegin_ = 1; ///< of the step's first block
};

} // namespace strata::rt

#endif // STRATA_RUNTIME_CORE_SLOTTABLE_H
