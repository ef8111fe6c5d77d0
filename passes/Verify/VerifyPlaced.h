//===- VerifyPlaced.h - Steps whose data lie in tiers -----------*- C++ -*-===//
#ifndef STRATA_PASSES_VERIFY_VERIFYPLACED_H
#define STRATA_PASSES_VERIFY_VERIFYPLACED_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace strata {

/// What `strata` and `tier` promise each other at the end of the phase place, which neither can say
/// alone: record numbers are physical where they reach `tier`; rows of a hot set are read by the
/// slots of its own plan; what was scored before and what is scored after are one plan's hits and
/// misses; records in order go to stages only.
llvm::LogicalResult verifyPlaced(mlir::func::FuncOp step);

/// The cache that an argument stands for, whether near or at home elsewhere; null for others.
mlir::Type getCacheOfArgument(mlir::Type type);

} // namespace strata

#endif // STRATA_PASSES_VERIFY_VERIFYPLACED_H
