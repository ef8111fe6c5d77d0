//===- RetentionBound.h - What no plan of retention beats -------*- C++ -*-===//
#ifndef STRATA_LIB_PLAN_RETENTIONBOUND_H
#define STRATA_LIB_PLAN_RETENTIONBOUND_H

#include "strata/lib/Plan/Retention.h"

namespace strata::plan {

/// Seconds of recomputing and stalls that every plan has, without a solver: the most that one of
/// the periods asks for by itself.
double boundRetention(const RetentionProblem &problem);

} // namespace strata::plan

#endif // STRATA_LIB_PLAN_RETENTIONBOUND_H
