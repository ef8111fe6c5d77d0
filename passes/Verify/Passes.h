//===- Passes.h - The verifiers between phases ------------------*- C++ -*-===//
#ifndef STRATA_PASSES_VERIFY_PASSES_H
#define STRATA_PASSES_VERIFY_PASSES_H

#include "mlir/Pass/Pass.h"

namespace strata {
#define GEN_PASS_DECL
#include "strata/passes/Verify/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "strata/passes/Verify/Passes.h.inc"
} // namespace strata

#endif // STRATA_PASSES_VERIFY_PASSES_H
