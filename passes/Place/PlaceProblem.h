//===- PlaceProblem.h - The planner's problem, from a step ------*- C++ -*-===//
#ifndef STRATA_PASSES_PLACE_PLACEPROBLEM_H
#define STRATA_PASSES_PLACE_PLACEPROBLEM_H

#include "strata/lib/Plan/Plan.h"
#include "strata/passes/Place/StepModel.h"

namespace strata {

/// What a plan is made for.
struct PlaceSizes {
  int64_t context = 1; ///< positions of a sequence
  int64_t batch = 1;   ///< sequences, and the tokens of the steps whose time is predicted
  int64_t tokens = 1;  ///< the most tokens of a step: decides about memory
  /// How often hot sets miss, for the rows of each indexer; empty: as published for its layer.
  std::vector<plan::MissCurve> misses = {};
};

/// What may leave the near tier. Small caches can take more near memory when they move than when
/// they stay, so plans that move less are tried where others don't fit.
enum class Movable { All, AllButRows, Weights };

/// Numbers of the buffers of a problem: weights first, then caches, both in the step model's order,
/// then activations.
struct ProblemIndex {
  unsigned weights = 0, caches = 0;
  unsigned ofWeight(unsigned number) const { return number; }
  unsigned ofCache(unsigned number) const { return weights + number; }
  unsigned ofActivations() const { return weights + caches; }
};

/// Indexers of the step, or rows that it imports, in the order in which the runtime numbers them.
llvm::SmallVector<mlir::Value> getIndexerRows(mlir::func::FuncOp step);

/// Bytes of a cache's pages for all sequences.
uint64_t getPoolBytes(const StepCache &cache, const PlaceSizes &sizes);
/// Bytes of `records` records, in whole pages.
uint64_t getRecordBytes(const StepCache &cache, int64_t records);

/// Builds the problem: buffers with their classes and lifetimes, groups, and predicted times of the
/// ops of the step's block. `workspaceBytes` is what activations and all else that can't move need.
/// With several devices it is the share of one: weights and the operations on them are divided by
/// the degrees of the partition, caches are divided among the stages of the pipeline alone.
plan::Problem makeProblem(const StepModel &model, const Machine &machine, const PlaceSizes &sizes,
                          uint64_t capacity, uint64_t workspaceBytes,
                          Movable movable = Movable::All);

} // namespace strata

#endif // STRATA_PASSES_PLACE_PLACEPROBLEM_H
