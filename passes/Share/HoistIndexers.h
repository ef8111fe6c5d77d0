//===- HoistIndexers.h - Indexers as early as operands allow ----*- C++ -*-===//
#ifndef STRATA_PASSES_SHARE_HOISTINDEXERS_H
#define STRATA_PASSES_SHARE_HOISTINDEXERS_H

#include "mlir/IR/Block.h"

namespace strata {

/// Moves each `strata.select` of the block, with all that it needs, before whatever it doesn't
/// need. Keeps the order of selects, and the rule that no use of a cache value follows its append.
void hoistIndexers(mlir::Block &block);

} // namespace strata

#endif // STRATA_PASSES_SHARE_HOISTINDEXERS_H
