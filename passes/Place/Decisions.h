//===- Decisions.h - A plan, as what is written into a step -----*- C++ -*-===//
#ifndef STRATA_PASSES_PLACE_DECISIONS_H
#define STRATA_PASSES_PLACE_DECISIONS_H

#include "strata/passes/Place/PlaceProblem.h"
#include "strata/passes/Place/WeightSlots.h"

namespace strata {

/// Where everything lies, in the terms of the step model.
struct Decisions {
  std::vector<bool> isNear;             ///< of each cache
  std::vector<int64_t> slotsOfGroup;    ///< 0: the group's caches are whole
  std::vector<int64_t> speculation;     ///< records fetched with the rows of the group before
  llvm::SmallVector<unsigned> streamed; ///< numbers of weights
  WeightSlots weightSlots;
  unsigned depth = 1; ///< of weight slots and staging pools: 2 lets one fill while one is read
  int64_t blockRecords = 0;  ///< of the buffers that index keys stream through
  std::vector<int> engineOf; ///< of each buffer of the problem; −1: it stays

  bool movesAnything() const;
};

Decisions makeDecisions(const StepModel &model, const plan::Problem &problem,
                        const plan::Plan &plan, const Machine &machine, unsigned depth);

/// Bytes of the near tier that the decisions take, apart from activations.
uint64_t getNearBytes(const StepModel &model, const plan::Problem &problem,
                      const Decisions &decisions, const PlaceSizes &sizes);

} // namespace strata

#endif // STRATA_PASSES_PLACE_DECISIONS_H
