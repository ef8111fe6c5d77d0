//===- Planner.h - From a step to decisions that fit ------------*- C++ -*-===//
#ifndef STRATA_PASSES_PLACE_PLANNER_H
#define STRATA_PASSES_PLACE_PLANNER_H

#include "strata/passes/Place/Decisions.h"

namespace strata {

/// A plan, and what it means for the step.
struct PlannedStep {
  plan::Problem problem;
  plan::Plan plan;
  Decisions decisions;
  uint64_t arenaBytes = 0; ///< of activations, when the decisions are written into the step
  uint64_t nearBytes = 0;  ///< of everything
};

/// Finds decisions with which everything fits in `capacity` bytes of the near tier. The planner
/// knows neither the slots that weights of one command need at the same time, nor the stages, nor
/// the room for activations that moving adds; so it is asked again, with what was missing set
/// aside, until its plan holds. Errors are diagnostics of the step; too small a capacity is one
/// that names the least feasible.
mlir::FailureOr<PlannedStep> planStep(const StepModel &model, const Machine &machine,
                                      const PlaceSizes &sizes, uint64_t capacity,
                                      bool splitAttention);

/// The same for a plan that a person may have edited, in the text of a file.
mlir::FailureOr<PlannedStep> followPlan(const StepModel &model, const Machine &machine,
                                        const PlaceSizes &sizes, uint64_t capacity,
                                        bool splitAttention, const std::string &text,
                                        const std::string &name);

/// "65536 bytes (0.06 MiB)".
std::string describeBytes(uint64_t bytes);

} // namespace strata

#endif // STRATA_PASSES_PLACE_PLANNER_H
