//===- RemoveIndexer.h - Indexers whose rows nobody uses --------*- C++ -*-===//
#ifndef STRATA_PASSES_SHARE_REMOVEINDEXER_H
#define STRATA_PASSES_SHARE_REMOVEINDEXER_H

#include "strata/dialects/Strata/IR.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace strata {

/// What removed ops would have cost in a step of one token.
struct Savings {
  double flops = 0;       ///< whatever the length
  double flopsPerKey = 0; ///< for each key that the token sees
  double bytesPerKey = 0; ///< cache bytes read for each key that the token sees
  double weightBytes = 0;
  int64_t cacheBytes = 0; ///< of cache records for each token kept
};

/// Erases an indexer whose rows have no users, and what only it used: projections, weights, and its
/// cache where nothing else reads it, with the append and its argument and result of `step`.
Savings removeIndexer(mlir::func::FuncOp step, SelectOp select);

} // namespace strata

#endif // STRATA_PASSES_SHARE_REMOVEINDEXER_H
