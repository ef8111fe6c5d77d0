//===- RetentionState.h - Memory and links under some choices ---*- C++ -*-===//
#ifndef STRATA_LIB_PLAN_RETENTIONSTATE_H
#define STRATA_LIB_PLAN_RETENTIONSTATE_H

#include "strata/lib/Plan/Retention.h"

namespace strata::plan {

/// Periods, both ends included; empty if first > last.
struct PeriodRange {
  int64_t first = 0, last = -1;
  bool contains(int64_t period) const { return first <= period && period <= last; }
  int64_t size() const { return last < first ? 0 : last - first + 1; }
};

/// The periods in which a choice takes no memory though the tensor lives. Empty for choices that
/// the tensor doesn't have.
PeriodRange getFreedPeriods(const RetentionProblem &problem, const RetainedTensor &tensor,
                            Retention choice);

/// Choices, one changed after the other.
class RetentionState {
public:
  /// Everything is kept.
  explicit RetentionState(const RetentionProblem &problem);

  void set(size_t tensor, Retention choice);
  Retention get(size_t tensor) const { return choices[tensor]; }
  const std::vector<Retention> &getChoices() const { return choices; }

  uint64_t getBytes(int64_t period) const { return bytes[period]; }
  /// The first of the periods that need most.
  int64_t findPeak() const;
  double computeRecompute() const;
  /// Seconds that the program waits for transfers, each link first come, first served.
  double computeStall() const;

private:
  /// Bytes of a direction by the period from which they can go, and by that at whose end they must
  /// have gone.
  struct Link {
    double rate = 0;
    std::vector<double> ready, due;
  };
  void add(size_t tensor, int sign);

  const RetentionProblem &problem;
  std::vector<Retention> choices;
  std::vector<uint64_t> bytes;
  Link out, in;
};

} // namespace strata::plan

#endif // STRATA_LIB_PLAN_RETENTIONSTATE_H
