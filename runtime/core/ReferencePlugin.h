//===- ReferencePlugin.h - The reference executor as a library --*- C++ -*-===//
//
// The reference executor needs MLIR, the runtime must not link it. So it is a shared library,
// libstrata-reference.so, that strata-run opens when it is asked for. Both sides are built
// together: C++ types may cross.
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_RUNTIME_CORE_REFERENCEPLUGIN_H
#define STRATA_RUNTIME_CORE_REFERENCEPLUGIN_H

#include "strata/runtime/core/Executor.h"

#include <cstddef>

namespace strata {
class Checkpoint;
} // namespace strata

namespace strata::rt {

constexpr const char kReferenceLibrary[] = "libstrata-reference.so";
constexpr const char kDescribeReferenceModel[] = "strata_reference_describe_model";
constexpr const char kCreateReferenceExecutor[] = "strata_reference_create_executor";

/// Reads an input-phase module (`size` bytes of MLIR text or bytecode, without a terminating zero)
/// and says what a session must know of it, before there is an executor. The result is a
/// StatusCode; an error's text goes to `error`: at most `errorSize` bytes with its terminating
/// zero.
using DescribeReferenceModel = int (*)(const char *module, size_t size, ModelDescription *model,
                                       char *error, size_t errorSize);

/// Makes an executor, which the caller owns (delete), for an input-phase module and a checkpoint,
/// which outlives it. Result and error as above.
using CreateReferenceExecutor = int (*)(const char *module, size_t size,
                                        const Checkpoint *checkpoint,
                                        const ExecutorOptions *options, Executor **executor,
                                        char *error, size_t errorSize);

} // namespace strata::rt

extern "C" {
int strata_reference_describe_model(const char *module, size_t size,
                                    strata::rt::ModelDescription *model, char *error,
                                    size_t errorSize);
int strata_reference_create_executor(const char *module, size_t size,
                                     const strata::Checkpoint *checkpoint,
                                     const strata::rt::ExecutorOptions *options,
                                     strata::rt::Executor **executor, char *error,
                                     size_t errorSize);
}

#endif // STRATA_RUNTIME_CORE_REFERENCEPLUGIN_H
