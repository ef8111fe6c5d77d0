//===- Recall.h - How much the rows of two indexers agree -------*- C++ -*-===//
#ifndef STRATA_RUNTIME_CORE_RECALL_H
#define STRATA_RUNTIME_CORE_RECALL_H

#include "strata/runtime/core/Executor.h"

#include <cstdint>
#include <vector>

namespace strata::rt {

/// Compares what the indexers of one model choose for the same tokens. Entry (i, j) of the matrix
/// is the share of indexer j's rows that are among indexer i's: what layer j would keep of its rows
/// if it used layer i's. Only positions count where something is left out, those from k on, and of
/// them every 16th.
class RecallSums {
public:
  /// An error if the model has no indexers, or if they choose different numbers of rows.
  static Expected<RecallSums> create(const ModelDescription &model);

  /// True for the positions whose rows are to be added.
  bool counts(int64_t position) const {
    return position >= width_ && (position - width_) % kStride == 0;
  }
  /// Adds a token: its rows are rows[indexer][token × k …], ascending with −1 at the tail.
  void add(const std::vector<std::vector<int32_t>> &rows, int64_t token);

  /// k, the number of rows that an indexer chooses.
  int64_t width() const { return width_; }
  /// Tokens added.
  int64_t tokens() const { return tokens_; }
  /// The matrix, one row for each indexer in program order. At least one token was added.
  std::vector<std::vector<double>> matrix() const;

private:
  static constexpr int64_t kStride = 16;

  RecallSums(int64_t width, size_t indexers)
      : width_(width), sums_(indexers, std::vector<int64_t>(indexers, 0)) {}

  int64_t width_;
  int64_t tokens_ = 0;
  std::vector<std::vector<int64_t>> sums_; ///< common rows
};

} // namespace strata::rt

#endif // STRATA_RUNTIME_CORE_RECALL_H
