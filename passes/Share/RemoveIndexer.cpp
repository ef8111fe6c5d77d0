//===- RemoveIndexer.cpp - Indexers whose rows nobody uses ----------------===//
#include "strata/passes/Share/RemoveIndexer.h"

#include "strata/lib/Analysis/AttentionLayers.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace strata;

static void addCost(Operation *op, Savings &savings) {
  auto costs = dyn_cast<CostOpInterface>(op);
  if (!costs)
    return;
  // Costs are linear in the visible length.
  Cost fixed = costs.getCost({1, 1, 0}), withKey = costs.getCost({1, 1, 1});
  savings.flops += fixed.flops;
  savings.flopsPerKey += withKey.flops - fixed.flops;
  savings.bytesPerKey += withKey.cacheBytesRead - fixed.cacheBytesRead;
  savings.weightBytes += fixed.weightBytes;
}

namespace {

/// Ops that may have lost their last user.
using Candidates = llvm::SetVector<Operation *>;

} // namespace

/// Erases an op without users and makes the ops of its operands candidates.
static void eraseOp(Operation *op, Candidates &candidates, Savings &savings) {
  addCost(op, savings);
  SmallVector<Operation *> sources;
  for (Value operand : op->getOperands())
    if (Operation *source = operand.getDefiningOp())
      sources.push_back(source);
  candidates.remove(op);
  op->erase();
  candidates.insert(sources.begin(), sources.end());
}

/// The argument, if the step does nothing with the cache but append to it and return it, as the
/// results in `returned`; `appends` are in order.
static bool isOnlyWritten(BlockArgument cache, SmallVectorImpl<AppendOp> &appends,
                          llvm::BitVector &returned) {
  for (Value value = cache; value;) {
    Value next;
    for (OpOperand &use : value.getUses()) {
      if (auto append = dyn_cast<AppendOp>(use.getOwner())) {
        appends.push_back(append);
        next = append.getResult();
      } else if (isa<func::ReturnOp>(use.getOwner())) {
        returned.set(use.getOperandNumber());
      } else {
        return false;
      }
    }
    value = next;
  }
  return true;
}

static void removeCache(func::FuncOp step, BlockArgument cache, Candidates &candidates,
                        Savings &savings) {
  if (!cache || cache.getOwner() != &step.getBody().front())
    return;
  SmallVector<AppendOp> appends;
  llvm::BitVector returned(step.getNumResults());
  if (!isOnlyWritten(cache, appends, returned))
    return;
  step.getBody().front().getTerminator()->eraseOperands(returned);
  for (AppendOp append : llvm::reverse(appends))
    eraseOp(append, candidates, savings);
  savings.cacheBytes += cast<CacheType>(cache.getType()).getRecordBytes();
  // Neither fails: the numbers are those of the function's own arguments and results.
  (void)step.eraseResults(returned);
  (void)step.eraseArgument(cache.getArgNumber());
}

Savings strata::removeIndexer(func::FuncOp step, SelectOp select) {
  Savings savings;
  Candidates candidates;
  BlockArgument cache = findCacheArgument(select.getCache());
  eraseOp(select, candidates, savings);
  removeCache(step, cache, candidates, savings);
  while (!candidates.empty()) {
    Operation *op = candidates.pop_back_val();
    if (isOpTriviallyDead(op))
      eraseOp(op, candidates, savings);
  }
  return savings;
}
