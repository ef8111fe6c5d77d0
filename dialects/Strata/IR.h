//===- IR.h - The strata dialect --------------------------------*- C++ -*-===//
#ifndef STRATA_DIALECTS_STRATA_IR_H
#define STRATA_DIALECTS_STRATA_IR_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "strata/dialects/Interfaces/CostInterface.h"
#include "strata/dialects/Interfaces/RowStoreInterface.h"
#include "strata/dialects/Strata/StrataDialect.h.inc"
#include "strata/dialects/Strata/StrataEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "strata/dialects/Strata/StrataAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "strata/dialects/Strata/StrataTypes.h.inc"

namespace strata {
/// What strata.partial_attention leaves behind the sum of values: the greatest score, and
/// Σ e^(score − greatest).
constexpr int64_t kPartialNumbers = 2;
} // namespace strata

#define GET_OP_CLASSES
#include "strata/dialects/Strata/StrataOps.h.inc"

#endif // STRATA_DIALECTS_STRATA_IR_H
