//===- CostInterface.h - What an op costs in a step -------------*- C++ -*-===//
#ifndef STRATA_DIALECTS_INTERFACES_COSTINTERFACE_H
#define STRATA_DIALECTS_INTERFACES_COSTINTERFACE_H

#include "mlir/IR/OpDefinition.h"

namespace strata {

/// The sizes of a step that costs depend on. Real numbers, so that averages over steps can be asked
/// for.
struct StepSizes {
  double tokens = 1;  ///< tokens of the step
  double wanted = 1;  ///< tokens whose logits are wanted
  double visible = 1; ///< cached positions that a token sees, itself included, on average
};

/// What an op costs. All bytes are as stored: weights in the checkpoint's type, caches in the
/// cache's.
struct Cost {
  double flops = 0;
  double weightBytes = 0;       ///< weights read
  double cacheBytesRead = 0;    ///< cache records read
  double cacheBytesWritten = 0; ///< cache records written
  double activationBytesRead = 0;
  double activationBytesWritten = 0;

  Cost &operator+=(const Cost &other) {
    flops += other.flops;
    weightBytes += other.weightBytes;
    cacheBytesRead += other.cacheBytesRead;
    cacheBytesWritten += other.cacheBytesWritten;
    activationBytesRead += other.activationBytesRead;
    activationBytesWritten += other.activationBytesWritten;
    return *this;
  }
};

} // namespace strata

#include "strata/dialects/Interfaces/CostInterface.h.inc"

#endif // STRATA_DIALECTS_INTERFACES_COSTINTERFACE_H
