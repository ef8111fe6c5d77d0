//===- TierEffects.cpp - What each op does to tiers -----------------------===//
#include "strata/passes/Verify/TierFlow.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace strata;
using namespace strata::tier;

static Fact makeFact(Value place, Operation *version, Value home = {}) {
  Fact fact;
  fact.place = place;
  fact.version = version;
  fact.home = home;
  return fact;
}

LogicalResult TierFlow::runTierOp(Operation *op, State &state) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](ResolveOp resolve) {
        return runResolve(op, resolve.getTable(), resolve.getNextTable(), resolve.getPlan(),
                          /*isSpeculative=*/false, state);
      })
      .Case([&](SpeculateOp speculate) {
        return runResolve(op, speculate.getTable(), speculate.getNextTable(), speculate.getPlan(),
                          /*isSpeculative=*/true, state);
      })
      .Case([&](SlotsOp slots) { return checkPlan(op, slots.getPlan(), state); })
      .Case([&](SplitOp split) { return checkPlan(op, split.getPlan(), state); })
      .Case([&](GatherOp gather) { return runGather(gather, state); })
      .Case([&](WaitOp wait) { return runWait(wait, state); })
      .Case([&](ViewOp view) { return runView(view, state); })
      .Case([&](PresentOp present) { return runPresent(present, state); })
      .Case([&](HomeOp home) {
        define(home.getHome(), makeFact(home.getHome(), nullptr, home.getHome()), state);
        return success();
      })
      .Case([&](StageOp stage) {
        state.version.erase(stage.getStage());
        define(stage.getStage(),
               makeFact(stage.getStage(), nullptr, facts.lookup(stage.getHome()).place), state);
        return success();
      })
      .Case([&](SlotOp slot) {
        state.version.erase(slot.getSlot());
        define(slot.getSlot(), makeFact(slot.getSlot(), nullptr), state);
        return success();
      })
      .Case([&](WriteBackOp write) {
        return runWriteHome(op, write.getSource(), write.getHome(), write.getInOrder(), state);
      })
      .Case([&](OffloadOp offload) {
        return runWriteHome(op, offload.getValue(), offload.getHome(), /*isStaged=*/false, state);
      })
      .Case([&](ReloadOp reload) { return runReload(reload, state); })
      .Case([&](ReleaseOp release) { return runRelease(release, state); })
      .Case([&](StreamOp stream) { return runStream(stream, state); });
}

LogicalResult TierFlow::runResolve(Operation *op, Value table, Value nextTable, Value plan,
                                   bool isSpeculative, State &state) {
  if (failed(checkUse(op, table, state)))
    return failure();
  Fact old = facts.lookup(table);
  state.usedUp[table] = op;
  for (auto &[other, fact] : facts)
    if (isa<PlanType>(other.getType()) && fact.table == old.place)
      state.stale.try_emplace(other, op);
  Fact next = makeFact(old.place, op), planned;
  next.plan = plan;
  planned.table = old.place;
  planned.before = old.plan;
  planned.isSpeculative = isSpeculative;
  define(nextTable, next, state);
  define(plan, planned, state);
  state.version[old.place] = op;
  return success();
}

LogicalResult TierFlow::runGather(GatherOp op, State &state) {
  if (failed(checkUse(op, op.getHotSet(), state)) || failed(checkPlan(op, op.getPlan(), state)))
    return failure();
  Fact hotSet = facts.lookup(op.getHotSet()), plan = facts.lookup(op.getPlan()),
       home = facts.lookup(op.getHome());
  if (failed(bindHome(op, hotSet.place, home.place)) ||
      failed(bindTable(op, hotSet.place, plan.table)))
    return failure();
  if (hotSet.plan != plan.before)
    return op.emitOpError() << "a hot set goes through each plan of its table, in order; expected "
                            << (plan.before ? "the plan before this one first"
                                            : "no other plan before this one");
  Fact stage;
  SmallVector<Value, 2> reads;
  if (op.getStage()) {
    // The stage may be written until the rows are read: any of its versions will do.
    stage = facts.lookup(op.getStage());
    if (!stage.place || !stage.place.getDefiningOp<StageOp>())
      return op.emitOpError() << "expected a stage that tier.stage made";
    if (stage.home != home.place)
      return op.emitOpError() << "layers are mixed up: the stage is that of another home";
  } else {
    // It may read what the step writes home.
    if (failed(checkUse(op, op.getHome(), state)))
      return failure();
    reads.push_back(home.place);
  }
  state.usedUp[op.getHotSet()] = op;
  state.version[hotSet.place] = op;
  Fact filled = makeFact(hotSet.place, op, home.place);
  filled.plan = op.getPlan();
  filled.stage = stage.place;
  define(op.getPending(), filled, state);
  state.outstanding.push_back({op, op.getPending(), reads, {hotSet.place}});
  return success();
}

LogicalResult TierFlow::runWait(WaitOp op, State &state) {
  if (failed(checkUse(op, op.getPending(), state)))
    return failure();
  state.usedUp[op.getPending()] = op;
  state.end(op.getPending());
  define(op.getResult(), facts.lookup(op.getPending()), state);
  return success();
}

LogicalResult TierFlow::runView(ViewOp op, State &state) {
  if (failed(checkUse(op, op.getHotSet(), state)) || failed(checkPlan(op, op.getPlan(), state)))
    return failure();
  Fact hotSet = facts.lookup(op.getHotSet());
  if (hotSet.plan != op.getPlan() || facts.lookup(op.getPlan()).isSpeculative)
    return op.emitOpError() << "reads a hot set by a plan that was not gathered into it last";
  if (hotSet.stage && !state.getVersion(hotSet.stage)) {
    InFlightDiagnostic error = op.emitOpError()
                               << "reads a hot set before the step's own rows are in the stage";
    error.attachNote(hotSet.stage.getLoc()) << "the stage";
    return error;
  }
  hotSet.isReadOnly = true;
  define(op.getResult(), hotSet, state);
  return success();
}

