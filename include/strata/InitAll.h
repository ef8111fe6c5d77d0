//===- InitAll.h - Everything that Strata registers -------------*- C++ -*-===//
#ifndef STRATA_INITALL_H
#define STRATA_INITALL_H

#include "mlir/IR/DialectRegistry.h"

namespace strata {

/// Registers the dialects of Strata and those that its phases use.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Registers every pass and pipeline of Strata with MLIR's global registry.
void registerAllPasses();

} // namespace strata

#endif // STRATA_INITALL_H
