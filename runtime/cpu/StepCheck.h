//===- StepCheck.h - Is a step's input what an executor can take? -*- C++ -*-===//
#ifndef STRATA_RUNTIME_CPU_STEPCHECK_H
#define STRATA_RUNTIME_CPU_STEPCHECK_H

#include "strata/runtime/core/Executor.h"

namespace strata::rt {

/// An error for what Executor.h excludes: arrays of different lengths, numbers out of range, tokens
/// of a sequence that are not adjacent or skip a position, pages that are missing.
Status checkStep(const ModelDescription &model, const ExecutorOptions &options,
                 const StepInput &input, const StepOutput &output);

} // namespace strata::rt

#endif // STRATA_RUNTIME_CPU_STEPCHECK_H
