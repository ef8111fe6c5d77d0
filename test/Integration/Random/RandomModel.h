//===- RandomModel.h - A small model of any supported kind ------*- C++ -*-===//
#ifndef STRATA_TEST_INTEGRATION_RANDOM_RANDOMMODEL_H
#define STRATA_TEST_INTEGRATION_RANDOM_RANDOMMODEL_H

#include "CheckpointWriter.h"
#include "RandomNumbers.h"

namespace strata::test {

/// What no config asks for today, and the dialect has all the same. Applied to the imported module,
/// so that both executors get it.
struct ModuleChanges {
  bool softmaxScoring = false;    ///< of routers
  bool maximumGroupScore = false; ///< of routers
  bool hadamard = false;          ///< of index queries and keys
  bool planar = false;            ///< of caches: a page holds field by field
  /// Attention to everything becomes attention to the first and the last tokens, attention to rows
  /// is joined by them; 0: none of either.
  int64_t firstTokens = 0, lastTokens = 0;
};

/// A checkpoint and how it is compiled.
struct RandomModel {
  nlohmann::json config;
  CheckpointOptions weights;
  ModuleChanges changes;
  bool bf16Compute = false, bf16Cache = false;
  int64_t pageSize = 1;
  bool newerProcessor =
      false; ///< kernels for x86-64-v3 instead of x86-64, where this machine has it

  /// Index scores are the same in any order of summation, and many are equal.
  bool isExact() const { return weights.smallIntegers && !changes.hadamard; }
  /// They are equal but for the rounding of a transform.
  bool isNearlyTied() const { return weights.smallIntegers && changes.hadamard; }
  /// The least index score that is not 0, where there is one: with small integers scores are
  /// multiples of (heads × width)^-1/2, at least 1/16, and the transform's rounding makes what
  /// should be 0 a little more or less.
  double leastScore() const { return isNearlyTied() ? 1.0 / 16 : 0; }
  bool isF32() const { return !bf16Compute && !bf16Cache; }
  /// k of the indexers; 0: none.
  int64_t rows() const { return config.value("index_topk", int64_t(0)); }
  int64_t window() const;
  /// One line for each part.
  std::string describe() const;
};

/// The models' sequences are at most this long.
constexpr int64_t kLongestSequence = 48;

RandomModel drawModel(RandomNumbers &random);

} // namespace strata::test

#endif // STRATA_TEST_INTEGRATION_RANDOM_RANDOMMODEL_H
