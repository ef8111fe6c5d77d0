//===- PlanRun.h - Runs a plan and keeps what came out ----------*- C++ -*-===//
#ifndef STRATA_TEST_INTEGRATION_RANDOM_PLANRUN_H
#define STRATA_TEST_INTEGRATION_RANDOM_PLANRUN_H

#include "StepPlan.h"
#include "TestedModel.h"

#include <functional>

namespace strata::test {

/// What a run gave for one sequence of L tokens.
struct SequenceResults {
  std::vector<float> logits;                 ///< [L, vocabulary]
  std::vector<bool> hasLogits;               ///< [L]
  std::vector<std::vector<int32_t>> rows;    ///< per indexer [L, k]
  std::vector<std::vector<int32_t>> experts; ///< per router [L, experts per token]

  std::vector<int32_t> &chosen(const Choice &choice) {
    return choice.isIndexer ? rows[choice.number] : experts[choice.number];
  }
  const std::vector<int32_t> &chosen(const Choice &choice) const {
    return const_cast<SequenceResults *>(this)->chosen(choice);
  }
};

struct RunResults {
  std::vector<SequenceResults> sequences;
  int64_t nanScores = 0;
};

/// Choices that a run takes over instead of making them.
struct Imports {
  const RunResults *from = nullptr;
  size_t count = 0; ///< the first ones in program order
};

/// Runs every step of a plan. `beforeStep` is told which tokens the step has.
Expected<RunResults>
runPlan(rt::Executor &executor, const TestedModel &model, const TokenBatch &batch,
        const StepPlan &plan, StepBuilder &builder, const Imports &imports = {},
        const std::function<void(const std::vector<TokenPlace> &)> &beforeStep = {});

/// Limits of an executor for a plan, with poisoned memory.
rt::ExecutorOptions limitsFor(const TokenBatch &batch, const StepBuilder &builder, int threads);

} // namespace strata::test

#endif // STRATA_TEST_INTEGRATION_RANDOM_PLANRUN_H
