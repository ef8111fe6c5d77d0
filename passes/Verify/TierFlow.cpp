//===- TierFlow.cpp - Control flow of the tier verifier -------------------===//
#include "strata/passes/Verify/TierFlow.h"

#include "mlir/IR/RegionGraphTraits.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/PostOrderIterator.h"

using namespace mlir;
using namespace strata;
using namespace strata::tier;

void TierFlow::define(Value value, Fact fact, State &state) {
  facts[value] = fact;
  state.usedUp.erase(value);
  state.stale.erase(value);
}

LogicalResult TierFlow::run() {
  State state;
  if (failed(enterFunction(state)))
    return failure();
  SmallVector<End> ends;
  if (failed(runRegion(function.getBody(), state, ends)))
    return failure();
  for (End &end : ends)
    if (failed(runReturn(end.terminator, end.state)))
      return failure();
  return success();
}

/// The argument that an attribute of an argument names, or null if it has none.
static FailureOr<Value> getNamedArgument(func::FuncOp function, unsigned number, StringRef name) {
  auto attribute = function.getArgAttrOfType<IntegerAttr>(number, name);
  if (!attribute)
    return Value();
  int64_t other = attribute.getInt();
  if (other < 0 || other >= int64_t(function.getNumArguments()))
    return function.emitError() << "expected " << name << " of argument " << number
                                << " to name an argument but got " << other;
  return Value(function.getArgument(other));
}

