//===- Exposure.h - What of a plan's transfers a step waits for -*- C++ -*-===//
#ifndef STRATA_LIB_PLAN_EXPOSURE_H
#define STRATA_LIB_PLAN_EXPOSURE_H

#include "strata/lib/Plan/Plan.h"

namespace strata::plan {

/// Something that a link brings in the course of a step.
struct Arrival {
  int link = 0;
  int64_t ready = -1;   ///< it may start behind this command; −1: with the step
  int64_t command = 0;  ///< that needs it
  double seconds = 0;   ///< of the link
  double headStart = 0; ///< seconds that the command works before it needs it
};

/// Transfers of a plan whose decisions have engines:
/// - rows of a group start when the group knows them. A follower has all layers between for it; the
///   leader scores the rows that are there meanwhile;
/// - streamed index keys arrive while they are scored;
/// - weights take turns among two sets of slots, other caches among one staging pool.
std::vector<Arrival> findArrivals(const Problem &problem, const Machine &machine, const Plan &plan);

/// Seconds that commands wait when they run one after the other and each link brings what it may
/// start, the earliest deadline first.
double getExposedSeconds(const std::vector<double> &commandSeconds, std::vector<Arrival> arrivals);

} // namespace strata::plan

#endif // STRATA_LIB_PLAN_EXPOSURE_H
