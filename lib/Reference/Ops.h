//===- Ops.h - What each op of the input phase means ------------*- C++ -*-===//
//
// One function for each op, in a file for each kind. The description of the op is what it follows.
// Sums are taken in f64 and rounded to f32 once.
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_LIB_REFERENCE_OPS_H
#define STRATA_LIB_REFERENCE_OPS_H

#include "strata/lib/Reference/StepState.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace strata::reference {

// Dense.cpp
Status run(StepState &state, TokenIdsOp op);
Status run(StepState &state, PositionsOp op);
Status run(StepState &state, WeightOp op);
Status run(StepState &state, EmbeddingOp op);
Status run(StepState &state, LinearOp op);
Status run(StepState &state, HeadLinearOp op);
Status run(StepState &state, GatedMlpOp op);
Status run(StepState &state, GatedLinearOp op);
Status run(StepState &state, LogitsOp op);

// Norms.cpp
Status run(StepState &state, RmsNormOp op);
Status run(StepState &state, LayerNormOp op);

// Rotations.cpp
Status run(StepState &state, RopeOp op);
Status run(StepState &state, HadamardOp op);

// Mixture.cpp. `mixture`: the number of the router among all, in program order.
Status run(StepState &state, RouteOp op, int64_t mixture);
Status run(StepState &state, MixtureOfExpertsOp op);
Status run(StepState &state, ExpertOutputsOp op);
Status run(StepState &state, CombineExpertsOp op);

// Indexer.cpp. `indexer`: the number of the selection among all, in program order, arguments with
// rows first.
/// The value of an argument with rows.
Status importRows(StepState &state, mlir::func::FuncOp step, mlir::BlockArgument rows,
                  int64_t indexer);
Status run(StepState &state, IndexScoresOp op);
Status run(StepState &state, TopKOp op, int64_t indexer);
Status run(StepState &state, SelectOp op, int64_t indexer);

// Attention.cpp
Status run(StepState &state, AppendOp op);
Status run(StepState &state, AttentionOp op);

// Upstream.cpp: the ops of other dialects that the phase has.
Status run(StepState &state, mlir::arith::AddFOp op);
Status run(StepState &state, mlir::arith::MulFOp op);
Status run(StepState &state, mlir::arith::ConstantOp op);
Status run(StepState &state, mlir::tensor::ExtractSliceOp op);
Status run(StepState &state, mlir::tensor::ExpandShapeOp op);
Status run(StepState &state, mlir::tensor::CollapseShapeOp op);
Status run(StepState &state, mlir::tensor::ConcatOp op);
Status run(StepState &state, mlir::tensor::DimOp op);

} // namespace strata::reference

#endif // STRATA_LIB_REFERENCE_OPS_H
