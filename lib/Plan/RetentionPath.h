//===- RetentionPath.h - From all kept to the least memory ------*- C++ -*-===//
#ifndef STRATA_LIB_PLAN_RETENTIONPATH_H
#define STRATA_LIB_PLAN_RETENTIONPATH_H

#include "strata/lib/Plan/RetentionState.h"

namespace strata::plan {

/// Plans from the one that keeps everything to the one with the least memory that is found, each a
/// move from the one before. The capacity plays no part, so that the plans to choose from are the
/// same for each capacity.
class RetentionPath {
public:
  /// `spanWeight` says how much it counts that a tensor lives for long, from 0 (not at all) to 1
  /// (as much as its bytes).
  RetentionPath(const RetentionProblem &problem, double spanWeight);

  /// The plan of the first `count` moves.
  struct Member {
    size_t count = 0;
    double seconds = 0; ///< of recomputing and stalls
  };
  /// The quickest plan that fits; seconds < 0 if none does.
  Member findBest(uint64_t capacity) const;
  uint64_t getLeastCapacity() const { return leastCapacity; }
  std::vector<Retention> getChoices(size_t count) const;

private:
  struct Move {
    size_t tensor;
    Retention choice;
    uint64_t peak;  ///< bytes after it
    double seconds; ///< of recomputing and stalls, after it
  };
  size_t tensors = 0;
  uint64_t wholeBytes = 0, leastCapacity = 0;
  std::vector<Move> moves;
};

} // namespace strata::plan

#endif // STRATA_LIB_PLAN_RETENTIONPATH_H
