//===- TopK.h - Exact selection of the k best scores ------------*- C++ -*-===//
//
// The order that everything here follows: higher score first, then smaller position; −0 and +0 are
// equal; NaN counts as −inf.
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_RUNTIME_CPU_TOPK_H
#define STRATA_RUNTIME_CPU_TOPK_H

#include "strata/runtime/cpu/Scratch.h"

#include <cstdint>

namespace strata::rt {

/// A score and its position as one number: of two candidates the better one is the larger. The
/// upper half orders scores, the lower half is the complement of the position.
using Candidate = uint64_t;

Candidate makeCandidate(float score, int32_t position);
inline int32_t positionOf(Candidate candidate) { return int32_t(~uint32_t(candidate)); }

/// Keeps the `k` best of `candidates` (which has more than k, all different) in their order, and
/// returns the worst one kept. `scratch` has room for as many candidates.
Candidate keepBest(Candidate *candidates, int64_t count, int64_t k, Candidate *scratch);

/// Selects the k best of scores that come in blocks, by ascending position. Memory does not depend
/// on how many scores come. A candidate that can't be among the k best of what came before it is
/// dropped at once; the others are thinned out whenever their buffer is full.
class TopK {
public:
  /// Candidates of room that a selection needs.
  static int64_t storageSize(int64_t k, int64_t block) { return topKStorage(k, block); }

  /// Blocks have at most `block` scores. `storage` has room for `storageSize` candidates.
  TopK(int64_t k, int64_t block, Candidate *storage)
      : k_(k), capacity_(2 * k + block), candidates_(storage), scratch_(storage + capacity_) {}

  /// Takes the scores of positions [firstPosition, firstPosition + count), count ≤ block.
  void add(const float *scores, int64_t count, int64_t firstPosition);

  struct Best {
    const Candidate *candidates;
    int64_t count;
  };
  /// The best min(k, scores added) candidates, by ascending position; valid until the next call of
  /// another member.
  Best best();

  /// How many scores were NaN.
  int64_t nanScores() const { return nanScores_; }

private:
  void thin();

  int64_t k_, capacity_, size_ = 0;
  Candidate *candidates_, *scratch_; ///< each with room for `capacity_`
  bool hasThreshold_ = false;        ///< k candidates are known to score at least `threshold_`
  float threshold_ = 0;
  int64_t nanScores_ = 0;
};

} // namespace strata::rt

#endif // STRATA_RUNTIME_CPU_TOPK_H
