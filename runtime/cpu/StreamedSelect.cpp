//===- StreamedSelect.cpp - The indexer over keys in a far tier -----------===//
//
// Sequences come one after the other, each in blocks of whole pages; an engine brings a block while
// the one before it is scored.
//
//===----------------------------------------------------------------------===//
#include "strata/runtime/cpu/StreamedSelect.h"

#include "strata/runtime/cpu/Scratch.h"
#include "strata/runtime/cpu/Tiers.h"

#include <algorithm>
#include <numeric>

namespace strata::rt {

StreamedSelect::StreamedSelect(const package::Select &table, const Program &program)
    : table_(table), kernel_(program.kernels.kernel(table.kernel())), k_(table.k()),
      pageSize_(program.manifest.caches()->Get(uint32_t(table.cache()))->page_size()),
      maxTokens_(program.options.maxTokens), threads_(program.options.threads) {}

/// Tokens that are fewer than two for each thread have their positions split, in parts of which
/// there are less than four for each thread; kept ones come on top.
uint64_t StreamedSelect::sharedBytes() const {
  return 2 * uint64_t(std::max(6 * threads_, 2 * maxTokens_)) * uint64_t(k_) * sizeof(Candidate);
}

void StreamedSelect::findBlocks(const StepState &state, const std::vector<int64_t> &scored) {
  scored_ = &scored;
  sequences_.clear();
  blocks_.clear();
  int64_t blockPages = state.program.tiers->streamPages(table_.cache()), mostPages = 0;
  for (size_t first = 0, end; first < scored.size(); first = end) {
    int32_t sequence = state.input.sequences[size_t(scored[first])];
    for (end = first + 1;
         end < scored.size() && state.input.sequences[size_t(scored[end])] == sequence;)
      ++end;
    int64_t tokens = int64_t(end - first), parts = 1;
    if (tokens < 2 * threads_)
      parts = std::clamp((2 * threads_ + tokens - 1) / tokens, int64_t(1),
                         std::max<int64_t>(blockPages * pageSize_ / (2 * k_), 1));
    int64_t pages = state.input.positions[size_t(scored[end - 1])] / pageSize_ + 1;
    mostPages = std::max(mostPages, pages);
    for (int64_t page = 0; page < pages; page += blockPages)
      blocks_.push_back({sequences_.size(), page, page + blockPages >= pages});
    sequences_.push_back({first, end, parts});
  }
  pagesBefore_ = mostPages;
  pages_.resize(size_t(mostPages + std::max(mostPages, blockPages)));
  std::iota(pages_.begin(), pages_.end(), int32_t(-pagesBefore_));
}

Status StreamedSelect::run(StepState &state, const std::vector<int64_t> &scored, int32_t *rows) {
  findBlocks(state, scored);
  candidates_ = reinterpret_cast<Candidate *>(state.shared);
  scratch_ = reinterpret_cast<Candidate *>(state.shared + sharedBytes() / 2);
  int64_t blockPages = state.program.tiers->streamPages(table_.cache());
  std::vector<Tiers::StreamBlock> stream;
  for (const Block &block : blocks_) {
    size_t last = size_t(scored[sequences_[block.sequence].end - 1]);
    int64_t pages = state.input.positions[last] / pageSize_ + 1 - block.firstPage;
    stream.push_back({&state.input.pages[size_t(state.input.pageBegin[last] + block.firstPage)],
                      std::min(pages, blockPages)});
  }
  return state.program.tiers->stream(table_.cache(), table_.engine(), state.label, stream,
                                     [&](size_t block, std::byte *keys) {
                                       score(state, block, keys);
                                       merge(state, block, rows);
                                       return Status::success();
                                     });
}

/// Finds the best of each token among the positions of a block.
void StreamedSelect::score(StepState &state, size_t number, std::byte *keys) {
  const Block &block = blocks_[number];
  const Sequence &sequence = sequences_[block.sequence];
  int64_t parts = sequence.parts, tokens = int64_t(sequence.end - sequence.first);
  int64_t first = block.firstPage * pageSize_;
  int64_t end = first + state.program.tiers->streamPages(table_.cache()) * pageSize_;
  counts_.assign(size_t(tokens * parts), 0);
  if (block.firstPage == 0)
    kept_.assign(size_t(tokens), 0);
  std::atomic<int64_t> nanScores{0};
  state.pool.parallelFor(tokens * parts, 1, [&](int64_t begin, int64_t itemsEnd, int thread) {
    for (int64_t item = begin; item < itemsEnd; ++item) {
      size_t token = size_t((*scored_)[sequence.first + size_t(item / parts)]);
      int64_t visible = std::min<int64_t>(end, int64_t(state.input.positions[token]) + 1) - first;
      int64_t part = item % parts;
      std::byte *scratch = state.threadScratch(thread);
      auto *scores = reinterpret_cast<float *>(scratch);
      TopK topK(k_, kScoreBlock,
                reinterpret_cast<Candidate *>(scratch + roundUpTo64(kScoreBlock * sizeof(float))));
      void *arguments[] = {Rows(state, *table_.query()).row(int64_t(token)),
                           Rows(state, *table_.head_weights()).row(int64_t(token)), keys,
                           pages_.data() + (pagesBefore_ - block.firstPage), scores};
      int64_t partEnd = first + visible * (part + 1) / parts;
      for (int64_t at = first + visible * part / parts; at < partEnd; at += kScoreBlock) {
        int64_t scoresEnd = std::min(at + kScoreBlock, partEnd);
        kernel_(arguments, at, scoresEnd);
        topK.add(scores, scoresEnd - at, at);
      }
      TopK::Best best = topK.best();
      std::copy_n(best.candidates, best.count, room(size_t(item / parts), part + 1, parts));
      counts_[size_t(item)] = best.count;
      nanScores += topK.nanScores();
    }
  });
  state.output.nanScores += nanScores;
}

/// Keeps the best of what was kept and what the block had, by ascending position.
void StreamedSelect::merge(StepState &state, size_t number, int32_t *rows) {
  const Block &block = blocks_[number];
  const Sequence &sequence = sequences_[block.sequence];
  int64_t parts = sequence.parts;
  state.pool.parallelFor(
      int64_t(sequence.end - sequence.first), 1, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) {
          Candidate *kept = room(size_t(i), 0, parts);
          int64_t count = kept_[size_t(i)];
          for (int64_t part = 0; part < parts; ++part) {
            int64_t added = counts_[size_t(i * parts + part)];
            std::copy_n(room(size_t(i), part + 1, parts), added, kept + count);
            count += added;
          }
          if (count > k_) {
            keepBest(kept, count, k_, scratch_ + (kept - candidates_));
            count = k_;
          }
          kept_[size_t(i)] = count;
          if (block.isLast)
            std::transform(kept, kept + k_, rows + (*scored_)[sequence.first + size_t(i)] * k_,
                           positionOf);
        }
      });
}

} // namespace strata::rt
