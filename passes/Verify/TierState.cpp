//===- TierState.cpp - What is known of tiers at a point ------------------===//
#include "strata/passes/Verify/TierState.h"

using namespace mlir;
using namespace strata::tier;

bool Fact::operator==(const Fact &other) const {
  return place == other.place && version == other.version && home == other.home &&
         plan == other.plan && table == other.table && before == other.before &&
         stage == other.stage && isReadOnly == other.isReadOnly && isPresent == other.isPresent &&
         isSpeculative == other.isSpeculative && isMixed == other.isMixed;
}

const Transfer *State::findWriter(Value place) const {
  for (const Transfer &transfer : outstanding)
    if (llvm::is_contained(transfer.writes, place))
      return &transfer;
  return nullptr;
}

const Transfer *State::findReader(Value place) const {
  for (const Transfer &transfer : outstanding)
    if (llvm::is_contained(transfer.reads, place))
      return &transfer;
  return nullptr;
}

void State::end(Value holder) {
  llvm::erase_if(outstanding, [&](const Transfer &transfer) { return transfer.holder == holder; });
}

bool State::operator==(const State &other) const {
  return usedUp == other.usedUp && version == other.version && stale == other.stale &&
         outstanding == other.outstanding;
}

/// A transfer of `from` whose holder none of `others` has, or null.
static const Transfer *findUnmatched(ArrayRef<Transfer> from, ArrayRef<Transfer> others) {
  for (const Transfer &transfer : from)
    if (!transfer.isStream && llvm::none_of(others, [&](const Transfer &other) {
          return other.holder == transfer.holder;
        }))
      return &transfer;
  return nullptr;
}

static LogicalResult joinTransfers(State &into, const State &other, Operation *place) {
  const Transfer *lost = findUnmatched(into.outstanding, other.outstanding);
  if (!lost)
    lost = findUnmatched(other.outstanding, into.outstanding);
  if (lost) {
    InFlightDiagnostic error = emitError(lost->op ? lost->op->getLoc() : lost->holder.getLoc())
                               << "a transfer is not waited for on every path";
    error.attachNote(place->getLoc()) << "the paths meet here";
    return error;
  }
  for (const Transfer &transfer : other.outstanding)
    if (!llvm::is_contained(into.outstanding, transfer))
      into.outstanding.push_back(transfer);
  return success();
}

static Fact joinFacts(const Fact &a, const State &inA, const Fact &b, const State &inB,
                      const State &joined) {
  if (a == b)
    return a;
  Fact fact = a;
  fact.isMixed = a.isMixed || b.isMixed || a.place != b.place || a.plan != b.plan ||
                 a.table != b.table || a.before != b.before || a.stage != b.stage ||
                 a.isReadOnly != b.isReadOnly || a.isPresent != b.isPresent ||
                 a.isSpeculative != b.isSpeculative;
  if (a.home != b.home)
    fact.home = {};
  // Good on both paths: good behind them. Otherwise its version is one that the place has not.
  bool isGoodInA = a.version == inA.getVersion(a.place),
       isGoodInB = b.version == inB.getVersion(b.place);
  if (isGoodInA && isGoodInB)
    fact.version = joined.getVersion(a.place);
  else if (isGoodInA)
    fact.version = b.version;
  return fact;
}

LogicalResult strata::tier::joinPaths(Path &into, const Path &other, Operation *place) {
  State before = into.state;
  State &state = into.state;
  if (failed(joinTransfers(state, other.state, place)))
    return failure();
  // What one path took or outdated must not be used behind both.
  for (auto [value, op] : other.state.usedUp)
    state.usedUp.try_emplace(value, op);
  for (auto [plan, op] : other.state.stale)
    state.stale.try_emplace(plan, op);
  for (auto [value, op] : other.state.version)
    if (before.getVersion(value) != op)
      state.version[value] = place;
  for (auto [value, op] : before.version)
    if (other.state.getVersion(value) != op)
      state.version[value] = place;
  for (auto [fact, otherFact] : llvm::zip(into.facts, other.facts))
    fact = joinFacts(fact, before, otherFact, other.state, state);
  return success();
}
