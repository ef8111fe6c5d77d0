//===- RowStoreInterface.h - Types that hold rows ---------------*- C++ -*-===//
#ifndef STRATA_DIALECTS_INTERFACES_ROWSTOREINTERFACE_H
#define STRATA_DIALECTS_INTERFACES_ROWSTOREINTERFACE_H

#include "mlir/IR/Types.h"

#include "strata/dialects/Interfaces/RowStoreInterface.h.inc"

#endif // STRATA_DIALECTS_INTERFACES_ROWSTOREINTERFACE_H
