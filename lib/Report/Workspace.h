//===- Workspace.h - What a lowered step launches and needs -----*- C++ -*-===//
#ifndef STRATA_LIB_REPORT_WORKSPACE_H
#define STRATA_LIB_REPORT_WORKSPACE_H

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>

namespace strata {

/// What the commands of one step need besides weights and caches: exactly what the executor
/// allocates.
struct Workspace {
  int64_t launches = 0;       ///< commands
  uint64_t arenaBytes = 0;    ///< the slots of activations
  uint64_t scratchBytes = 0;  ///< of each thread
  double activationBytes = 0; ///< of buffers that commands read or write, each time they do

  /// With one thread.
  uint64_t getBytes() const { return arenaBytes + scratchBytes; }
};

/// Reads a module of the phase lower. `tokens` and `wanted` are the step's sizes; `positions` is
/// how many positions all pages of a cache have. Errors are diagnostics.
mlir::FailureOr<Workspace> computeWorkspace(mlir::ModuleOp lowered, int64_t tokens, int64_t wanted,
                                            int64_t positions);

} // namespace strata

#endif // STRATA_LIB_REPORT_WORKSPACE_H
