//===- LayerCuts.h - What crosses a cut between two layers ------*- C++ -*-===//
#ifndef STRATA_LIB_ANALYSIS_LAYERCUTS_H
#define STRATA_LIB_ANALYSIS_LAYERCUTS_H

#include "strata/lib/Analysis/AttentionLayers.h"

namespace strata {

/// A cut of a function before one of its attention layers, as between two stages of a pipeline, and
/// the values that the stage above needs from the one below. What either side has of its own does
/// not cross: weights, constants, arguments, and what follows from the batch alone.
struct LayerCut {
  unsigned layer = 0;               ///< the first of the stage above
  mlir::Operation *first = nullptr; ///< the first op of the stage above
  llvm::SmallVector<mlir::Value> activations;
  llvm::SmallVector<mlir::Value> rows;   ///< index tensors of groups that the cut divides
  llvm::SmallVector<mlir::Value> caches; ///< used on both sides: these can't be divided

  int64_t getActivationBytesPerToken() const;
  int64_t getRowBytesPerToken() const;
  /// Whether the stage above starts without rows from below.
  bool isSafe() const { return rows.empty() && caches.empty(); }
};

/// One cut before each attention layer that has one below, where the fewest bytes cross: between
/// the feed-forward part of the layer below and the norm of this one. Takes one pass over the ops
/// of the function's first block.
llvm::SmallVector<LayerCut> findLayerCuts(mlir::func::FuncOp function,
                                          const AttentionLayers &layers);

/// The layers that the stages but the first start with: the safe cut nearest to an even division,
/// the lower one of two that are equally near; the even division itself where no safe cut is left.
llvm::SmallVector<unsigned> proposeStages(llvm::ArrayRef<LayerCut> cuts, unsigned layers,
                                          unsigned stages);

} // namespace strata

#endif // STRATA_LIB_ANALYSIS_LAYERCUTS_H
