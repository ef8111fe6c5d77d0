//===- TierFlow.h - Following data through tiers ----------------*- C++ -*-===//
//
// Abstract interpretation of a function along all its paths: which transfers are on their way, who
// still reads what, which plan holds. Blocks are visited in reverse post-order until nothing
// changes; `scf.if` and `scf.for` are followed, and ops whose one region runs once.
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_PASSES_VERIFY_TIERFLOW_H
#define STRATA_PASSES_VERIFY_TIERFLOW_H

#include "strata/passes/Verify/TierState.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace strata::tier {

class TierFlow {
public:
  explicit TierFlow(mlir::func::FuncOp function) : function(function) {}

  /// Reports the first fault at its op, with a note at the other one.
  llvm::LogicalResult run();

private:
  /// What holds at a terminator that leaves a region.
  struct End {
    mlir::Operation *terminator;
    State state;
  };

  // Control (TierFlow.cpp).
  llvm::LogicalResult enterFunction(State &state);
  /// Facts of the region's arguments stand in `facts`.
  llvm::LogicalResult runRegion(mlir::Region &region, const State &state,
                                llvm::SmallVectorImpl<End> &ends);
  llvm::LogicalResult runBlock(mlir::Block &block, State &state);
  llvm::LogicalResult runOp(mlir::Operation *op, State &state);
  llvm::LogicalResult runIf(mlir::scf::IfOp op, State &state);
  llvm::LogicalResult runFor(mlir::scf::ForOp op, State &state);
  llvm::LogicalResult runOnce(mlir::Operation *op, State &state);
  llvm::LogicalResult runReturn(mlir::Operation *op, const State &state);
  /// Hands values on to block arguments or results: facts and transfers go with them.
  llvm::LogicalResult handOn(mlir::Operation *op, mlir::ValueRange from, mlir::ValueRange to,
                             Path &path);
  void enter(mlir::ValueRange values, const Path &path, State &state);

  // Ops (TierEffects.cpp).
  llvm::LogicalResult runTierOp(mlir::Operation *op, State &state);
  llvm::LogicalResult runResolve(mlir::Operation *op, mlir::Value table, mlir::Value nextTable,
                                 mlir::Value plan, bool isSpeculative, State &state);
  llvm::LogicalResult runGather(GatherOp op, State &state);
  llvm::LogicalResult runWait(WaitOp op, State &state);
  llvm::LogicalResult runView(ViewOp op, State &state);
  llvm::LogicalResult runPresent(PresentOp op, State &state);
  llvm::LogicalResult runWriteHome(mlir::Operation *op, mlir::Value source, mlir::Value home,
                                   bool isStaged, State &state);
  llvm::LogicalResult runReload(ReloadOp op, State &state);
  llvm::LogicalResult runRelease(ReleaseOp op, State &state);
  llvm::LogicalResult runStream(StreamOp op, State &state);
  llvm::LogicalResult runCompute(mlir::Operation *op, State &state);

  // Rules (TierRules.cpp).
  /// Is a value good here?
  llvm::LogicalResult checkUse(mlir::Operation *op, mlir::Value value, const State &state);
  /// Is a plan good here, and from this function?
  llvm::LogicalResult checkPlan(mlir::Operation *op, mlir::Value plan, const State &state);
  /// Is nothing on its way that reads or writes the place?
  llvm::LogicalResult checkFree(mlir::Operation *op, mlir::Value place, llvm::StringRef verb,
                                const State &state);
  /// Do a hot set and a home belong together?
  llvm::LogicalResult bindHome(mlir::Operation *op, mlir::Value hotSet, mlir::Value home);
  /// Do a hot set and a table belong together?
  llvm::LogicalResult bindTable(mlir::Operation *op, mlir::Value hotSet, mlir::Value table);
  llvm::LogicalResult checkReturned(mlir::Operation *op, mlir::Value value);

  void define(mlir::Value value, Fact fact, State &state);

  mlir::func::FuncOp function;
  llvm::DenseMap<mlir::Value, Fact> facts;
  // What belongs together, by places: found at the first use, the same at all others.
  llvm::DenseMap<mlir::Value, mlir::Value> homeOfHotSet, hotSetOfHome, tableOfHotSet;
};

} // namespace strata::tier

#endif // STRATA_PASSES_VERIFY_TIERFLOW_H
