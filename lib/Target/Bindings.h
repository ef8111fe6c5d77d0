//===- Bindings.h - Where the values of a lowered program lie ---*- C++ -*-===//
#ifndef STRATA_LIB_TARGET_BINDINGS_H
#define STRATA_LIB_TARGET_BINDINGS_H

#include "strata-rt/package_generated.h"
#include "strata/dialects/Strata/IR.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace strata {

/// Resolves the values that commands name to slots, weights, caches and step arrays of the
/// manifest. Weights and caches are numbered; a weight gets its number when it is first asked for.
/// Errors are diagnostics at the command.
class Bindings {
public:
  /// A weight of the manifest: equal attributes and types give one, except that the widened form is
  /// another, and so is each slot that it is copied to.
  struct Weight {
    WeightOp op;
    bool widen;
  };

  /// Finds the arena's slots and the caches among the arguments of the entry point; fails where a
  /// buffer has no slot.
  static mlir::FailureOr<Bindings> create(mlir::func::FuncOp step);

  /// A buffer, a view, a step array or a cache, as kernels get it.
  mlir::FailureOr<package::Argument> getArgument(mlir::Operation *command, mlir::Value value) const;
  /// A buffer or view [rows, features] or [rows, batch, features] whose features lie side by side.
  mlir::FailureOr<package::View> getView(mlir::Operation *command, mlir::Value value) const;
  mlir::FailureOr<int32_t> getCache(mlir::Operation *command, mlir::Value value) const;
  mlir::FailureOr<int32_t> getWeight(mlir::Operation *command, mlir::Value value, bool widen);

  /// Bytes of each slot: as many as its largest buffer, for every size of step.
  llvm::ArrayRef<package::Size> getSlots() const { return slots; }
  llvm::ArrayRef<mlir::BlockArgument> getCaches() const { return caches; }
  llvm::ArrayRef<Weight> getWeights() const { return weights; }

private:
  llvm::SmallVector<package::Size> slots;
  llvm::SmallVector<mlir::BlockArgument> caches;
  llvm::SmallVector<Weight> weights;
  llvm::DenseMap<mlir::Attribute, int32_t> weightNumbers;
};

/// The weight slot that a weight is copied to before use (strata.weight_slot); −1: none.
int64_t getWeightSlot(WeightOp weight);

/// The manifest's name of an element type that the dialect allows for weights, caches and operands.
package::ElementType getPackageType(mlir::Type type);

package::Size getPackageSize(SizeAttr size);

} // namespace strata

#endif // STRATA_LIB_TARGET_BINDINGS_H
