//===- FusionCandidates.h - What could run in one launch --------*- C++ -*-===//
#ifndef STRATA_PASSES_FUSE_FUSIONCANDIDATES_H
#define STRATA_PASSES_FUSE_FUSIONCANDIDATES_H

#include "strata/dialects/Strata/IR.h"

#include "mlir/IR/Block.h"

namespace strata {

/// Ops that could be in one kernel, and what that saves.
struct FusionCandidate {
  KernelKind kind;
  llvm::SmallVector<mlir::Operation *>
      ops;           ///< with the slices, reshapes and concatenations between them
  double savedBytes; ///< of activations, in a step of the tokens asked for
};

/// All candidates of a block, in program order of their first op.
llvm::SmallVector<FusionCandidate> findFusionCandidates(mlir::Block &block, int64_t tokens);

/// Bytes of an activation for one token.
double getRowBytes(mlir::Value activation);

} // namespace strata

#endif // STRATA_PASSES_FUSE_FUSIONCANDIDATES_H
