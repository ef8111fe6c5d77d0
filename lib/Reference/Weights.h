//===- Weights.h - The weights of a module, widened row by row --*- C++ -*-===//
#ifndef STRATA_LIB_REFERENCE_WEIGHTS_H
#define STRATA_LIB_REFERENCE_WEIGHTS_H

#include "strata/dialects/Strata/IR.h"
#include "strata/lib/Checkpoint/BoundWeight.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace strata::reference {

/// f32 [members, rows, columns], read by rows: a weight of the checkpoint or a tensor. A tensor of
/// rank 2 has one member.
class WeightView {
public:
  WeightView(const float *values, int64_t members, int64_t rows, int64_t columns)
      : values_(values), members_(members), rows_(rows), columns_(columns) {}
  explicit WeightView(const BoundWeight &weight)
      : weight_(&weight), members_(weight.members()), rows_(weight.rows()),
        columns_(weight.columns()) {}

  int64_t members() const { return members_; }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }

  /// Calls `body` with each of the rows [begin, end) of a member, ascending.
  void forRows(int64_t member, int64_t begin, int64_t end,
               llvm::function_ref<void(int64_t row, const float *values)> body) const;

private:
  const float *values_ = nullptr;       ///< all elements, if they are in memory as f32
  const BoundWeight *weight_ = nullptr; ///< otherwise
  int64_t members_, rows_, columns_;
};

/// The weights that a function names, found in a checkpoint. Those stored as f32 are read where
/// they lie; others are widened at their first use and kept as long as the budget lasts, after that
/// they are widened whenever they are used.
class WeightStore {
public:
  /// Binds all weights; `checkpoint` outlives the store, null is an error if there are weights.
  /// `budget`: bytes for widened weights.
  static Expected<WeightStore> bind(llvm::ArrayRef<WeightOp> weights, const Checkpoint *checkpoint,
                                    uint64_t budget);

  /// The rows of a weight. Not to be called by several threads at once.
  WeightView view(WeightOp weight);
  uint64_t widenedBytes() const { return widenedBytes_; }

private:
  WeightStore() = default;

  struct Entry {
    BoundWeight bound;
    std::vector<float> widened; ///< empty: not kept
  };
  std::vector<Entry> entries_;
  llvm::DenseMap<mlir::Operation *, size_t> indices_;
  uint64_t budget_ = 0, widenedBytes_ = 0;
};

} // namespace strata::reference

#endif // STRATA_LIB_REFERENCE_WEIGHTS_H
