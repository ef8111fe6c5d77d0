//===- Kernels.cpp - Kernels of several ops -------------------------------===//
#include "strata/dialects/Strata/IR.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace strata;

bool KernelOp::isView(Operation *op) {
  return isa<WeightOp, arith::ConstantOp, tensor::DimOp, tensor::ExtractSliceOp,
             tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::ConcatOp>(op);
}

bool KernelOp::allows(KernelKind kind, Operation *op) {
  if (isView(op) || isa<YieldOp>(op))
    return true;
  switch (kind) {
  case KernelKind::Rows:
    return isa<RmsNormOp, LayerNormOp, RopeOp, HadamardOp, AppendOp, CombineExpertsOp,
               arith::AddFOp, arith::MulFOp>(op);
  case KernelKind::Products:
    return isa<LinearOp, arith::AddFOp>(op);
  case KernelKind::Heads:
    return isa<HeadLinearOp, AttentionOp, AttentionScoresOp, PartialAttentionOp>(op);
  }
  llvm_unreachable("a kind without ops");
}

LogicalResult KernelOp::verifyRegions() {
  Block &body = getBody().front();
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  if (!yield || yield.getOperandTypes() != getResultTypes())
    return emitOpError() << "(kernel_c1) expected strata.yield with the types of the results";
  for (Operation &op : body)
    if (!allows(getKind(), &op)) {
      InFlightDiagnostic diagnostic = emitOpError() << "(kernel_c2) expected ops of a kernel of "
                                                    << stringifyKernelKind(getKind());
      diagnostic.attachNote(op.getLoc()) << "but got " << op.getName();
      return diagnostic;
    }
  return success();
}

Cost KernelOp::getCost(const StepSizes &sizes) {
  Cost cost;
  llvm::SmallDenseSet<Value> read; // an input that several ops share is read once
  for (Operation &op : getBody().front()) {
    auto costly = dyn_cast<CostOpInterface>(op);
    if (!costly)
      continue;
    Cost own = costly.getCost(sizes);
    own.activationBytesRead = own.activationBytesWritten = 0;
    cost += own;
  }
  auto bytes = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    // Weights have no row for each token; they may come from a far tier.
    if (!type || !type.isDynamicDim(0))
      return 0.0;
    double count = type.getElementTypeBitWidth() / 8.0;
    for (int64_t size : type.getShape())
      count *= ShapedType::isDynamic(size) ? sizes.tokens : double(size);
    return count;
  };
  for (Operation &op : getBody().front().without_terminator())
    for (Value operand : op.getOperands())
      if (operand.getParentBlock() != &getBody().front() && read.insert(operand).second)
        cost.activationBytesRead += bytes(operand);
  for (Value result : getResults())
    cost.activationBytesWritten += bytes(result);
  return cost;
}
