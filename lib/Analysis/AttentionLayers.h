//===- AttentionLayers.h - Attention layers and their order -----*- C++ -*-===//
#ifndef STRATA_LIB_ANALYSIS_ATTENTIONLAYERS_H
#define STRATA_LIB_ANALYSIS_ATTENTIONLAYERS_H

#include "strata/dialects/Strata/IR.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/BitVector.h"

#include <optional>
#include <string>

namespace strata {

/// One `strata.attention` of a function, and its place among the others.
struct AttentionLayer {
  AttentionOp op;
  AttentionOp getOp() const { return op; } ///< ops are handles: a copy may be changed
  unsigned number = 0;                     ///< in program order, counted from 0
  /// The layers right below: their outputs reach this one's operands and those of no layer between.
  llvm::SmallVector<unsigned, 1> below;
  /// Which of several residual streams that never met below this layer; numbered as they begin.
  unsigned stream = 0;
  /// All layers whose outputs reach this one.
  llvm::BitVector ancestors;

  /// The index tensor that the layer attends to; null when it attends to none. Of several the
  /// first, see `hasSeveralRows`.
  mlir::Value rows;
  bool hasSeveralRows = false;
  std::optional<unsigned> sparse; ///< which of the layers with rows, counted from 0
  unsigned owner = 0;             ///< the first layer that uses `rows`: the indexer is its own
};

/// The attention layers of a function. Adjacency comes from use–def chains alone: a layer is below
/// another when its output reaches the other's operands, through the residual stream or otherwise.
/// Names, numbers and attributes play no part, and what stands between the layers doesn't matter.
/// Takes one pass over the ops, without recursion.
class AttentionLayers {
public:
  explicit AttentionLayers(mlir::func::FuncOp function);

  llvm::ArrayRef<AttentionLayer> getLayers() const { return layers; }
  const AttentionLayer &operator[](unsigned number) const { return layers[number]; }
  /// The layers that attend to rows, in order. Schedules count these.
  llvm::ArrayRef<unsigned> getSparseLayers() const { return sparse; }
  /// Whether the output of layer `lower` reaches layer `upper`.
  bool isBelow(unsigned lower, unsigned upper) const { return layers[upper].ancestors[lower]; }
  /// The layers that use the same rows as `layer`, itself included, in order.
  llvm::SmallVector<unsigned> getGroup(const AttentionLayer &layer) const;

private:
  /// Adds a layer whose operands depend on the outputs of `below`.
  void add(AttentionOp op, llvm::SmallVector<unsigned, 1> below);

  llvm::SmallVector<AttentionLayer> layers;
  llvm::SmallVector<unsigned> sparse;
};

/// The argument of the function that a cache value comes from through appends; null if there is
/// none.
mlir::BlockArgument findCacheArgument(mlir::Value cache);
/// The last append on the way to a cache value; null if the value holds nothing of this step.
AppendOp findAppend(mlir::Value cache);

/// What a layer attends to, as text: "all", "window 12", "rows 8", several joined by " and ".
std::string describeSources(AttentionOp op);

/// "layer 3", and the model's own number where the op has one that differs: "layer 3 (layer 7 of
/// the model)".
std::string describeLayer(const AttentionLayer &layer);

} // namespace strata

#endif // STRATA_LIB_ANALYSIS_ATTENTIONLAYERS_H
