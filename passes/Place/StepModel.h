//===- StepModel.h - What a step keeps, and who reads it --------*- C++ -*-===//
#ifndef STRATA_PASSES_PLACE_STEPMODEL_H
#define STRATA_PASSES_PLACE_STEPMODEL_H

#include "strata/dialects/Strata/IR.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace strata {

/// Ways in which a cache can lie in a far tier.
enum class CacheAccess {
  Rows,   ///< one attention reads rows of it and nothing else: through a hot set
  Stream, ///< one indexer scores it: through blocks
  Pages,  ///< anything else: its pages are copied before use
  Fixed,  ///< no op of the step appends to it, so nothing would bring it home again
};

/// A cache of the step: an argument, its append and its readers.
struct StepCache {
  unsigned argument = 0; ///< of the step
  CacheType type = {};
  std::string name = {};
  CacheAccess access = CacheAccess::Fixed;
  AppendOp getAppend() const { return append; }
  AppendOp append = {};                              ///< null: none
  llvm::SmallVector<mlir::Operation *> readers = {}; ///< attention and select ops, in order
  mlir::Operation *first = nullptr, *last = nullptr; ///< ops of the step's block that touch it
};

/// A weight of the step as the runtime binds it: a value of the checkpoint that kernels get as
/// stored, or widened to f32.
struct StepWeight {
  WeightOp op;
  std::string name = {}; ///< of all weights of a step different
  bool isStored = false; ///< products read it, so it can come when they do; others stay near
  uint64_t bytes = 0;
  /// Ops of the step's block that read it, in order; operands of these or of ops within them.
  llvm::SmallVector<mlir::Operation *> commands = {};
  llvm::SmallVector<mlir::OpOperand *> uses = {};
};

/// Layers that attend to the same rows through caches that can have hot sets.
struct StepGroup {
  std::string name; ///< "layers 2-5"
  mlir::Value rows;
  int64_t k = 0;
  llvm::SmallVector<unsigned> caches; ///< numbers of StepModel::caches, in order of their readers
};

/// What is to be placed: the weights and caches of the entry point, from use–def chains alone.
struct StepModel {
  mlir::func::FuncOp step;
  std::vector<StepCache> caches;
  std::vector<StepWeight> weights;
  std::vector<StepGroup> groups;

  /// Ops are handles: a copy may be changed.
  mlir::func::FuncOp getStep() const { return step; }

  explicit StepModel(mlir::func::FuncOp step);
};

/// The model's number of the layer of an op; −1 outside of layers.
int64_t getLayer(mlir::Operation *op);

} // namespace strata

#endif // STRATA_PASSES_PLACE_STEPMODEL_H
