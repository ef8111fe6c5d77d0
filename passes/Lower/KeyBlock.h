//===- KeyBlock.h - The keys of a block and their scores --------*- C++ -*-===//
#ifndef STRATA_PASSES_LOWER_KEYBLOCK_H
#define STRATA_PASSES_LOWER_KEYBLOCK_H

#include "strata/passes/Lower/CacheAddress.h"

namespace strata {

/// Candidates of a block.
constexpr int64_t blockKeys = 64;

/// On the stack of an attention kernel: the records of a block that count, and their scores. A
/// key's score is computed by the same operations in the same order wherever it stands in the list,
/// so kernels that score keys apart from each other get the same bits.
class KeyBlock {
public:
  /// The buffers; `roundQuery`: queries are rounded to bf16 before they are multiplied.
  KeyBlock(KernelBuilder &builder, double scale, bool roundQuery, int64_t keyWidth);

  /// The row of `queries` at `leading`, rounded if that was asked for; valid until the next call.
  KernelRow loadQuery(mlir::Value queries, llvm::ArrayRef<mlir::Value> leading);

  /// Lists `record` behind `count` others.
  void append(mlir::Value record, mlir::Value count) { b.storeFloat(record, records_, count); }
  /// Gives the score of every key not listed, and of those without one: −∞.
  void clearScores();
  /// Fills the list of `count` records (at least one) up to a whole group with its last one. Gives
  /// the number of groups.
  mlir::Value fillGroups(mlir::Value count);
  /// Writes the scores of the listed keys.
  void score(const KernelRow &query, CacheAddress &address, CacheType cache, mlir::Value keyHead,
             mlir::Value groups, mlir::Value count);
  /// The records of a group.
  llvm::SmallVector<mlir::Value> group(mlir::Value firstKey);

  KernelRow scoresRow() { return b.row(scores_, {}); }
  mlir::Value scores() { return scores_; }

  /// Keys whose products advance together: independent sums hide the latency of the additions.
  static constexpr int64_t keysTogether = 4;

private:
  KernelBuilder &b;
  double scale;
  int64_t keyWidth;
  mlir::Value records_, scores_, rounded; ///< `rounded` is null if queries are taken as they are
};

} // namespace strata

#endif // STRATA_PASSES_LOWER_KEYBLOCK_H
