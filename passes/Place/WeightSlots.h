//===- WeightSlots.h - Which slot each streamed weight uses -----*- C++ -*-===//
#ifndef STRATA_PASSES_PLACE_WEIGHTSLOTS_H
#define STRATA_PASSES_PLACE_WEIGHTSLOTS_H

#include "strata/passes/Place/StepModel.h"

namespace strata {

/// Slots of the near tier that weights use one after the other.
struct WeightSlots {
  llvm::SmallVector<uint64_t> bytes; ///< of each slot: its largest weight
  /// By the weight's number in StepModel::weights: its slot. A weight that several commands read
  /// has the same one each time.
  llvm::DenseMap<unsigned, unsigned> slotOf;

  uint64_t getBytes() const;
};

/// Gives slots to the weights of these numbers. What one command reads at the same time gets
/// different slots; neighbouring commands take turns among `depth` sets of them, so that with 2 one
/// set is filled while the other is read. `bytes`: of every weight of the model.
WeightSlots assignWeightSlots(const StepModel &model, llvm::ArrayRef<uint64_t> bytes,
                              llvm::ArrayRef<unsigned> streamed, unsigned depth);

} // namespace strata

#endif // STRATA_PASSES_PLACE_WEIGHTSLOTS_H
