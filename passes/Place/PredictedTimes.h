//===- PredictedTimes.h - How long ops of a step take -----------*- C++ -*-===//
#ifndef STRATA_PASSES_PLACE_PREDICTEDTIMES_H
#define STRATA_PASSES_PLACE_PREDICTEDTIMES_H

#include "strata/dialects/Strata/IR.h"
#include "strata/lib/Machine/Machine.h"
#include "strata/passes/Place/PlaceProblem.h"

#include "mlir/IR/BuiltinOps.h"

namespace strata {

/// Predicts the seconds of an op of a step's block, without transfers: the greater of operations
/// over the machine's rate and bytes over the near tier's bandwidth, by the share of both that
/// kernels reach, and the cost of a launch. On several devices it is one device's part:
/// weights and the operations on them are divided by the tensor degree.
class PredictedTimes {
public:
  PredictedTimes(mlir::ModuleOp module, const Machine &machine, const PlaceSizes &sizes);
  /// Of a module that is placed: what `describe` wrote.
  explicit PredictedTimes(mlir::ModuleOp module);

  double getSeconds(mlir::Operation *op) const;
  /// Writes the rates into a module.
  void describe(mlir::ModuleOp module) const;

private:
  double flops = 0;     ///< per second of one device; 0: no limit
  double bandwidth = 0; ///< bytes per second; 0: no limit
  double launchSeconds = 0;
  double degree = 1; ///< devices that divide weights and operations
  StepSizes step;
};

} // namespace strata

#endif // STRATA_PASSES_PLACE_PREDICTEDTIMES_H
