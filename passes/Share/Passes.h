//===- Passes.h - The passes of the phase share -----------------*- C++ -*-===//
#ifndef STRATA_PASSES_SHARE_PASSES_H
#define STRATA_PASSES_SHARE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace strata {
#define GEN_PASS_DECL
#include "strata/passes/Share/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "strata/passes/Share/Passes.h.inc"
} // namespace strata

#endif // STRATA_PASSES_SHARE_PASSES_H
