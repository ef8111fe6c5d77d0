//===- CommandCosts.h - What the commands of a step cost --------*- C++ -*-===//
#ifndef STRATA_PASSES_LOWER_COMMANDCOSTS_H
#define STRATA_PASSES_LOWER_COMMANDCOSTS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace strata {

/// Gives commands the attribute `strata.cost` (ModelAttributes.h): what the ops that became them
/// say. The costs of all commands add up to those of the step's ops.
class CommandCosts {
public:
  /// `source` became the ops from `first` on to the end of its block; null: none. Its cost goes to
  /// the commands among them by the elements of the weights that they multiply by, or to the last
  /// one. An op that became no command leaves its cost to the next.
  void attach(mlir::Operation *source, mlir::Operation *first);

private:
  llvm::SmallVector<mlir::Operation *> waiting; ///< ops without a command so far
};

} // namespace strata

#endif // STRATA_PASSES_LOWER_COMMANDCOSTS_H
