//===- Retention.h - Keep, offload or compute again -------------*- C++ -*-===//
//
// For tensors that one part of a program leaves for a later one, such as activations that a
// training step saves for its backward half. The program is cut into periods (layers, say); memory
// is counted, and links are, for each of them.
//
// A tensor lies in near memory
//   kept          from the period that produces it to the last that uses it
//   offloaded     while it is produced and for `window` periods after that, in which it goes out;
//                 and for `window` periods before its use, in which it comes back
//   computed anew while it is produced, and while it is used
// A transfer that isn't through at its window's end stalls the program until it is. Each direction
// goes at its own rate. What recomputing takes is not counted as time that links can use.
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_LIB_PLAN_RETENTION_H
#define STRATA_LIB_PLAN_RETENTION_H

#include "strata/lib/Support/Status.h"

#include <cstdint>
#include <vector>

namespace strata::plan {

enum class Retention { Keep, Offload, Recompute };

struct RetainedTensor {
  uint64_t bytes = 0;
  int64_t produced = 0, used = 0; ///< periods; used ≥ produced
  double recomputeSeconds = -1;   ///< negative: it can't be computed again
};

struct RetentionProblem {
  std::vector<double> periodSeconds; ///< what the program computes, without transfers
  std::vector<RetainedTensor> tensors;
  uint64_t capacity = 0;          ///< bytes of near memory for them
  double outRate = 0, inRate = 0; ///< bytes per second to far memory and back; 0: no such link
  int64_t window = 1;             ///< periods; at least 1
};

/// Choices, and what follows from them.
struct RetentionPlan {
  std::vector<Retention> choices;
  uint64_t peakBytes = 0;
  double recomputeSeconds = 0, stallSeconds = 0;
  double seconds = 0;         ///< of the program: its periods, recomputing and stalls
  double lowerBound = 0;      ///< no plan is faster
  uint64_t leastCapacity = 0; ///< the least that the planner reaches
  /// Seconds that one more unit saves (10⁹ bytes; 10¹⁰ bytes per second for both links). By solving
  /// again, never negative.
  double perGigabyte = 0, perTenGigabytesPerSecond = 0;
};

/// Plans in an order of moves that doesn't depend on the capacity. More memory
/// never gives a slower plan. InvalidArgument for problems that can't be; OutOfMemory, with the
/// least feasible capacity, if it is too small.
Expected<RetentionPlan> planRetention(const RetentionProblem &problem);

/// The optimum of the relaxation in which tensors are divisible, and a plan rounded from it (which
/// is not faster than `seconds` says, and may be slower than planRetention's). Unsupported without
/// a solver (LinearProgram::isSupported).
struct RelaxedRetention {
  double lowerBound = 0;
  int fractional = 0; ///< tensors that it divides
  RetentionPlan rounded;
};
Expected<RelaxedRetention> relaxRetention(const RetentionProblem &problem);

/// What follows from choices: peak, seconds; no bound and no prices. The choices must be possible:
/// one for each tensor, Recompute only where it can be, Offload only with both links.
RetentionPlan evaluateRetention(const RetentionProblem &problem,
                                const std::vector<Retention> &choices);

/// A stay of a tensor in near memory: one if it is kept, otherwise one at either end.
struct NearPart {
  size_t tensor = 0;
  int64_t first = 0, last = 0; ///< periods, both included
  uint64_t offset = 0;
};
struct RetentionLayout {
  std::vector<NearPart> parts;
  uint64_t end = 0;     ///< of the last part, bytes
  uint64_t maxLive = 0; ///< no layout ends below: the plan's peak, rounded up for each part
};
/// Offsets at multiples of `alignment`, such that parts that are there in the same period don't
/// overlap. What lies between them is not part of the plan's peak: plan for less than there is if
/// the layout ends behind it. Takes O(n²).
RetentionLayout layOutRetention(const RetentionProblem &problem,
                                const std::vector<Retention> &choices, uint64_t alignment);

} // namespace strata::plan

#endif // STRATA_LIB_PLAN_RETENTION_H
