//===- VisibleScores.h - What masks leave of scores -------------*- C++ -*-===//
#ifndef STRATA_PASSES_FUSE_VISIBLESCORES_H
#define STRATA_PASSES_FUSE_VISIBLESCORES_H

#include "strata/dialects/Strata/IR.h"

namespace strata {

/// What a tensor of tokens × length holds at (n, s) wherever token n sees position s.
struct VisibleScores {
  enum Kind { Unknown, Zero, Scores };
  Kind kind = Unknown;
  IndexScoresOp op; ///< whose scores at the same (n, s); of the kind `Scores` alone
};

/// Evaluates the ops that masks are made of (`arith` on tensors, `linalg.generic`,
/// `linalg.broadcast`, `tensor.generate`) for one element, knowing nothing but that the position s
/// is at most `strata.positions` of the batch at n. Bounded, for large expressions `Unknown`.
VisibleScores findVisibleScores(mlir::Value tensor, mlir::Value batch);

} // namespace strata

#endif // STRATA_PASSES_FUSE_VISIBLESCORES_H
