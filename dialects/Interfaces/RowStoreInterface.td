//===- RowStoreInterface.td - Types that hold rows ---------*- tablegen -*-===//
#ifndef STRATA_DIALECTS_INTERFACES_ROWSTOREINTERFACE_TD
#define STRATA_DIALECTS_INTERFACES_ROWSTOREINTERFACE_TD

include "mlir/IR/OpBase.td"

def RowStoreTypeInterface : TypeInterface<"RowStoreTypeInterface"> {
  let cppNamespace = "::strata";
  let description = [{
    A type whose values are rows of one size in pages, so that single rows can lie elsewhere.
  }];
  let methods = [
    InterfaceMethod<"Bytes of a row.", "int64_t", "getRowBytes">,
    InterfaceMethod<"Rows of a page.", "int64_t", "getPageRows">,
  ];
}

#endif // STRATA_DIALECTS_INTERFACES_ROWSTOREINTERFACE_TD
