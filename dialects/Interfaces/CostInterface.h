//===- CostInterface.h - What an op costs in a step -------------*- C++ -*-===//
#ifndef STRATA_DIALECTS_INTERFACES_COSTINTERFACE_H
#define STRATA_DIALECTS_INTERFACES_COSTINTERFACE_H

#include "mlir/IR/OpDefinition.h"

namespace strata {

/// How weights or caches are stored, for questions about formats that the module does not have. The
/// bytes of each are defined in dialects/Strata/StoredBytes.h.
enum class StorageFormat {
  AsWritten, ///< as the module's types say
  BF16,
  FP8, ///< e4m3 with scales
};

/// The sizes of a step that costs depend on. Real numbers, so that averages over steps can be asked
/// for.
struct StepSizes {
  double tokens = 1;  ///< tokens of the step
  double wanted = 1;  ///< tokens whose logits are wanted
  double visible = 1; ///< cached positions that a token sees, itself included, on average
  /// The numbers of visible positions are spread evenly over visible ± spread: (L − 1) / 2 for a
  /// prompt of L tokens, 0 for decoding.
  double spread = 0;
  StorageFormat weights = StorageFormat::AsWritten;
  StorageFormat caches = StorageFormat::AsWritten;

  /// What a token sees of at most `limit` positions, on average: the mean of min(visible, limit).
  double visibleUpTo(double limit) const;
};

/// What most of an op's work is for.
enum class CostKind {
  Linear,    ///< products with weights, and everything elementwise
  Scan,      ///< scoring of index keys and the choice among them
  Attention, ///< scores and values of the attended records
};

/// What an op costs. All bytes are as stored: weights in the checkpoint's type, caches in the
/// cache's, unless the step's sizes ask for other formats.
struct Cost {
  double flops = 0;             ///< of multiply-adds: products with weights, keys and values
  double elementwiseFlops = 0;  ///< of all else: norms, rotations, activations, biases
  double weightBytes = 0;       ///< weights read
  double cacheBytesRead = 0;    ///< cache records read
  double cacheBytesWritten = 0; ///< cache records written
  double activationBytesRead = 0;
  double activationBytesWritten = 0;

  Cost &operator+=(const Cost &other) {
    flops += other.flops;
    elementwiseFlops += other.elementwiseFlops;
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
