//===- Labels.h - What commands are called in traces ------------*- C++ -*-===//
#ifndef STRATA_LIB_TARGET_LABELS_H
#define STRATA_LIB_TARGET_LABELS_H

#include "mlir/IR/Operation.h"

#include <string>

namespace strata {

/// "layer 3 rms_norm" for a command of layer 3: what its kernel's name begins with, the names of
/// the weights that a product multiplies by, or else the op's name. Without "layer 3" where the op
/// has no attribute `strata.layer`.
std::string getCommandLabel(mlir::Operation *command);

} // namespace strata

#endif // STRATA_LIB_TARGET_LABELS_H
