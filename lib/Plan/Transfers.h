//===- Transfers.h - What moving a buffer costs -----------------*- C++ -*-===//
#ifndef STRATA_LIB_PLAN_TRANSFERS_H
#define STRATA_LIB_PLAN_TRANSFERS_H

#include "strata/lib/Plan/Plan.h"

namespace strata::plan {

/// An engine, and the seconds that it takes for a step's transfers of a buffer.
struct Transfer {
  int engine = -1;
  double seconds = 0;
};

/// The quickest engine for these rows or this range, from the next tier to the near one; −1 where
/// there is none. `rows` is an average.
Transfer findTransfer(const Machine &machine, double rows, uint64_t rowBytes);
Transfer findCopy(const Machine &machine, uint64_t bytes);
/// Seconds of one engine.
double getSeconds(const Machine &machine, int engine, double operations, double bytes,
                  uint64_t rowBytes);

/// The same for rows: a copy engine takes an operation for each, a gather engine one for all.
double getRowsSeconds(const Machine &machine, int engine, double rows, uint64_t rowBytes);

/// A group of a problem with its sizes added up.
struct GroupSizes {
  uint64_t rowBytes = 0;    ///< of a record in all of its caches
  uint64_t wholeBytes = 0;  ///< of its pools
  uint64_t stagedBytes = 0; ///< besides hot sets
  int64_t leastSlots = 0;
  bool isNeverHot = false; ///< the smallest hot sets would be no smaller than the pools

  GroupSizes(const Problem &problem, const RowGroup &group);
  /// Slots with which hot sets are as large as the pools.
  int64_t getWholeSlots() const { return int64_t((wholeBytes - stagedBytes) / rowBytes); }
};

/// Seconds of a step's gathers of a group with hot sets of so many slots.
double getGatherSeconds(const Problem &problem, const Machine &machine, const RowGroup &group,
                        int64_t slots);
/// Rows of one cache of the group that a step is expected to bring.
double getExpectedMisses(const Problem &problem, const RowGroup &group, int64_t slots);

} // namespace strata::plan

#endif // STRATA_LIB_PLAN_TRANSFERS_H
