//===- StepLowering.h - From the ops of a step to commands ------*- C++ -*-===//
#ifndef STRATA_PASSES_LOWER_STEPLOWERING_H
#define STRATA_PASSES_LOWER_STEPLOWERING_H

#include "strata/passes/Lower/CommandBuilder.h"
#include "strata/passes/Lower/CommandCosts.h"
#include "strata/passes/Lower/Kernels.h"
#include "strata/passes/Lower/TierLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace strata {

/// Lowers the ops of one step, in order. Its methods are spread over files: ops one by one
/// (LowerOps.cpp), attention (LowerAttention.cpp), slices and reshapes (LowerShapes.cpp), and
/// kernels of several ops (LowerFused.cpp). TierLowering has those of tier.
class StepLowering {
public:
  /// Fills the empty `newStep` with the commands of `oldStep`. Products round their operands to
  /// `compute`.
  StepLowering(mlir::func::FuncOp oldStep, mlir::func::FuncOp newStep, mlir::ModuleOp kernels,
               mlir::Type compute);

  llvm::LogicalResult run();

private:
  /// An attention kernel and the arguments of its launch.
  struct AttentionLaunch {
    mlir::SymbolRefAttr kernel;
    llvm::SmallVector<mlir::Value> arguments;
    mlir::Value output;
  };

  llvm::LogicalResult checkShapes(mlir::Operation *op);
  llvm::LogicalResult lower(mlir::Operation *op);
  llvm::LogicalResult lowerBlock(mlir::Block &block);

  llvm::LogicalResult lowerOp(EmbeddingOp op);
  llvm::LogicalResult lowerOp(LinearOp op);
  llvm::LogicalResult lowerOp(HeadLinearOp op);
  llvm::LogicalResult lowerOp(LogitsOp op);
  llvm::LogicalResult lowerOp(RmsNormOp op);
  llvm::LogicalResult lowerOp(LayerNormOp op);
  llvm::LogicalResult lowerOp(RopeOp op);
  llvm::LogicalResult lowerOp(HadamardOp op);
  llvm::LogicalResult lowerOp(GatedLinearOp op);
  llvm::LogicalResult lowerOp(RouteOp op);
  llvm::LogicalResult lowerOp(ExpertOutputsOp op);
  llvm::LogicalResult lowerOp(CombineExpertsOp op);
  llvm::LogicalResult lowerOp(AppendOp op);
  llvm::LogicalResult lowerOp(SelectOp op);
  llvm::LogicalResult lowerOp(RecordsOp op);
  llvm::LogicalResult lowerOp(AttentionOp op);
  llvm::LogicalResult lowerOp(mlir::arith::AddFOp op);
  llvm::LogicalResult lowerOp(mlir::arith::MulFOp op);
  llvm::LogicalResult lowerOp(mlir::arith::ConstantOp op);
  llvm::LogicalResult lowerOp(mlir::tensor::ExpandShapeOp op);
  llvm::LogicalResult lowerOp(mlir::tensor::CollapseShapeOp op);
  llvm::LogicalResult lowerOp(mlir::tensor::ExtractSliceOp op);
  llvm::LogicalResult lowerOp(mlir::tensor::ConcatOp op);
  llvm::LogicalResult lowerOp(KernelOp op);
  llvm::LogicalResult lowerOp(YieldOp op);
  llvm::LogicalResult lowerOp(mlir::func::ReturnOp op);

  llvm::LogicalResult lowerRows(KernelOp kernel);
  llvm::LogicalResult lowerProducts(KernelOp kernel);
  llvm::LogicalResult lowerHeads(KernelOp kernel);

  /// What a value of the step became.
  mlir::Value get(mlir::Value value) const { return commands.lookup(value); }
  /// Says what the first result of an op became.
  llvm::LogicalResult mapTo(mlir::Operation *op, mlir::Value lowered);

  /// A kernel from one row to one row: launched over the tokens with the output as last argument.
  llvm::LogicalResult launchRows(mlir::Operation *op, mlir::SymbolRefAttr kernel,
                                 llvm::SmallVector<mlir::Value> arguments, mlir::Value output);
  /// Lets a command take the rows that are an argument of the step.
  void importRows(mlir::BlockArgument rows);
  llvm::FailureOr<AttentionLaunch> prepareAttention(AttentionOp op);
  llvm::FailureOr<AttentionLaunch> prepareScores(AttentionScoresOp op);
  llvm::FailureOr<AttentionLaunch> preparePartial(PartialAttentionOp op);
  void addPlaces(llvm::SmallVector<mlir::Value> &arguments);
  llvm::LogicalResult lowerReshape(mlir::Operation *op, mlir::Value input,
                                   mlir::RankedTensorType result);
  /// The view itself, or a dense copy of it when its inner strides are not those of a dense row.
  mlir::Value makeDense(mlir::Value view);
  /// An error unless all fields of the cache have one type that kernels know.
  llvm::LogicalResult checkOneElementType(mlir::Operation *op, CacheType cache);

  mlir::func::FuncOp oldStep, newStep;
  KernelModule kernels;
  mlir::Type compute, f32;
  CommandBuilder commands;
  CommandCosts costs;
  TierLowering tiers;
  /// Of the outputs of experts, which lie grouped by expert: the rank of each token's entries.
  llvm::DenseMap<mlir::Value, mlir::Value> expertRanks;
  int64_t indexers = 0, mixtures = 0;
};

/// Elements of one row.
int64_t getRowElements(mlir::Value view);

} // namespace strata

#endif // STRATA_PASSES_LOWER_STEPLOWERING_H
