//===- IndexerOracle.h - The first layer's indexer, by its formulas -*- C++ -*-===//
//
// Written from the published description of the lightning indexer (DeepSeek-V3.2; GLM-5.2), in f64
// and without any of the project's code for it: tests compare each stage with it.
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_TEST_INTEGRATION_ROWS_INDEXERORACLE_H
#define STRATA_TEST_INTEGRATION_ROWS_INDEXERORACLE_H

#include "strata/lib/Checkpoint/Checkpoint.h"
#include "strata/lib/Support/Json.h"

#include <vector>

namespace strata::rows {

/// A matrix of numbers, row by row.
using Matrix = std::vector<std::vector<double>>;

/// What layer 0's indexer makes of the tokens at positions 0, 1, …
struct IndexerStages {
  Matrix queries;                         ///< [tokens, heads × width], rotated
  Matrix keys;                            ///< [tokens, width], normed and rotated
  Matrix headWeights;                     ///< [tokens, heads], before any scale
  Matrix scores;                          ///< [tokens, position + 1]
  std::vector<std::vector<int32_t>> rows; ///< [tokens, k], ascending, −1 at the tail
};

/// The k best positions, ascending, −1 at the tail: greater score first, then smaller position.
std::vector<int32_t> bestPositions(const std::vector<double> &scores, int64_t k);

/// `interleaved` is the layout of the indexer's RoPE. The weights are widened from `checkpoint`.
IndexerStages computeIndexer(const nlohmann::json &config, const Checkpoint &checkpoint,
                             const std::vector<int32_t> &tokens, bool interleaved);

} // namespace strata::rows

#endif // STRATA_TEST_INTEGRATION_ROWS_INDEXERORACLE_H
