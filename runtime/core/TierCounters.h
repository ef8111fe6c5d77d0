//===- TierCounters.h - What placement cost a run ---------------*- C++ -*-===//
#ifndef STRATA_RUNTIME_CORE_TIERCOUNTERS_H
#define STRATA_RUNTIME_CORE_TIERCOUNTERS_H

#include "strata/runtime/core/StallCause.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace strata::rt {

/// Counts of an executor with several tiers, over all of its steps. What engines move is counted
/// when it starts.
struct TierCounters {
  struct Tier {
    std::string name;
    uint64_t capacity = 0;  ///< bytes, 0: no limit
    uint64_t peakBytes = 0; ///< in use at the same time, at most
  };
  struct Engine {
    std::string name;
    uint64_t transfers = 0;
    uint64_t bytesToNear = 0, bytesToFar = 0;
  };
  std::vector<Tier> tiers; ///< near first
  std::vector<Engine> engines;
  /// Distinct records of the blocks that slot tables resolved: found in slots, missing (each cache
  /// of the group gathers them), and the step's own.
  uint64_t hits = 0, misses = 0, ownRecords = 0;
  /// Records that were given slots ahead.
  uint64_t speculated = 0;
  /// Nanoseconds in which compute waited, by StallCause.
  std::array<uint64_t, kStallCauses> stalls = {};
};

} // namespace strata::rt

#endif // STRATA_RUNTIME_CORE_TIERCOUNTERS_H
