//===- ArenaBytes.h - What a step's activations need ------------*- C++ -*-===//
#ifndef STRATA_PASSES_PLACE_ARENABYTES_H
#define STRATA_PASSES_PLACE_ARENABYTES_H

#include "mlir/IR/BuiltinOps.h"

namespace strata {

/// Bytes of the arena of a step with `tokens` tokens, `wanted` of them with logits: found by
/// lowering a copy of the module, since only then all buffers are known. The module is of the phase
/// fuse or place and has its formats. Errors are diagnostics.
mlir::FailureOr<uint64_t> computeArenaBytes(mlir::ModuleOp module, int64_t tokens, int64_t wanted);

} // namespace strata

#endif // STRATA_PASSES_PLACE_ARENABYTES_H
