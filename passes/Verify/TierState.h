//===- TierState.h - What is known of tiers at a point ----------*- C++ -*-===//
//
// The values of the abstract interpretation in TierFlow.h. A *place* is a piece of memory, named by
// the value that first stands for it: a hot set, a table, a slot, a stage, a home. Each write gives
// it a new *version*, the op that wrote; a value is good as long as its place has the value's
// version.
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_PASSES_VERIFY_TIERSTATE_H
#define STRATA_PASSES_VERIFY_TIERSTATE_H

#include "strata/dialects/Tier/IR.h"

namespace strata::tier {

/// What is known of a value. Values that nothing of `tier` touches have none of it.
struct Fact {
  mlir::Value place;                  ///< where it lies
  mlir::Operation *version = nullptr; ///< of the place; null: as it was at the function's begin
  mlir::Value home;                   ///< a copy of what lies here
  mlir::Value plan;   ///< table, hot set: the last plan it went through; view: the plan to read by
  mlir::Value table;  ///< plan: the place of the table that was resolved
  mlir::Value before; ///< plan: the plan that the table went through before
  mlir::Value stage;  ///< hot set: where its last gather takes the step's own rows from
  bool isReadOnly = false;
  bool isPresent = false;     ///< may be read while a gather by `plan` goes on
  bool isSpeculative = false; ///< plan: nothing may be read by it
  bool isMixed = false;       ///< differs between the paths that lead here

  bool operator==(const Fact &other) const;
};

/// A transfer that was started and not waited for. A stream is one until its reader has run.
struct Transfer {
  mlir::Operation *op;                             ///< null: it was started before the function
  mlir::Value holder;                              ///< what ends it
  llvm::SmallVector<mlir::Value, 2> reads, writes; ///< places
  bool isStream = false;

  bool operator==(const Transfer &other) const { return op == other.op && holder == other.holder; }
};

/// What holds at a point of the program.
struct State {
  llvm::DenseMap<mlir::Value, mlir::Operation *> usedUp;  ///< linear values, and what took them
  llvm::DenseMap<mlir::Value, mlir::Operation *> version; ///< of places that were written
  llvm::DenseMap<mlir::Value, mlir::Operation *> stale;   ///< plans, and what outdated them
  llvm::SmallVector<Transfer> outstanding;

  mlir::Operation *getVersion(mlir::Value place) const { return version.lookup(place); }
  /// The transfer that writes a place, or null.
  const Transfer *findWriter(mlir::Value place) const;
  /// The transfer that reads a place, or null.
  const Transfer *findReader(mlir::Value place) const;
  /// Ends the transfers that a value holds.
  void end(mlir::Value holder);

  bool operator==(const State &other) const;
};

/// One of the ways that lead to a point: the state, and the facts of the values that it hands on.
struct Path {
  State state;
  llvm::SmallVector<Fact> facts;
};

/// What holds where two paths meet; `place` is the op there. Reports a transfer that only one of
/// them waits for.
llvm::LogicalResult joinPaths(Path &into, const Path &other, mlir::Operation *place);

} // namespace strata::tier

#endif // STRATA_PASSES_VERIFY_TIERSTATE_H
