//===- KernelGroups.h - Which ops of a block become one kernel --*- C++ -*-===//
#ifndef STRATA_PASSES_FUSE_KERNELGROUPS_H
#define STRATA_PASSES_FUSE_KERNELGROUPS_H

#include "strata/dialects/Strata/IR.h"

#include "mlir/IR/Block.h"

namespace strata {

/// Groups of ops of one block. Groups stay such that the block can be ordered with the ops of each
/// group next to each other: no value leaves a group and comes back through an op outside.
class KernelGroups {
public:
  explicit KernelGroups(mlir::Block &block);

  /// The ops of the group that `op` is in, in program order; `op` alone if it is in none.
  llvm::ArrayRef<mlir::Operation *> getMembers(mlir::Operation *op) const;
  /// The kind of the group that `op` is in, if it is in one.
  std::optional<KernelKind> getKind(mlir::Operation *op) const;

  /// Puts the groups of all `ops` together. Fails, and changes nothing, if the block could not be
  /// ordered any more, or if one of the groups has another kind.
  llvm::LogicalResult merge(llvm::ArrayRef<mlir::Operation *> ops, KernelKind kind);

  /// Moves the ops of each group next to each other and into a strata.kernel; keeps the program's
  /// order otherwise. Gives the kernels.
  llvm::SmallVector<KernelOp> formKernels();

private:
  struct Group {
    llvm::SmallVector<mlir::Operation *> members; ///< in program order
    std::optional<KernelKind> kind;
  };

  int64_t number(mlir::Operation *op) const { return numbers.lookup(op); }
  bool canBeAdjacent(llvm::ArrayRef<mlir::Operation *> members) const;
  llvm::SmallVector<unsigned> orderGroups() const;
  KernelOp formKernel(const Group &group);

  mlir::Block &block;
  llvm::DenseMap<mlir::Operation *, int64_t> numbers; ///< program order before anything moved
  llvm::SmallVector<Group> groups; ///< one for each op first; merged ones are empty
  llvm::DenseMap<mlir::Operation *, unsigned> groupOf;
};

} // namespace strata

#endif // STRATA_PASSES_FUSE_KERNELGROUPS_H
