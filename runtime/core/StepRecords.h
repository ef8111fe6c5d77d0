//===- StepRecords.h - Records and pages that a step touches ----*- C++ -*-===//
#ifndef STRATA_RUNTIME_CORE_STEPRECORDS_H
#define STRATA_RUNTIME_CORE_STEPRECORDS_H

#include "strata/runtime/core/Executor.h"

namespace strata::rt {

/// Numbers of the records that a step writes, page × page size + offset: one for each token.
std::vector<int32_t> ownRecords(const StepInput &input, int64_t pageSize);

/// Pages with what earlier steps wrote for the step's sequences, ascending, each once: those that a
/// cache which lies elsewhere must bring before it is used.
std::vector<int32_t> earlierPages(const StepInput &input, int64_t pageSize);

} // namespace strata::rt

#endif // STRATA_RUNTIME_CORE_STEPRECORDS_H
