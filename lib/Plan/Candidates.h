//===- Candidates.h - What may stay near, the dearest first -----*- C++ -*-===//
#ifndef STRATA_LIB_PLAN_CANDIDATES_H
#define STRATA_LIB_PLAN_CANDIDATES_H

#include "strata/lib/Plan/Transfers.h"

#include <set>

namespace strata::plan {

/// Something that takes near memory and saves transfers: a buffer, or some more slots of a group.
struct Candidate {
  int buffer = -1, group = -1; ///< one of both
  int64_t fromSlots = 0, toSlots = 0;
  bool isLast = true; ///< no other candidate builds on it
  uint64_t bytes = 0; ///< more near memory
  double seconds = 0; ///< fewer of a step's transfers
  int64_t firstUse =
      0; ///< of equally dear ones the first goes first: its transfer is hardest to hide
  double getDensity() const { return bytes ? seconds / double(bytes) : seconds * 1e300; }
};

/// What a problem needs whatever is decided, and all that can stay near by choice.
struct Candidates {
  std::vector<Candidate> order; ///< the most seconds for a byte first
  uint64_t leastBytes = 0;      ///< near, without the slots that moved buffers share
  std::set<int> alwaysNear;     ///< buffers that would take no less if they moved
  double movedSeconds = 0;      ///< of a step's transfers when nothing of `order` stays

  Candidates(const Problem &problem, const Machine &machine);
};

/// Near bytes of what buffers that moved share: a slot for weights, a staging pool, two blocks.
/// Each as large as its largest user needs.
struct SharedBytes {
  uint64_t weights = 0, pages = 0, blocks = 0;
  void add(const Problem &problem, const Buffer &buffer);
  uint64_t getTotal() const { return weights + pages + blocks; }
};

} // namespace strata::plan

#endif // STRATA_LIB_PLAN_CANDIDATES_H
