//===- CpuExecutor.h - Runs a package on the processor ----------*- C++ -*-===//
#ifndef STRATA_RUNTIME_CPU_CPUEXECUTOR_H
#define STRATA_RUNTIME_CPU_CPUEXECUTOR_H

#include "strata/lib/Checkpoint/Checkpoint.h"
#include "strata/runtime/core/Package.h"

#include <memory>

namespace strata::rt {

/// Makes an executor that runs the package's command list. Package and checkpoint outlive it. All
/// memory is planned here: an error tells what is needed when it is more than the limit. The result
/// of a step does not depend on the number of threads, nor a token's results on the other tokens of
/// its step.
Expected<std::unique_ptr<Executor>> createCpuExecutor(const Package &package,
                                                      const Checkpoint &checkpoint,
                                                      const ExecutorOptions &options);

} // namespace strata::rt

#endif // STRATA_RUNTIME_CPU_CPUEXECUTOR_H
