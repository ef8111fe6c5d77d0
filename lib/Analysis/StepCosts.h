//===- StepCosts.h - What a step costs, by layer and by kind ----*- C++ -*-===//
#ifndef STRATA_LIB_ANALYSIS_STEPCOSTS_H
#define STRATA_LIB_ANALYSIS_STEPCOSTS_H

#include "strata/dialects/Strata/IR.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace strata {

/// Costs of some ops in a step, apart by what they are for.
struct KindCosts {
  double linearFlops = 0;    ///< products with weights
  double scanFlops = 0;      ///< index queries with index keys
  double attentionFlops = 0; ///< scores and values of the attended records
  double elementwiseFlops = 0;
  double weightBytes = 0;
  double latentBytes = 0;   ///< records that attention reads
  double indexKeyBytes = 0; ///< records that scoring reads
  double cacheBytesWritten = 0;
  /// What scores as an array of tokens × length would add: each written once and read once. Part of
  /// no other number.
  double scoreRowBytes = 0;

  double getFlops() const { return linearFlops + scanFlops + attentionFlops; }
  double getBytes() const { return weightBytes + latentBytes + indexKeyBytes; }
  KindCosts &operator+=(const KindCosts &other);
  /// All numbers divided, by a number of tokens say.
  KindCosts dividedBy(double divisor) const;
};

/// Whose rows a layer attends to.
enum class LayerRole {
  Leader,   ///< its own: the first layer that uses an index tensor
  Follower, ///< those of a layer below, or rows that the step is given
  Full,     ///< nobody's: it attends to all records, a window or the first few
  Other,    ///< it has no attention over a cache
};
llvm::StringRef getRoleName(LayerRole role);

struct LayerCosts {
  int64_t number = 0; ///< the model's (strata.layer), or counted in order where ops have none
  LayerRole role = LayerRole::Other;
  std::optional<int64_t> group;  ///< of layers that use the same rows; numbered in order
  std::optional<int64_t> leader; ///< the group's first layer, by its number
  KindCosts costs;
};

/// The costs of one step of the entry point, from the ops' cost interface.
struct StepCosts {
  llvm::SmallVector<LayerCosts> layers; ///< in order
  KindCosts outside;                    ///< what belongs to no layer: embedding, last norm, logits
  int64_t indexers = 0;                 ///< executed, one for each group
  int64_t attentions = 0;
  /// Bytes that a token takes up in all caches.
  double cacheBytesPerToken = 0;

  KindCosts getTotal() const;
};

/// Adds up the costs of the ops in `step`. Ops belong to the layer that they say (strata.layer); in
/// a function where none says one, to the attention layer between whose cuts they stand.
StepCosts computeStepCosts(mlir::func::FuncOp step, const StepSizes &sizes);

} // namespace strata

#endif // STRATA_LIB_ANALYSIS_STEPCOSTS_H
