//===- TierCapacity.h - What must fit into a tier ---------------*- C++ -*-===//
#ifndef STRATA_PASSES_VERIFY_TIERCAPACITY_H
#define STRATA_PASSES_VERIFY_TIERCAPACITY_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace strata::tier {

/// Checks the module's attributes `tier.tiers` and `tier.capacity`, that spaces and engines are
/// those of the machine, and that at each op of a function what is live fits into its tier. How it
/// is added up stands in the description of the pass `tier-verify`. Success without
/// `tier.capacity`.
llvm::LogicalResult checkCapacity(mlir::ModuleOp module, mlir::func::FuncOp function);

} // namespace strata::tier

#endif // STRATA_PASSES_VERIFY_TIERCAPACITY_H
