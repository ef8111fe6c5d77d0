//===- Observer.h - A look at what a step chooses from ----------*- C++ -*-===//
#ifndef STRATA_LIB_REFERENCE_OBSERVER_H
#define STRATA_LIB_REFERENCE_OBSERVER_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <functional>

namespace strata::reference {

/// Receives the scores behind each choice, so that tests can judge near-ties by the equality rule.
/// Both may be empty. Calls come from the thread that runs the step, in program order, tokens
/// ascending.
struct Observer {
  /// The scores of the positions that a token sees, and the rows that the step goes on with
  /// (imported ones, if there are). Only for tokens that see more than k positions.
  std::function<void(int indexer, int token, llvm::ArrayRef<float> scores,
                     llvm::ArrayRef<int32_t> rows)>
      rows;
  /// A token's choice value for each expert (score plus correction) before groups are applied, and
  /// the experts that the step goes on with.
  std::function<void(int mixture, int token, llvm::ArrayRef<float> choices,
                     llvm::ArrayRef<int32_t> experts)>
      experts;
};

} // namespace strata::reference

#endif // STRATA_LIB_REFERENCE_OBSERVER_H
