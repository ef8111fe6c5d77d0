//===- Select.cpp - The indexer: each token's k best positions ------------===//
//
// Scores come from a kernel in blocks and go through TopK at once: the array of tokens × length
// never exists. Tokens are split among threads; when there are too few of them (decoding with a
// long cache), their positions are, and the best of each part are merged, which is exact because
// the order of candidates is total.
//
//===----------------------------------------------------------------------===//
#include "strata/runtime/cpu/ImportRows.h"
#include "strata/runtime/cpu/Scratch.h"
#include "strata/runtime/cpu/StreamedSelect.h"
#include "strata/runtime/cpu/TopK.h"

#include <algorithm>
#include <numeric>

namespace strata::rt {

namespace {

class SelectCommand : public Command {
public:
  SelectCommand(const package::Select &table, const Program &program)
      : table_(table), kernel_(program.kernels.kernel(table.kernel())),
        cache_(program.caches[size_t(table.cache())]), threads_(program.options.threads) {
    int64_t pageSize = program.manifest.caches()->Get(uint32_t(table.cache()))->page_size();
    // Nothing is ever scored when all that fits into the cache is taken.
    mayScore_ = table.k() < program.options.maxPages * pageSize;
    if (program.manifest.caches()->Get(uint32_t(table.cache()))->residence() ==
        package::Residence::Streamed)
      streamed_.emplace(table, program);
  }

  uint64_t scratchBytes() const override { return mayScore_ ? selectScratchBytes(table_.k()) : 0; }
  uint64_t sharedBytes() const override {
    if (!mayScore_)
      return 0;
    return streamed_ ? streamed_->sharedBytes() : selectSharedBytes(table_.k(), threads_);
  }

  Status run(StepState &state) override {
    int32_t *rows = state.array<int32_t>(*table_.output());
    Status status = hasImportedRows(state, table_.ordinal())
                        ? importRows(state, table_.ordinal(), table_.k(), rows)
                        : select(state, rows);
    if (!status.ok())
      return status;
    exportRows(state, table_.ordinal(), table_.k(), rows);
    return Status::success();
  }

private:
  Status select(StepState &state, int32_t *rows) {
    int64_t k = table_.k(), longest = 0;
    scored_.clear();
    for (int64_t n = 0; n < state.tokens(); ++n) {
      int64_t visible = int64_t(state.input.positions[size_t(n)]) + 1;
      int32_t *row = rows + n * k;
      if (visible <= k) {
        std::iota(row, row + visible, 0);
        std::fill(row + visible, row + k, -1);
      } else {
        scored_.push_back(n);
        longest = std::max(longest, visible);
      }
    }
    if (scored_.empty())
      return Status::success();
    if (streamed_)
      return streamed_->run(state, scored_, rows);
    selectAmongAll(state, longest, rows);
    return Status::success();
  }

  void selectAmongAll(StepState &state, int64_t longest, int32_t *rows) {
    int64_t k = table_.k();
    // A part shorter than 2k would hand on more than half of its positions.
    int64_t tokens = int64_t(scored_.size()), parts = 1;
    if (tokens < 2 * threads_)
      parts = std::clamp((2 * threads_ + tokens - 1) / tokens, int64_t(1),
                         std::max<int64_t>(longest / (2 * k), 1));
    std::atomic<int64_t> nanScores{0};
    auto *merged = reinterpret_cast<Candidate *>(state.shared);
    state.pool.parallelFor(tokens * parts, 1, [&](int64_t begin, int64_t end, int thread) {
      for (int64_t item = begin; item < end; ++item)
        nanScores += selectPart(state, scored_[size_t(item / parts)], item % parts, parts, thread,
                                rows, merged + item * k);
    });
    state.output.nanScores += nanScores;
    if (parts == 1)
      return;
    Candidate *room = merged + maxSelectParts(threads_) * k;
    state.pool.parallelFor(tokens, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        Candidate *candidates = merged + i * parts * k;
        keepBest(candidates, parts * k, k, room + i * parts * k);
        std::transform(candidates, candidates + k, rows + scored_[size_t(i)] * k, positionOf);
      }
    });
  }

  /// Selects among one part of a token's positions. The result goes to the token's row if the part
  /// is all, otherwise to `candidates`, filled up with what loses against everything. Returns how
  /// many scores were NaN.
  int64_t selectPart(const StepState &state, int64_t token, int64_t part, int64_t parts, int thread,
                     int32_t *rows, Candidate *candidates) const {
    int64_t k = table_.k(), visible = int64_t(state.input.positions[size_t(token)]) + 1;
    int64_t first = visible * part / parts, end = visible * (part + 1) / parts;
    std::byte *scratch = state.threadScratch(thread);
    auto *scores = reinterpret_cast<float *>(scratch);
    TopK topK(k, kScoreBlock,
              reinterpret_cast<Candidate *>(scratch + roundUpTo64(kScoreBlock * sizeof(float))));
    void *arguments[] = {
        Rows(state, *table_.query()).row(token), Rows(state, *table_.head_weights()).row(token),
        cache_, const_cast<int32_t *>(&state.input.pages[size_t(state.input.pageBegin[token])]),
        scores};
    for (int64_t begin = first; begin < end; begin += kScoreBlock) {
      int64_t blockEnd = std::min(begin + kScoreBlock, end);
      kernel_(arguments, begin, blockEnd);
      topK.add(scores, blockEnd - begin, begin);
    }
    TopK::Best best = topK.best();
    if (parts == 1)
      std::transform(best.candidates, best.candidates + k, rows + token * k, positionOf);
    else
      std::fill(std::copy_n(best.candidates, best.count, candidates), candidates + k, 0);
    return topK.nanScores();
  }

  const package::Select &table_;
  strata_rt_kernel kernel_;
  std::byte *cache_;
  int64_t threads_;
  bool mayScore_;                          ///< a cache can hold more than k positions
  std::optional<StreamedSelect> streamed_; ///< if the keys lie in a far tier
  std::vector<int64_t> scored_;            ///< tokens of the step whose positions compete
};

} // namespace

std::unique_ptr<Command> makeCommand(const package::Select &table, const Program &program) {
  return std::make_unique<SelectCommand>(table, program);
}

} // namespace strata::rt
