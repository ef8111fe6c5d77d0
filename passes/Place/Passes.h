//===- Passes.h - The passes of the phase place -----------------*- C++ -*-===//
#ifndef STRATA_PASSES_PLACE_PASSES_H
#define STRATA_PASSES_PLACE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace strata {
#define GEN_PASS_DECL
#include "strata/passes/Place/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "strata/passes/Place/Passes.h.inc"
} // namespace strata

#endif // STRATA_PASSES_PLACE_PASSES_H
