//===- SplitAttention.h - May attention be cut in two? ----------*- C++ -*-===//
#ifndef STRATA_PASSES_PLACE_SPLITATTENTION_H
#define STRATA_PASSES_PLACE_SPLITATTENTION_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace strata {

/// Attention to the hits while the misses are on their way, to the misses afterwards: sums are
/// added up in another order than at once, so the last bits of results differ, and differ with what
/// happens to be there. It must be allowed by name: an error if `isSplit` without.
llvm::LogicalResult checkSplitAttention(mlir::ModuleOp module, bool isSplit,
                                        llvm::ArrayRef<std::string> allowed);

/// Notes in the module that `op` is cut in two, and says so in a remark (category `strata-place`).
void noteSplitAttention(mlir::ModuleOp module, mlir::Operation *op);

} // namespace strata

#endif // STRATA_PASSES_PLACE_SPLITATTENTION_H