LogicalResult TierFlow::runPresent(PresentOp op, State &state) {
  auto gather = dyn_cast_or_null<GatherOp>(state.usedUp.lookup(op.getHotSet()));
  bool isItsGather = gather && gather.getPlan() == op.getPlan();
  if ((!isItsGather && failed(checkUse(op, op.getHotSet(), state))) ||
      failed(checkPlan(op, op.getPlan(), state)))
    return failure();
  Fact hotSet = facts.lookup(op.getHotSet()), plan = facts.lookup(op.getPlan());
  if (failed(bindTable(op, hotSet.place, plan.table)))
    return failure();
  if (hotSet.plan != plan.before || plan.isSpeculative)
    return op.emitOpError()
           << "reads a hot set that has not gone through the plans before this one";
  Fact present = makeFact(hotSet.place, hotSet.version);
  present.plan = op.getPlan();
  present.isReadOnly = present.isPresent = true;
  define(op.getResult(), present, state);
  return success();
}

LogicalResult TierFlow::runWriteHome(Operation *op, Value source, Value home, bool isStaged,
                                     State &state) {
  if (failed(checkUse(op, source, state)) || failed(checkUse(op, home, state)))
    return failure();
  Fact from = facts.lookup(source), to = facts.lookup(home);
  if (from.isReadOnly)
    return op->emitOpError()
           << "page spaces are mixed up: slots of a hot set are not rows of a home";
  bool isStage = from.place && from.place.getDefiningOp<StageOp>();
  if (isStage != isStaged)
    return op->emitOpError() << "expected rows in order from a stage, and from nothing else";
  if (from.home && from.home != to.place)
    return op->emitOpError() << "layers are mixed up: the rows belong to another home";
  if (failed(checkFree(op, to.place, "writes", state)))
    return failure();
  Value pending = op->getResult(0);
  state.version[to.place] = op;
  define(pending, makeFact(to.place, op, to.place), state);
  state.outstanding.push_back({op, pending, {from.place ? from.place : source}, {to.place}});
  return success();
}

LogicalResult TierFlow::runReload(ReloadOp op, State &state) {
  if (failed(checkUse(op, op.getHome(), state)) || failed(checkUse(op, op.getSlot(), state)))
    return failure();
  Value home = facts.lookup(op.getHome()).place, slot = facts.lookup(op.getSlot()).place;
  if (failed(checkFree(op, slot, "writes", state)))
    return failure();
  state.usedUp[op.getSlot()] = op;
  state.version[slot] = op;
  define(op.getPending(), makeFact(slot, op, home), state);
  state.outstanding.push_back({op, op.getPending(), {home}, {slot}});
  return success();
}

LogicalResult TierFlow::runRelease(ReleaseOp op, State &state) {
  if (failed(checkUse(op, op.getValue(), state)))
    return failure();
  Value slot = facts.lookup(op.getValue()).place;
  if (!slot || slot.getType() != op.getSlot().getType())
    return op.emitOpError() << "expected a value that lies in a slot of type "
                            << op.getSlot().getType();
  if (failed(checkFree(op, slot, "gives back", state)))
    return failure();
  state.version[slot] = op;
  define(op.getSlot(), makeFact(slot, op), state);
  return success();
}

LogicalResult TierFlow::runStream(StreamOp op, State &state) {
  Value home = facts.lookup(op.getHome()).place, first = facts.lookup(op.getFirst()).place,
        second = facts.lookup(op.getSecond()).place;
  for (Value value : op.getOperands())
    if (failed(checkUse(op, value, state)))
      return failure();
  if (first == second)
    return op.emitOpError() << "expected two buffers but got one twice";
  if (failed(checkFree(op, first, "writes", state)) ||
      failed(checkFree(op, second, "writes", state)))
    return failure();
  Fact streamed = makeFact({}, nullptr, home);
  streamed.isReadOnly = true;
  define(op.getResult(), streamed, state);
  state.outstanding.push_back({op, op.getResult(), {home}, {first, second}, /*isStream=*/true});
  return success();
}

/// Any op of another dialect: it reads its operands. One that takes a row store and gives one of
/// the same type works in place.
LogicalResult TierFlow::runCompute(Operation *op, State &state) {
  auto isOfTier = [](Type type) { return isa<TierDialect>(type.getDialect()); };
  if (llvm::any_of(op->getOperandTypes(), isOfTier) || llvm::any_of(op->getResultTypes(), isOfTier))
    return op->emitOpError() << "takes or gives a value of the dialect tier";
  for (Value operand : op->getOperands()) {
    if (failed(checkUse(op, operand, state)))
      return failure();
    Fact fact = facts.lookup(operand);
    for (Value result : op->getResults()) {
      if (!isa<RowStoreTypeInterface>(result.getType()) || result.getType() != operand.getType())
        continue;
      if (fact.isReadOnly)
        return op->emitOpError() << "writes to rows that are only there to be read";
      if (!fact.place)
        continue;
      if (failed(checkFree(op, fact.place, "writes", state)))
        return failure();
      fact.version = state.version[fact.place] = op;
      define(result, fact, state);
    }
  }
  // What streams is read once, from front to back.
  for (Value operand : op->getOperands())
    if (operand.getDefiningOp<StreamOp>()) {
      state.end(operand);
      state.usedUp.try_emplace(operand, op);
    }
  return success();
}
