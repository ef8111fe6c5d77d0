//===- Comparison.h - When are two runs equal? ------------------*- C++ -*-===//
//
// Runs of the same kernels must be equal to the bit. The CPU and the reference follow the equality
// rule: what they choose may differ only where the oracle's scores are nearly tied, and with the
// oracle's choices the logits agree up to a tolerance.
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_TEST_INTEGRATION_RANDOM_COMPARISON_H
#define STRATA_TEST_INTEGRATION_RANDOM_COMPARISON_H

#include "Coverage.h"
#include "PlanRun.h"

namespace strata::test {

/// The scores behind the oracle's choices: [choice][sequence][position]. Empty where a token sees
/// at most k positions.
class OracleScores {
public:
  OracleScores(const TestedModel &model, const TokenBatch &batch);

  /// Writes into this object, which outlives the executor's runs.
  reference::Observer observer();
  void beginStep(const std::vector<TokenPlace> &places) { places_ = places; }

  const std::vector<float> &get(size_t choice, size_t sequence, size_t position) const {
    return scores_[choice][sequence][position];
  }

private:
  void keep(size_t choice, int token, llvm::ArrayRef<float> scores);

  std::vector<size_t> choiceOfIndexer_, choiceOfRouter_;
  std::vector<TokenPlace> places_; ///< of the step that runs
  std::vector<std::vector<std::vector<std::vector<float>>>> scores_;
};

/// The first difference of two runs of the same kernels, or nothing. Logits are compared where both
/// have them.
std::string compareBits(const TestedModel &model, const RunResults &expected,
                        const RunResults &found);

/// Compares one choice of all tokens, given that all choices before it were the same. Adds to
/// `differing` the tokens that differ. Says which difference is not allowed, or nothing. Index
/// scores below `leastScore` are nothing but rounding.
std::string compareChoice(const TestedModel &model, size_t choice, const OracleScores &scores,
                          bool exact, double leastScore, const RunResults &oracle,
                          const RunResults &found, int64_t &differing);

/// Differences of all logits, in standard deviations of the oracle's.
struct LogitErrors {
  double largest = 0, rms = 0;
};
LogitErrors compareLogits(const RunResults &oracle, const RunResults &found);

/// Counts tokens whose choice is among ties.
void countTies(const TestedModel &model, const OracleScores &scores, const RunResults &oracle,
               bool exact, Coverage &coverage);

} // namespace strata::test

#endif // STRATA_TEST_INTEGRATION_RANDOM_COMPARISON_H
