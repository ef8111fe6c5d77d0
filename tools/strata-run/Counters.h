//===- Counters.h - What placement cost a run -------------------*- C++ -*-===//
#ifndef STRATA_TOOLS_STRATA_RUN_COUNTERS_H
#define STRATA_TOOLS_STRATA_RUN_COUNTERS_H

#include "strata/runtime/core/Executor.h"
#include "strata/runtime/core/TierCounters.h"

#include <string>

namespace strata::run {

/// Records, traffic, stalls and memory of each tier as lines of text; nothing for an executor
/// without tiers.
std::string describeCounters(const rt::TierCounters &counters);

/// The same as JSON, by the names of strata-sim's.
std::string writeCounters(const rt::TierCounters &counters);

} // namespace strata::run

#endif // STRATA_TOOLS_STRATA_RUN_COUNTERS_H
