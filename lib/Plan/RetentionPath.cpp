//===- RetentionPath.cpp - The ordered greedy -----------------------------===//
//
// Each move takes memory from the period that needs most. What the links carry without a stall is
// free, and goes to the tensors that are dearest to compute again, those with the latest deadline
// first. When nothing more is free, the move with the fewest seconds for a byte is taken:
// recomputing, or a transfer with its stall.
//
//===----------------------------------------------------------------------===//
#include "strata/lib/Plan/RetentionPath.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace strata::plan {

/// Stalls below this part of the program are rounding.
static constexpr double kNoStall = 1e-12;

namespace {

/// Tensors in the order in which one kind of move takes them. Each period goes through it once:
/// what it passed by never becomes a candidate again.
struct MoveOrder {
  std::vector<size_t> tensors;
  std::vector<size_t> next; ///< by period

  template <typename Less>
  MoveOrder(const RetentionProblem &problem, Less less)
      : tensors(problem.tensors.size()), next(problem.periodSeconds.size(), 0) {
    std::iota(tensors.begin(), tensors.end(), size_t(0));
    std::sort(tensors.begin(), tensors.end(),
              [&](size_t a, size_t b) { return less(a, b) || (!less(b, a) && a < b); });
  }
  /// The next tensor for a period; −1 if there is none.
  template <typename IsCandidate> int64_t find(int64_t period, IsCandidate isCandidate) {
    size_t &position = next[period];
    while (position < tensors.size() && !isCandidate(tensors[position]))
      ++position;
    return position < tensors.size() ? int64_t(tensors[position]) : -1;
  }
};

} // namespace

RetentionPath::RetentionPath(const RetentionProblem &problem, double spanWeight)
    : tensors(problem.tensors.size()) {
  RetentionState state(problem);
  if (problem.periodSeconds.empty())
    return;
  std::vector<PeriodRange> offloaded, recomputed;
  for (const RetainedTensor &tensor : problem.tensors) {
    offloaded.push_back(getFreedPeriods(problem, tensor, Retention::Offload));
    recomputed.push_back(getFreedPeriods(problem, tensor, Retention::Recompute));
  }
  auto getWeight = [&](size_t i, const PeriodRange &freed) {
    return double(problem.tensors[i].bytes) * std::pow(double(freed.size()), spanWeight);
  };
  auto getPrice = [&](size_t i) {
    double seconds = problem.tensors[i].recomputeSeconds;
    return seconds < 0 ? HUGE_VAL : seconds / std::max(getWeight(i, recomputed[i]), 1.0);
  };
  std::vector<double> prices(tensors);
  for (size_t i = 0; i < tensors; ++i)
    prices[i] = getPrice(i);

  MoveOrder free(problem, [&](size_t a, size_t b) {
    return prices[a] != prices[b] ? prices[a] > prices[b]
                                  : problem.tensors[a].used > problem.tensors[b].used;
  });
  MoveOrder recompute(problem, [&](size_t a, size_t b) {
    return prices[a] != prices[b] ? prices[a] < prices[b]
                                  : recomputed[a].size() > recomputed[b].size();
  });
  MoveOrder stalled(problem, [&](size_t a, size_t b) {
    return offloaded[a].size() != offloaded[b].size()
               ? offloaded[a].size() > offloaded[b].size()
               : problem.tensors[a].bytes > problem.tensors[b].bytes;
  });

  std::vector<bool> isNeverFree(tensors, false);
  double tolerance =
      kNoStall * std::accumulate(problem.periodSeconds.begin(), problem.periodSeconds.end(), 0.0);
  double recomputeSeconds = 0, stall = 0;
  // What the stall would be with one more transfer, as long as no other changes.
  int64_t tried = -1;
  double longerStall = 0;
  int64_t peak = state.findPeak();
  wholeBytes = leastCapacity = state.getBytes(peak);
  auto move = [&](size_t tensor, Retention choice) {
    bool wasOffloaded = choice != Retention::Offload && state.get(tensor) == Retention::Offload;
    if (state.get(tensor) != choice)
      state.set(tensor, choice);
    if (choice == Retention::Recompute)
      recomputeSeconds += problem.tensors[tensor].recomputeSeconds;
    if (wasOffloaded)
      stall = state.computeStall();
    if (wasOffloaded || choice == Retention::Offload)
      tried = -1;
    peak = state.findPeak();
    uint64_t bytes = state.getBytes(peak);
    leastCapacity = std::min(leastCapacity, bytes);
    moves.push_back({tensor, choice, bytes, recomputeSeconds + stall});
  };

  while (true) {
    int64_t moved = free.find(peak, [&](size_t i) {
      if (state.get(i) != Retention::Keep || isNeverFree[i] || !offloaded[i].contains(peak))
        return false;
      state.set(i, Retention::Offload);
      if (state.computeStall() <= stall + tolerance)
        return true;
      state.set(i, Retention::Keep);
      isNeverFree[i] = true;
      return false;
    });
    if (moved >= 0) {
      move(size_t(moved), Retention::Offload);
      continue;
    }
    int64_t cheapest = recompute.find(peak, [&](size_t i) {
      // One that is on a link in this period gives that up, too.
      bool isThere = state.get(i) == Retention::Keep ||
                     (state.get(i) == Retention::Offload && !offloaded[i].contains(peak));
      return isThere && recomputed[i].contains(peak);
    });
    int64_t longest = stalled.find(peak, [&](size_t i) {
      return state.get(i) == Retention::Keep && offloaded[i].contains(peak);
    });
    if (cheapest < 0 && longest < 0)
      return;
    double offloadPrice = HUGE_VAL;
    if (longest >= 0) {
      if (longest != tried) {
        state.set(size_t(longest), Retention::Offload);
        longerStall = state.computeStall();
        state.set(size_t(longest), Retention::Keep);
        tried = longest;
      }
      offloadPrice =
          (longerStall - stall) / std::max(getWeight(size_t(longest), offloaded[longest]), 1.0);
    }
    if (cheapest >= 0 && prices[cheapest] <= offloadPrice) {
      move(size_t(cheapest), Retention::Recompute);
    } else {
      stall = longerStall;
      move(size_t(longest), Retention::Offload);
    }
  }
}

RetentionPath::Member RetentionPath::findBest(uint64_t capacity) const {
  Member best;
  best.seconds = wholeBytes <= capacity ? 0 : -1;
  for (size_t i = 0; i < moves.size(); ++i)
    if (moves[i].peak <= capacity && (best.seconds < 0 || moves[i].seconds < best.seconds))
      best = {i + 1, moves[i].seconds};
  return best;
}

std::vector<Retention> RetentionPath::getChoices(size_t count) const {
  std::vector<Retention> choices(tensors, Retention::Keep);
  for (size_t i = 0; i < count; ++i)
    choices[moves[i].tensor] = moves[i].choice;
  return choices;
}

} // namespace strata::plan
