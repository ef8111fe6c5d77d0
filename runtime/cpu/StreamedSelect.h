//===- StreamedSelect.h - The indexer over keys in a far tier ---*- C++ -*-===//
#ifndef STRATA_RUNTIME_CPU_STREAMEDSELECT_H
#define STRATA_RUNTIME_CPU_STREAMEDSELECT_H

#include "strata/runtime/cpu/Command.h"
#include "strata/runtime/cpu/TopK.h"

namespace strata::rt {

/// Selects among keys that come block by block: a token keeps its best so far. The order of
/// candidates is total, so the rows are those of a selection at once.
class StreamedSelect {
public:
  StreamedSelect(const package::Select &table, const Program &program);

  /// Bytes that all threads share while `run` runs; each thread needs selectScratchBytes.
  uint64_t sharedBytes() const;

  /// Selects the rows of the tokens `scored` (ascending), each of which sees more than k positions.
  Status run(StepState &state, const std::vector<int64_t> &scored, int32_t *rows);

private:
  /// Tokens of one sequence: entries of `scored`.
  struct Sequence {
    size_t first, end;
    int64_t parts; ///< of a block's positions, that threads select from apart
  };
  /// Pages of a sequence that come at once.
  struct Block {
    size_t sequence;
    int64_t firstPage;
    bool isLast;
  };

  void findBlocks(const StepState &state, const std::vector<int64_t> &scored);
  void score(StepState &state, size_t block, std::byte *keys);
  void merge(StepState &state, size_t block, int32_t *rows);
  Candidate *room(size_t token, int64_t part, int64_t parts) const {
    return candidates_ + (int64_t(token) * (parts + 1) + part) * k_;
  }

  const package::Select &table_;
  strata_rt_kernel kernel_;
  int64_t k_, pageSize_, maxTokens_, threads_;

  // Of the step that runs.
  const std::vector<int64_t> *scored_ = nullptr;
  std::vector<Sequence> sequences_;
  std::vector<Block> blocks_;
  std::vector<int64_t> kept_;   ///< of each token of the sequence: its best so far
  std::vector<int64_t> counts_; ///< of each token and part: candidates of the last block
  std::vector<int32_t> pages_;  ///< −n, …, −1, 0, 1, …: pages of a buffer, whatever page is first
  int64_t pagesBefore_ = 0;     ///< n
  Candidate *candidates_ = nullptr; ///< for each token of the sequence k kept ones, and k a part
  Candidate *scratch_ = nullptr;    ///< as many
};

} // namespace strata::rt

#endif // STRATA_RUNTIME_CPU_STREAMEDSELECT_H
