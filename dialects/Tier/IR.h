//===- IR.h - The tier dialect ----------------------------------*- C++ -*-===//
#ifndef STRATA_DIALECTS_TIER_IR_H
#define STRATA_DIALECTS_TIER_IR_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "strata/dialects/Interfaces/RowStoreInterface.h"
#include "strata/dialects/Tier/TierDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "strata/dialects/Tier/TierAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "strata/dialects/Tier/TierTypes.h.inc"

#define GET_OP_CLASSES
#include "strata/dialects/Tier/TierOps.h.inc"

#endif // STRATA_DIALECTS_TIER_IR_H
