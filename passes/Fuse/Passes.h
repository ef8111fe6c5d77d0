//===- Passes.h - Passes that join ops --------------------------*- C++ -*-===//
#ifndef STRATA_PASSES_FUSE_PASSES_H
#define STRATA_PASSES_FUSE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace strata {
#define GEN_PASS_DECL
#include "strata/passes/Fuse/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "strata/passes/Fuse/Passes.h.inc"
} // namespace strata

#endif // STRATA_PASSES_FUSE_PASSES_H
