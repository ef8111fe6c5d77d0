//===- CacheAddress.h - Where the records of a cache lie --------*- C++ -*-===//
#ifndef STRATA_PASSES_LOWER_CACHEADDRESS_H
#define STRATA_PASSES_LOWER_CACHEADDRESS_H

#include "strata/passes/Lower/KernelBuilder.h"

namespace strata {

/// Computes addresses within a cache's 1-D memref. A record is named by its number in the pool:
/// page × page size + slot.
class CacheAddress {
public:
  CacheAddress(KernelBuilder &builder, CacheType cache, mlir::Value elements);

  /// The number of the record at `position` of the sequence whose pages are pages[pageBegin], …
  mlir::Value findRecord(mlir::Value pages, mlir::Value pageBegin, mlir::Value position);
  /// Field number `field` of the record, from the first element of `head` (a Value, or null for
  /// head 0) on.
  KernelRow getField(mlir::Value record, unsigned field, mlir::Value head);

private:
  KernelBuilder &b;
  CacheType cache;
  mlir::Value elements;
  int64_t recordElements = 0;
};

} // namespace strata

#endif // STRATA_PASSES_LOWER_CACHEADDRESS_H
