//===- StepPlan.h - How the tokens of a batch come in steps -----*- C++ -*-===//
#ifndef STRATA_TEST_INTEGRATION_RANDOM_STEPPLAN_H
#define STRATA_TEST_INTEGRATION_RANDOM_STEPPLAN_H

#include "RandomNumbers.h"

#include "strata/runtime/core/Executor.h"

#include <string>

namespace strata::test {

/// The sequences that a case runs: their token ids. A sequence may be empty.
using TokenBatch = std::vector<std::vector<int32_t>>;

/// Tokens of one sequence within a step.
struct Segment {
  int64_t sequence, begin, count;
};

struct StepPlan {
  std::string name;
  std::vector<std::vector<Segment>> steps;
  int wantedPercent = 100;                 ///< of tokens whose logits are wanted
  int64_t mostWanted = rt::kMaxStepTokens; ///< tokens of a step whose logits are wanted
  /// Sequences lie in the same pages one after the other, so that each finds the records of the one
  /// before it.
  bool reusesPages = false;
  uint64_t seed = 0; ///< of the order of pages, and of what is wanted
};

/// All tokens of all sequences in one step.
StepPlan planOneShot(const TokenBatch &batch);
/// Each sequence cut at the same lengths; the last of `chunks` goes on to the end.
StepPlan planChunks(const TokenBatch &batch, std::vector<int64_t> chunks);
/// Each sequence by itself, all of its tokens in one step.
StepPlan planAlone(const TokenBatch &batch);
/// Steps of any sequences, as many tokens of each as it happens, in any order: prefill and decoding
/// in one step, sequences that wait, now and then a step without tokens.
StepPlan planRandomly(const TokenBatch &batch, RandomNumbers &random);

std::string describe(const StepPlan &plan);

/// Where a token of a step comes from.
struct TokenPlace {
  int64_t sequence, position;
};

/// Turns the steps of a plan into what executors take. Pages are numbered in random order, and
/// between the lists of pages lie numbers that are none.
class StepBuilder {
public:
  StepBuilder(const TokenBatch &batch, const StepPlan &plan, int64_t pageSize);

  /// Pages and tokens that an executor needs room for.
  int64_t pages() const { return pages_; }
  int64_t maxTokens() const { return maxTokens_; }

  rt::StepInput build(const std::vector<Segment> &step, std::vector<TokenPlace> &places);

private:
  const TokenBatch &batch_;
  const StepPlan &plan_;
  int64_t pageSize_, pages_ = 1, maxTokens_ = 1;
  RandomNumbers random_;
  std::vector<std::vector<int32_t>> pagesOf_; ///< of each sequence
  std::vector<int32_t> slots_;                ///< of each sequence
};

} // namespace strata::test

#endif // STRATA_TEST_INTEGRATION_RANDOM_STEPPLAN_H
