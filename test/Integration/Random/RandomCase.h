//===- RandomCase.h - One model, one batch, several plans -------*- C++ -*-===//
#ifndef STRATA_TEST_INTEGRATION_RANDOM_RANDOMCASE_H
#define STRATA_TEST_INTEGRATION_RANDOM_RANDOMCASE_H

#include "Coverage.h"
#include "RandomModel.h"
#include "StepPlan.h"

namespace strata::test {

/// What a number and a seed make: a model, a batch of sequences, and the plans of its runs.
struct RandomCase {
  RandomModel model;
  TokenBatch batch;
  StepPlan randomPlan;              ///< of the reference and of the CPU
  int randomPlanThreads = 1;        ///< of the CPU's run
  std::vector<StepPlan> otherPlans; ///< of the CPU, one thread
  /// Choices of a CPU run that another one takes over, the first ones in program order.
  size_t replayedChoices = 0;
  bool comparesFusion = false; ///< whether the CPU runs the model without fusion as well
  uint64_t scheduleSeed = 0;   ///< of the schedule that it then runs under
  bool comparesPlaced = false; ///< whether the CPU runs the model within budgets as well
  uint64_t placementSeed = 0;  ///< of these budgets

  RandomCase(uint64_t seed, uint64_t number);
  std::string describe() const;
};

/// Runs the case in a new folder below `folder`, which is removed again. Says what is wrong, or
/// nothing.
std::string runCase(const RandomCase &randomCase, const std::string &folder, Coverage &coverage);

} // namespace strata::test

#endif // STRATA_TEST_INTEGRATION_RANDOM_RANDOMCASE_H
