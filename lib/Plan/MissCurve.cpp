//===- MissCurve.cpp - How often a hot set lacks a row --------------------===//
//
// The defaults follow published measurements of sparse attention with k = 2048 at a context of
// 68,000: successive steps have 35–50 % of their rows in common, so that a hot set of k rows misses
// the rest; one of 2 k rows with LRU misses 8–13 %; in the first two layers far less is in common.
// What larger hot sets miss is extrapolated.
//
//===----------------------------------------------------------------------===//
#include "strata/lib/Plan/Plan.h"

#include <algorithm>

namespace strata::plan {

double MissCurve::at(double slotsPerK) const {
  if (slots.empty())
    return 0;
  auto next = std::lower_bound(slots.begin(), slots.end(), slotsPerK);
  if (next == slots.end())
    return share.back();
  size_t i = size_t(next - slots.begin());
  // Fewer slots than the first point hold so much less.
  double lowSlots = i == 0 ? 0 : slots[i - 1], lowShare = i == 0 ? 1 : share[i - 1];
  double part = *next > lowSlots ? (slotsPerK - lowSlots) / (*next - lowSlots) : 1;
  return lowShare + part * (share[i] - lowShare);
}

MissCurve defaultMissCurve(int64_t layer) {
  if (layer >= 0 && layer < 2)
    return {{1, 2, 4, 8, 16, 32, 64}, {0.85, 0.70, 0.50, 0.30, 0.15, 0.05, 0}};
  return {{1, 2, 4, 8, 16, 32}, {0.58, 0.105, 0.05, 0.025, 0.01, 0}};
}

} // namespace strata::plan
