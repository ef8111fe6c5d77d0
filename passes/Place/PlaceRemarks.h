//===- PlaceRemarks.h - What was decided, and why ---------------*- C++ -*-===//
#ifndef STRATA_PASSES_PLACE_PLACEREMARKS_H
#define STRATA_PASSES_PLACE_PLACEREMARKS_H

#include "strata/passes/Place/Planner.h"

namespace strata {

/// Category of all remarks of the phase.
constexpr llvm::StringLiteral kPlaceCategory = "strata-place";

/// One remark for each group and each cache, one for weights, one for the plan as a whole.
void remarkPlan(const StepModel &model, const Machine &machine, const PlannedStep &planned,
                uint64_t capacity);

/// Where the step can be divided among the stages of the machine's pipeline, and the bytes that
/// cross for each token. A cut inside a share group carries its rows.
void remarkCuts(mlir::func::FuncOp step, const Machine &machine);

} // namespace strata

#endif // STRATA_PASSES_PLACE_PLACEREMARKS_H
