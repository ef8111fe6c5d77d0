//===- TierRules.cpp - When a value of the dialect tier is good -----------===//
#include "strata/passes/Verify/TierFlow.h"

using namespace mlir;
using namespace strata;
using namespace strata::tier;

/// Adds where the other one of two ops stands. Null: nowhere.
static LogicalResult report(InFlightDiagnostic error, Operation *other, StringRef note) {
  if (other)
    error.attachNote(other->getLoc()) << note;
  return error;
}

LogicalResult TierFlow::checkUse(Operation *op, Value value, const State &state) {
  if (Operation *taker = state.usedUp.lookup(value)) {
    auto gather = dyn_cast<GatherOp>(taker);
    if (gather && isa<HotSetType>(value.getType()) && state.findWriter(facts[value].place) &&
        !isa<GatherOp>(op))
      return report(op->emitOpError()
                        << "reads a hot set before the transfer into it is waited for",
                    taker, "the transfer");
    if (value.getDefiningOp<StreamOp>())
      return report(op->emitOpError() << "reads a stream a second time", taker, "it was read here");
    return report(op->emitOpError() << "uses a linear value a second time, " << value.getType(),
                  taker, "it was used up here");
  }
  Fact fact = facts.lookup(value);
  if (fact.isMixed)
    return op->emitOpError()
           << "uses a value that lies elsewhere, or holds something else, on each path";
  if (!fact.place || isa<PendingType>(value.getType()))
    return success();
  Operation *writer = state.getVersion(fact.place);
  if (writer == fact.version)
    return success();
  auto gather = dyn_cast_or_null<GatherOp>(writer);
  if (fact.isPresent && gather && gather.getPlan() == fact.plan)
    return success();
  Type place = fact.place.getType();
  if (isa<HotSetType>(place) && state.findWriter(fact.place))
    return report(op->emitOpError() << "reads a hot set before the transfer into it is waited for",
                  writer, "the transfer");
  if (isa<SlotType>(place))
    return report(op->emitOpError() << "uses a value whose slot was given to another", writer,
                  "its slot was given back or filled here");
  return report(op->emitOpError() << "uses a value whose place was written since", writer,
                "it was written here");
}

LogicalResult TierFlow::checkPlan(Operation *op, Value plan, const State &state) {
  if (Operation *again = state.stale.lookup(plan))
    return report(op->emitOpError() << "uses a stale plan", again,
                  "its table was resolved again here");
  Fact fact = facts.lookup(plan);
  if (fact.isMixed || !fact.table)
    return op->emitOpError()
           << "expected a plan that this function resolves, the same on all paths";
  return success();
}

LogicalResult TierFlow::checkFree(Operation *op, Value place, StringRef verb, const State &state) {
  const Transfer *other = state.findReader(place);
  StringRef what = "reads";
  if (!other) {
    other = state.findWriter(place);
    what = "writes";
  }
  if (!other)
    return success();
  return report(op->emitOpError() << verb << " what a transfer still " << what, other->op,
                "the transfer");
}

/// Notes that two places belong together, or reports that they don't.
static LogicalResult pairUp(DenseMap<Value, Value> &pairs, Value key, Value value, Operation *op,
                            StringRef message) {
  auto [entry, isNew] = pairs.try_emplace(key, value);
  if (isNew || entry->second == value)
    return success();
  InFlightDiagnostic error = op->emitError() << message;
  error.attachNote(entry->second.getLoc()) << "expected this one";
  return error;
}

LogicalResult TierFlow::bindHome(Operation *op, Value hotSet, Value home) {
  if (failed(pairUp(homeOfHotSet, hotSet, home, op,
                    "layers are mixed up: a hot set belongs to another home")))
    return failure();
  return pairUp(hotSetOfHome, home, hotSet, op,
                "layers are mixed up: a home belongs to another hot set");
}

LogicalResult TierFlow::bindTable(Operation *op, Value hotSet, Value table) {
  return pairUp(tableOfHotSet, hotSet, table, op,
                "page spaces are mixed up: a hot set belongs to another table");
}

LogicalResult TierFlow::checkReturned(Operation *op, Value value) {
  if (isa<PendingType>(value.getType()))
    return op->emitOpError() << "hands out a value that is on its way; expected a wait";
  Fact fact = facts.lookup(value);
  Value place = fact.place;
  if (!place)
    return success();
  // Slots, tables, hot sets and homes are handed on as they are; a near row store that is an
  // argument is the caller's.
  bool isOwnRoom = !isa<SlotType, TableType, HotSetType, AtType>(value.getType()) &&
                   !(isa<BlockArgument>(place) && isa<RowStoreTypeInterface>(place.getType()));
  if (isOwnRoom)
    return report(op->emitOpError() << "hands out a value that lies in a slot, stage or hot set",
                  place.getDefiningOp(), "its place");
  Value table = tableOfHotSet.lookup(place);
  if (!isa<HotSetType>(value.getType()) || !table)
    return success();
  for (Value other : op->getOperands())
    if (isa<TableType>(other.getType()) && facts.lookup(other).place == table) {
      Value plan = facts.lookup(other).plan;
      if (plan == fact.plan)
        return success();
      return report(op->emitOpError()
                        << "hands out a hot set that lacks the rows of its table's last plan",
                    plan ? plan.getDefiningOp() : nullptr, "the plan");
    }
  return op->emitOpError() << "hands out a hot set without its table";
}
