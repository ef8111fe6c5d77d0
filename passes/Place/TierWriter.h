//===- TierWriter.h - Decisions become types and ops ------------*- C++ -*-===//
#ifndef STRATA_PASSES_PLACE_TIERWRITER_H
#define STRATA_PASSES_PLACE_TIERWRITER_H

#include "strata/dialects/Tier/IR.h"
#include "strata/passes/Place/Decisions.h"

#include <map>

namespace strata {

/// Writes decisions into a step. Its methods are spread over files: what follows from a cache's
/// residence (TierCaches.cpp), hot sets of groups (TierGroups.cpp), weights (TierWeights.cpp).
/// Transfers of reloads stand right before the use; strata-schedule-transfers moves them.
class TierWriter {
public:
  /// `splitAttention`: groups' first layers attend to hits and to misses apart.
  TierWriter(StepModel &model, const Decisions &decisions, const plan::Problem &problem,
             const Machine &machine, bool splitAttention = false);

  /// Afterwards the step model is stale.
  void run();

private:
  /// A cache that moved.
  struct MovedCache {
    mlir::Value home;     ///< the argument, later the home after the step's write-back
    mlir::Value appended; ///< the cache value with the step's records
    mlir::Value stage;    ///< before the append; null with a staging pool
    mlir::Operation *appendPlace = nullptr; ///< op of the step's block
  };
  /// A hot set: an argument, later what the last gather made of it.
  using HotSets = llvm::DenseMap<unsigned, mlir::Value>; // by cache

  bool isMoved(unsigned cache) const { return !decisions.isNear[cache]; }
  mlir::Value getOwnRecords();
  /// The op's engine, and the bytes that are expected to move.
  void annotate(mlir::Operation *transfer, double bytes);
  mlir::StringRef getEngine(unsigned buffer) const;
  mlir::StringRef getWriteEngine() const;

  void moveHomes();
  void addArguments();
  void writeStaged(unsigned cache);
  void writeStreamed(unsigned cache);
  void writeReloaded();
  void writeReload(unsigned cache, mlir::Value &slot);
  /// Starts it at the builder's place.
  void writeBack(unsigned cache, bool inOrder);
  void waitForHome(unsigned cache, mlir::Location location);
  void waitForHomes();
  void writeGroup(unsigned group);
  /// Fetches some of `records` for a group that is written later.
  void writeSpeculation(unsigned group, mlir::Value records);
  mlir::Value writeHits(KernelOp kernel, AttentionOp attention, mlir::Value hotSet,
                        mlir::Value plan, mlir::Value hits);
  void writeMisses(AttentionOp attention, mlir::Value view, mlir::Value misses, mlir::Value known);
  KernelOp wrapAttention(AttentionOp attention);
  void attendToSlots(AttentionOp attention, mlir::Value view, mlir::Value slots);
  void writeWeights();
  void finishSignature();
  mlir::Value makeSlot(uint64_t bytes);

  StepModel &model;
  const Decisions &decisions;
  const plan::Problem &problem;
  const Machine &machine;
  bool splitAttention;
  ProblemIndex index;
  mlir::func::FuncOp step;
  mlir::Block &block;
  mlir::OpBuilder builder;
  mlir::StringAttr farSpace;
  mlir::Value own;
  /// Of the stages, and of the gathers of rows that are known when the step begins.
  mlir::Operation *lastAtTop = nullptr;
  llvm::DenseMap<unsigned, MovedCache> moved;
  HotSets hotSets;
  llvm::SmallVector<mlir::Value> tables; ///< by group; null: none
  /// Pairs of buffers that streamed caches share, by the bytes of a record.
  std::map<int64_t, llvm::SmallVector<mlir::Value>> blockBuffers;
};

} // namespace strata

#endif // STRATA_PASSES_PLACE_TIERWRITER_H
