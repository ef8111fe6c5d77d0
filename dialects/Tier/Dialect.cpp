//===- Dialect.cpp - Registration -----------------------------------------===//
#include "strata/dialects/Tier/IR.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "strata/dialects/Tier/TierDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "strata/dialects/Tier/TierAttributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "strata/dialects/Tier/TierTypes.cpp.inc"

#define GET_OP_CLASSES
#include "strata/dialects/Tier/TierOps.cpp.inc"

void strata::tier::TierDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "strata/dialects/Tier/TierAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "strata/dialects/Tier/TierTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "strata/dialects/Tier/TierOps.cpp.inc"
      >();
}
