//===- Executor.h - What runs a step: CPU, reference, later CUDA -*- C++ -*-===//
#ifndef STRATA_RUNTIME_CORE_EXECUTOR_H
#define STRATA_RUNTIME_CORE_EXECUTOR_H

#include "strata/lib/Support/Status.h"
#include "strata/runtime/core/CacheDescription.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace strata::rt {

class Trace;
struct TierCounters;

/// What a session must know of a model.
struct ModelDescription {
  std::string modelType;
  int64_t vocabularySize = 0;
  int64_t maxPositions = 0;
  std::vector<int32_t> eosTokenIds;
  int64_t pageSize = 0;              ///< tokens in a page, the same for all caches
  std::vector<int64_t> rowWidths;    ///< k of each indexer, in program order
  bool rowsAreInput = false;         ///< rows stand in for an indexer: every step must import them
  std::vector<int64_t> expertWidths; ///< experts per token of each mixture, in program order
  std::vector<int64_t> expertCounts; ///< routed experts of each mixture, in program order
};

/// The most tokens that one step may have. It bounds every size that a package can ask for.
constexpr int64_t kMaxStepTokens = int64_t(1) << 20;

/// Limits that are fixed when an executor is made.
struct ExecutorOptions {
  int64_t maxSequences = 1;
  int64_t maxPages = 1;  ///< pages of each cache's pool, for all sequences together
  int64_t maxTokens = 1; ///< tokens of one step, at most kMaxStepTokens
  int64_t maxWanted = 1; ///< tokens of one step whose logits are wanted
  /// Bytes for arena, caches and widened weights; 0: what the machine has.
  uint64_t memoryLimit = 0;
  int threads = 0; ///< 0: one for each processor that the process may use
  /// Fill arena and caches with NaN first (the arena before every step): finds reads of what was
  /// never written.
  bool poison = false;
  /// For tests: transfers between tiers begin up to so many nanoseconds late, at random.
  int64_t transferDelay = 0;
  Trace *trace = nullptr; ///< receives one event per command when set; outlives the executor
};

/// One step: tokens are flat, each with its sequence and position. Within a sequence positions
/// follow each other; tokens of one sequence are adjacent. A sequence without tokens is legal.
struct StepInput {
  std::vector<int32_t> tokenIds;
  std::vector<int32_t> positions;
  std::vector<int32_t> sequences; ///< slot of the token's sequence, < maxSequences
  std::vector<int32_t> wanted;    ///< indices of tokens whose logits are wanted, ascending
  std::vector<int32_t> pageBegin; ///< per token: its sequence's pages are pages[pageBegin[t]], …
  std::vector<int32_t> pages;

  /// Rows to use instead of the indexers' own, one array [tokens, k] for each indexer; empty: none.
  /// Null: that indexer's own.
  std::vector<const int32_t *> importedRows;
  /// Experts to use instead of the routers' own, one array [tokens, experts per token] (ascending)
  /// for each mixture; empty: none. Null: that router's own.
  std::vector<const int32_t *> importedExperts;
};

/// What a step gives. The caller owns the arrays that it asks for.
struct StepOutput {
  float *logits = nullptr;        ///< [wanted, vocabulary]
  std::vector<int32_t *> rows;    ///< one [tokens, k] for each indexer, or empty
  std::vector<int32_t *> experts; ///< one [tokens, experts per token] for each mixture, or empty
  int64_t nanScores = 0;          ///< index scores that were NaN and counted as −inf
};

class Executor {
public:
  virtual ~Executor() = default;
  virtual const ModelDescription &model() const = 0;
  /// Runs one step and appends to the caches. After an error the caches hold what they held before
  /// the step, up to records at the step's own positions.
  virtual Status step(const StepInput &input, StepOutput &output) = 0;
  /// Bytes allocated: arena, caches, widened weights.
  virtual uint64_t memoryBytes() const = 0;
  /// What transfers did so far; null where there is one tier.
  virtual const TierCounters *tierCounters() const { return nullptr; }

  // Between steps, pages of the caches may move to and from another executor.

  /// What the pages hold. An error if they can't leave this executor; the two functions below are
  /// called on others alone.
  virtual Expected<CacheDescription> describeCaches() const {
    return Status(StatusCode::Unsupported,
                  "sequences can't be saved or loaded on this device: expected cpu");
  }
  /// Copies a page out of a cache, wherever that lies: its first `records` records. The others are
  /// zero in `target`, whose layout is the cache's.
  virtual Status readPage(int64_t /*cache*/, int32_t /*page*/, int64_t /*records*/,
                          std::byte * /*target*/) const {
    return Status(StatusCode::Unsupported, "pages can't be read on this device");
  }
  /// Copies the first `records` records of a page, which no sequence uses, into a cache.
  virtual Status writePage(int64_t /*cache*/, int32_t /*page*/, int64_t /*records*/,
                           const std::byte * /*source*/) {
    return Status(StatusCode::Unsupported, "pages can't be written on this device");
  }
};

} // namespace strata::rt

#endif // STRATA_RUNTIME_CORE_EXECUTOR_H
