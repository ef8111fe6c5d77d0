//===- Speculation.h - Rows that are fetched before they are known -*- C++ -*-===//
#ifndef STRATA_PASSES_PLACE_SPECULATION_H
#define STRATA_PASSES_PLACE_SPECULATION_H

#include "strata/passes/Place/Decisions.h"

namespace strata {

/// Decides, for each group, how many records that the group before it attends to are fetched for it
/// as well, since adjacent layers choose much the same rows. It pays where the leader's own
/// transfer is not hidden under the scores of its hits and the engine has time left before the
/// leader's rows are known; it is bounded by both, by the misses that are expected, and by the
/// slots that a step leaves free. 0: none.
void decideSpeculation(const StepModel &model, const plan::Problem &problem, const Machine &machine,
                       Decisions &decisions);

} // namespace strata

#endif // STRATA_PASSES_PLACE_SPECULATION_H
