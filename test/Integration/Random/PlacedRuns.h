//===- PlacedRuns.h - A model within budgets of near memory -----*- C++ -*-===//
#ifndef STRATA_TEST_INTEGRATION_RANDOM_PLACEDRUNS_H
#define STRATA_TEST_INTEGRATION_RANDOM_PLACEDRUNS_H

#include "PlanRun.h"
#include "RandomCase.h"

namespace strata::test {

/// Compiles the model for two tiers, with the least feasible budget and with larger ones, and runs
/// it with poisoned memory and transfers that begin late. `expected` is what one step without
/// limits gave. Says what differs, or nothing.
std::string comparePlaced(const RandomCase &randomCase, const TestedModel &model,
                          const RunResults &expected, Coverage &coverage);

} // namespace strata::test

#endif // STRATA_TEST_INTEGRATION_RANDOM_PLACEDRUNS_H
