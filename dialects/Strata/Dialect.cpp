//===- Dialect.cpp - Registration -----------------------------------------===//
#include "strata/dialects/Strata/IR.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "strata/dialects/Strata/StrataDialect.cpp.inc"
#include "strata/dialects/Strata/StrataEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "strata/dialects/Strata/StrataAttributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "strata/dialects/Strata/StrataTypes.cpp.inc"

#define GET_OP_CLASSES
#include "strata/dialects/Strata/StrataOps.cpp.inc"

void strata::StrataDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "strata/dialects/Strata/StrataAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "strata/dialects/Strata/StrataTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "strata/dialects/Strata/StrataOps.cpp.inc"
      >();
}
