//===- HoistIndexers.cpp - Indexers as early as their operands allow ------===//
#include "strata/passes/Share/HoistIndexers.h"

#include "strata/dialects/Strata/IR.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace strata;

namespace {
using Ops = DenseSet<Operation *>;
} // namespace

/// The ops of `between` that `select` needs: those of its operands, and theirs. An append needs all
/// that uses the cache before it. Nothing if one of them has effects that forbid moving it.
static std::optional<Ops> findNeeded(SelectOp select, const Ops &between) {
  Block *block = select->getBlock();
  Ops needed;
  SmallVector<Operation *> pending{select};
  auto need = [&](Operation *op) {
    op = op ? block->findAncestorOpInBlock(*op) : nullptr;
    if (op && between.contains(op) && needed.insert(op).second)
      pending.push_back(op);
  };
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    if (op != select && !isMemoryEffectFree(op))
      return std::nullopt;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        need(operand.getDefiningOp());
    });
    if (auto append = dyn_cast<AppendOp>(op))
      for (Operation *user : append.getCache().getUsers())
        if (Operation *ancestor = block->findAncestorOpInBlock(*user);
            ancestor && ancestor != op && ancestor->isBeforeInBlock(op))
          need(ancestor);
  }
  return needed;
}

void strata::hoistIndexers(Block &block) {
  // What lies before the select below is needed by it or by one before it, so it stays; each op is
  // looked at between two selects only, which keeps the work linear.
  SmallVector<SelectOp> selects(block.getOps<SelectOp>());
  Operation *previous = nullptr;
  for (SelectOp select : selects) {
    SmallVector<Operation *> between;
    for (Operation *op = previous ? previous->getNextNode() : &block.front(); op != select;
         op = op->getNextNode())
      between.push_back(op);
    previous = select;
    std::optional<Ops> needed = findNeeded(select, Ops(between.begin(), between.end()));
    if (!needed)
      continue;
    Operation *last = select;
    int64_t passed = 0;
    for (Operation *op : between) {
      if (needed->contains(op))
        continue;
      op->moveAfter(last);
      last = op;
      ++passed;
    }
    if (passed)
      remark::passed(select.getLoc(),
                     remark::RemarkOpts::name("HoistIndexer").category("strata-hoist"))
          << remark::reason("the indexer needs none of the ops that it passed")
          << remark::metric("Ops", passed);
  }
}