LogicalResult TierFlow::enterFunction(State &state) {
  for (auto [number, argument] : llvm::enumerate(function.getArguments())) {
    Type type = argument.getType();
    Fact fact;
    if (isa<AtType, HotSetType, TableType, SlotType, RowStoreTypeInterface>(type))
      fact.place = argument;
    if (isa<AtType>(type))
      fact.home = argument;
    if (isa<PendingType>(type))
      state.outstanding.push_back({nullptr, argument, {}, {}});
    define(argument, fact, state);
    if (!isa<HotSetType>(type))
      continue;
    FailureOr<Value> home = getNamedArgument(function, number, "tier.of"),
                     table = getNamedArgument(function, number, "tier.table");
    if (failed(home) || failed(table))
      return failure();
    auto hotSet = cast<HotSetType>(type);
    auto at = *home ? dyn_cast<AtType>(home->getType()) : AtType();
    if (*home && (!at || at.getValue() != hotSet.getValue() || at.getSpace() != hotSet.getSpace()))
      return function.emitError() << "expected tier.of of argument " << number
                                  << " to name its home but got " << home->getType();
    if (*home && failed(bindHome(function, argument, *home)))
      return failure();
    auto tableType = *table ? dyn_cast<TableType>(table->getType()) : TableType();
    if (*table && (!tableType || tableType.getSlots() != hotSet.getSlots()))
      return function.emitError() << "expected tier.table of argument " << number
                                  << " to name its table but got " << table->getType();
    if (*table && failed(bindTable(function, argument, *table)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Paths
//===----------------------------------------------------------------------===//

LogicalResult TierFlow::handOn(Operation *op, ValueRange from, ValueRange to, Path &path) {
  for (Value value : from)
    if (failed(checkUse(op, value, path.state)))
      return failure();
  // All at once: an argument may be handed on to another of the same block.
  SmallVector<Transfer> moved = path.state.outstanding;
  for (auto [value, target] : llvm::zip(from, to)) {
    path.facts.push_back(facts.lookup(value));
    if (!isa<HotSetType, TableType, SlotType, PendingType>(value.getType()))
      continue;
    if (!path.state.usedUp.try_emplace(value, op).second)
      return op->emitOpError() << "hands a linear value on twice";
    for (auto [transfer, old] : llvm::zip(moved, path.state.outstanding))
      if (old.holder == value)
        transfer.holder = target;
  }
  path.state.outstanding = std::move(moved);
  return success();
}

void TierFlow::enter(ValueRange values, const Path &path, State &state) {
  state = path.state;
  for (auto [value, fact] : llvm::zip(values, path.facts))
    define(value, fact, state);
}

/// Joins a path into what is known of a block or an op's results. `isKnown`: it was reached before.
static LogicalResult mergeInto(Path &known, bool isKnown, Path &&path, Operation *place) {
  if (isKnown)
    return joinPaths(known, path, place);
  known = std::move(path);
  return success();
}

LogicalResult TierFlow::runRegion(Region &region, const State &state, SmallVectorImpl<End> &ends) {
  llvm::DenseMap<Block *, Path> entries;
  Path &first = entries[&region.front()];
  first.state = state;
  for (Value argument : region.getArguments())
    first.facts.push_back(facts.lookup(argument));
  llvm::ReversePostOrderTraversal<Block *> order(&region.front());
  // What is known only becomes less: used up, outdated, mixed. So it ends.
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    ends.clear();
    for (Block *block : order) {
      State here;
      enter(block->getArguments(), Path(entries[block]), here);
      if (failed(runBlock(*block, here)))
        return failure();
      Operation *terminator = block->getTerminator();
      if (!terminator->getNumSuccessors())
        ends.push_back({terminator, std::move(here)});
      auto branch = dyn_cast<BranchOpInterface>(terminator);
      for (auto [number, successor] : llvm::enumerate(terminator->getSuccessors())) {
        if (!branch)
          return terminator->emitOpError() << "data of tiers is not followed through this op";
        Path path{here, {}};
        OperandRange operands = branch.getSuccessorOperands(number).getForwardedOperands();
        if (operands.size() != successor->getNumArguments())
          return terminator->emitOpError() << "data of tiers is not followed through this op";
        if (failed(handOn(terminator, operands, successor->getArguments(), path)))
          return failure();
        bool isKnown = entries.contains(successor);
        Path before = isKnown ? entries[successor] : Path();
        Path &entry = entries[successor];
        if (failed(mergeInto(entry, isKnown, std::move(path), &successor->front())))
          return failure();
        isChanged |= isKnown && !(entry.state == before.state && entry.facts == before.facts);
      }
    }
  }
  return success();
}

LogicalResult TierFlow::runBlock(Block &block, State &state) {
  for (Operation &op : block.without_terminator())
    if (failed(runOp(&op, state)))
      return failure();
  return success();
}

LogicalResult TierFlow::runOp(Operation *op, State &state) {
  if (isa<TierDialect>(op->getDialect()))
    return runTierOp(op, state);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return runIf(branch, state);
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return runFor(loop, state);
  if (op->getNumRegions())
    return runOnce(op, state);
  return runCompute(op, state);
}

/// What began in a region ends in it, or is handed on.
static LogicalResult checkRegionEnd(Region &region, Operation *terminator, const State &state) {
  for (const Transfer &transfer : state.outstanding) {
    Value holder = transfer.holder;
    Region *parent = holder.getParentRegion();
    if (transfer.isStream || !(parent == &region || region.isProperAncestor(parent)))
      continue;
    InFlightDiagnostic error = transfer.op->emitOpError() << "is not waited for on every path";
    error.attachNote(terminator->getLoc()) << "its region ends here";
    return error;
  }
  return success();
}

LogicalResult TierFlow::runIf(scf::IfOp op, State &state) {
  Path joined;
  for (auto [number, region] : llvm::enumerate(op->getRegions())) {
    Path path{state, {}};
    if (!region.empty()) {
      SmallVector<End> ends;
      if (failed(runRegion(region, state, ends)))
        return failure();
      path.state = std::move(ends.front().state);
      Operation *yield = ends.front().terminator;
      if (failed(handOn(yield, yield->getOperands(), op->getResults(), path)) ||
          failed(checkRegionEnd(region, yield, path.state)))
        return failure();
    }
    if (failed(mergeInto(joined, number > 0, std::move(path), op)))
      return failure();
  }
  enter(op->getResults(), joined, state);
  return success();
}

LogicalResult TierFlow::runFor(scf::ForOp op, State &state) {
  Path entry{state, {}}, joined{state, {}};
  if (failed(handOn(op, op.getInitArgs(), op.getRegionIterArgs(), entry)) ||
      failed(handOn(op, op.getInitArgs(), op->getResults(), joined)))
    return failure();
  Path last;
  for (bool isChanged = true; isChanged;) {
    State here;
    enter(op.getRegionIterArgs(), entry, here);
    SmallVector<End> ends;
    if (failed(runRegion(op.getRegion(), here, ends)))
      return failure();
    Operation *yield = ends.front().terminator;
    Path back{ends.front().state, {}};
    last = {std::move(ends.front().state), {}};
    if (failed(handOn(yield, yield->getOperands(), op->getResults(), last)) ||
        failed(checkRegionEnd(op.getRegion(), yield, last.state)) ||
        failed(handOn(yield, yield->getOperands(), op.getRegionIterArgs(), back)))
      return failure();
    Path before = entry;
    if (failed(joinPaths(entry, back, op)))
      return failure();
    isChanged = !(entry.state == before.state && entry.facts == before.facts);
  }
  if (failed(joinPaths(joined, last, op)))
    return failure();
  enter(op->getResults(), joined, state);
  return success();
}

/// An op whose region runs once, with its terminator's operands as results. Into others nothing of
/// tiers may go.
LogicalResult TierFlow::runOnce(Operation *op, State &state) {
  Region &region = op->getRegion(0);
  bool isOnce = op->getNumRegions() == 1 && region.hasOneBlock() && !region.getNumArguments() &&
                !op->hasTrait<OpTrait::IsIsolatedFromAbove>() &&
                !isa<RegionBranchOpInterface>(op) && region.front().mightHaveTerminator() &&
                region.front().getTerminator()->getNumOperands() == op->getNumResults();
  if (isOnce) {
    SmallVector<End> ends;
    if (failed(runRegion(region, state, ends)))
      return failure();
    Operation *yield = ends.front().terminator;
    Path path{std::move(ends.front().state), {}};
    if (failed(handOn(yield, yield->getOperands(), op->getResults(), path)) ||
        failed(checkRegionEnd(region, yield, path.state)))
      return failure();
    enter(op->getResults(), path, state);
    return success();
  }
  auto result = op->walk([&](Operation *inner) -> WalkResult {
    bool isOfTier = isa<TierDialect>(inner->getDialect()) ||
                    llvm::any_of(inner->getOperands(),
                                 [&](Value value) { return bool(facts.lookup(value).place); });
    if (!isOfTier)
      return WalkResult::advance();
    InFlightDiagnostic error = op->emitOpError()
                               << "data of tiers is not followed into this op's regions";
    error.attachNote(inner->getLoc()) << "used here";
    return error;
  });
  return failure(result.wasInterrupted());
}

LogicalResult TierFlow::runReturn(Operation *op, const State &state) {
  for (Value value : op->getOperands())
    if (failed(checkUse(op, value, state)) || failed(checkReturned(op, value)))
      return failure();
  for (const Transfer &transfer : state.outstanding) {
    if (transfer.isStream)
      continue;
    InFlightDiagnostic error =
        emitError(transfer.op ? transfer.op->getLoc() : transfer.holder.getLoc())
        << "a transfer is not waited for on every path";
    error.attachNote(op->getLoc()) << "the function ends here";
    return error;
  }
  return success();
}
