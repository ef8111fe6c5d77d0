//===- StackDistances.h - Miss curves of measured rows ----------*- C++ -*-===//
#ifndef STRATA_LIB_PLAN_STACKDISTANCES_H
#define STRATA_LIB_PLAN_STACKDISTANCES_H

#include "strata/lib/Plan/Plan.h"

namespace strata::plan {

/// What hot sets of any size would have missed, from one pass over the rows that a sequence's steps
/// attended to, [steps, k]; negative numbers stand for none. A row of a step is there if fewer
/// distinct rows than there are slots were used since it was (R. L. Mattson and others, "Evaluation
/// techniques for storage hierarchies", 1970); rows of the step itself never displace each other.
/// The first `warmUp` steps fill the slots and don't count. Rows that no step had before are missed
/// at every size.
///
/// The slot table orders the rows of a step by hits and misses, which no order serves for all sizes
/// at once; the curve differs from it by a fraction of a step's rows where it is about to lose some
/// of them.
MissCurve measureMissCurve(const int32_t *rows, int64_t steps, int64_t k, int64_t warmUp);

/// The curve of each indexer, from the rows that strata-run --rows wrote, i32 [indexers, steps, k].
/// A tenth of the steps is warm-up. Errors name the file.
Expected<std::vector<MissCurve>> readMissCurves(const std::string &path);

} // namespace strata::plan

#endif // STRATA_LIB_PLAN_STACKDISTANCES_H
